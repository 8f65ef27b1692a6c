// If and Loop: which branch runs, how often the body runs, and what the carried values look like in any iteration.
#ifndef ONNX_MEM_ANALYZER_ONNX_CONTROL_FLOW_H_
#define ONNX_MEM_ANALYZER_ONNX_CONTROL_FLOW_H_

#include "absl/status/status.h"
#include "analyzer/onnx/inference.h"

namespace onnx_mem {

// Binds the outputs of an If: those of the branch that runs, or what both branches agree on.
absl::Status InferIf(InferencePass& pass, InferencePass::Site& site);

// Binds the outputs of a Loop. Carried values keep the dims and contents that no iteration changes.
absl::Status InferLoop(InferencePass& pass, InferencePass::Site& site);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_CONTROL_FLOW_H_
