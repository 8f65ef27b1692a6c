// How many positions a language model gives logits of: logits_to_keep, 0 by default, which means all of them.
//
//   def forward(self, ids, logits_to_keep=0):
//     slice_indices = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
//     logits = self.lm_head(hidden[:, slice_indices, :])
//
// TorchScript's tracer hands forward a tensor in place of the number, so that its file picks one position, and has an
// input for it. A model that runs gives all. Source: transformers/models/*/modeling_*.py.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_KEPT_LOGITS_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_KEPT_LOGITS_H_

#include <optional>

#include "analyzer/graph/diagnostic.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

// Lets the logits of every position be computed where the file picks one by such an input, and takes that input away;
// what was done, for the report. nullopt where there is none.
std::optional<Diagnostic> KeepAllLogits(onnx::ModelProto& model);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_KEPT_LOGITS_H_
