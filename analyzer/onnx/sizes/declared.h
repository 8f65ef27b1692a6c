// The inputs that a graph wants fed, with their dimensions as the file declares them.
#ifndef ONNX_MEM_ANALYZER_ONNX_SIZES_DECLARED_H_
#define ONNX_MEM_ANALYZER_ONNX_SIZES_DECLARED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analyzer/graph/dtype.h"

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace onnx_mem {

// A size, or a formula of symbols ("" where the dimension is dynamic without a name).
struct DeclaredDim {
  std::optional<int64_t> size;
  std::string symbol;
};

struct DeclaredInput {
  std::string name;
  DType dtype = DType::kUnknown;
  bool has_rank = false;
  std::vector<DeclaredDim> dims;
};

// Of inputs of a graph; the names themselves are the graph's.
using InputNames = absl::flat_hash_set<absl::string_view>;
// Inputs that have an initializer: IR 3 lists weights among them. The few inputs are held against the many
// initializers.
InputNames StoredInputs(const onnx::GraphProto& graph);

// Tensors that no initializer holds, in the file's order. Errors: bad-model, too-large.
absl::StatusOr<std::vector<DeclaredInput>> DeclaredInputs(const onnx::GraphProto& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_SIZES_DECLARED_H_
