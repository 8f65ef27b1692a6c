// LoRA as a what-if: the adapters that PEFT puts beside layers, on the operators that a model runs.
//
//   y = linear(x, W)   ->   y' = linear(x, W);  y = y' + linear(linear(dropout(x), A), B) * scaling
//
// Everything that the model stores is frozen; A [rank, in] and B [out, rank] are trained, in float32.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_LORA_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_LORA_H_

#include "absl/status/status.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// Adds what run.lora asks for to the linear layers and the ungrouped convolutions whose weight's name matches; releases
// have to be there. A layer takes the first that matches.
// Error: InvalidArgument "no-match" where a pattern matches the weight of no such layer.
absl::Status AddLora(Lowered& lowered, const Run& run);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_LORA_H_
