// Which loss a training script computes on a model's output, and how large the target is that it loads for it.
#ifndef ONNX_MEM_ANALYZER_EAGER_OUTPUT_LOSS_H_
#define ONNX_MEM_ANALYZER_EAGER_OUTPUT_LOSS_H_

#include <cstdint>
#include <vector>

#include "analyzer/eager/machine.h"
#include "analyzer/graph/graph.h"
#include "analyzer/run.h"

namespace onnx_mem::eager {

// What kAuto stands for: cross entropy where the first of `outputs` is [rows, classes], else the mean.
LossKind ResolveLoss(LossKind asked, const Graph& graph, const std::vector<TensorId>& outputs);

// Bytes of the target: class numbers (int64) for cross entropy, a tensor of the output's shape for MSE, else 0.
int64_t TargetBytes(LossKind loss, const Graph& graph, TensorId output, bool autocast);

// `value` is the output `id` of `graph`; gives the scalar loss. A scalar output is the model's own loss.
TensorRef LossOfOutput(Machine& m, LossKind kind, const Graph& graph, TensorId id, const TensorRef& value);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OUTPUT_LOSS_H_
