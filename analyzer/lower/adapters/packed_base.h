// A frozen base in few bits, as beside the adapters of QLoRA: linear layers become those of bitsandbytes. Their weights
// are stored packed, with the numbers that scale them.
//
//   4 bits    W float [out, in]   ->   int4 [out, in], absmax float32 [out * in / 64], a table of 16 float32
//   doubled                       ->   the same with absmax uint8, and of that absmax float32 [out * in / 64 / 256], a
//                                      table of 256 float32 and an offset
//   8 bits                        ->   int8 [out, in], SCB float32 [out]
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_PACKED_BASE_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_PACKED_BASE_H_

#include "absl/status/status.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// Does what run.base_bits asks for, before the adapters of run.lora are added: to the weights that are frozen, with
// run.lora all, and that linear layers alone read. Not to a layer that gives an output of the model: loaders leave the
// head as it is.
// Error: InvalidArgument "no-match" where there is no such layer.
absl::Status PackBase(Lowered& lowered, const Run& run);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_PACKED_BASE_H_
