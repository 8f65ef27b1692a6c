// Weights that a hook computes before each run of its module and sets as an attribute: the module holds the result
// until its next run replaces it, through backward and the optimizer's step.
//
//   torch.nn.utils.weight_norm (the older one)   weight = weight_norm(weight_v, weight_g)
//   torch.nn.utils.spectral_norm (the older one) weight = weight_orig / sigma
//   torch.nn.utils.prune                         weight = weight_mask * weight_orig
//
// Source: `setattr(module, name, ...)` of weight_norm.py, spectral_norm.py and prune.py in torch/nn/utils. What
// torch.nn.utils.parametrize computes is a value of forward's own.
#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_HOOK_WEIGHTS_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_HOOK_WEIGHTS_H_

#include "analyzer/graph/framework_graph.h"
#include "analyzer/graph/lowered.h"

namespace onnx_mem::names {

// Whether a hook made `id`, by the names of the parameters that it was computed from.
bool IsKeptByHook(const FrameworkGraph& graph, TensorId id);

// Adds the buffer of the run before for each of them (Lowered::replaced).
void AddWeightsOfRunBefore(Lowered& lowered);

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_HOOK_WEIGHTS_H_
