// Sizes that a graph accepts, for dimensions that nobody gave one: what an error text proposes, and what `check` takes.
//
//   input_ids [batch, seq], attention_mask [batch, total], past_key_values.0.key [batch, heads, past, size]
//   seq = 16, past = 496, total = 512; heads and size are those of what the graph appends the cache to
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_PROPOSE_SIZES_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_PROPOSE_SIZES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/onnx/build/import.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

// `bindings` with a size for everything that they leave open, the likeliest first; empty where nothing is open, or too
// much for a command line. Whether the graph accepts them is for the caller to find out. Errors: those of BindInputs
// but unbound-dim.
absl::StatusOr<std::vector<Bindings>> ProposeSizes(const onnx::ModelProto& model, const Bindings& bindings);

// The options that make `more` of `bindings`: "--dim past=496 --dim seq=16".
std::string OptionsText(const Bindings& bindings, const Bindings& more);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_PROPOSE_SIZES_H_
