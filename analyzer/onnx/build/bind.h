// The shapes that the model's inputs declare + what the user asks for -> concrete input shapes.
//
//   input_ids [batch, seq], image [batch, 3, 224, 224];  --batch 8 --dim seq=128
//   input_ids [8, 128],     image [8, 3, 224, 224];      batch = 8, seq = 128
//
// A symbolic dimension 0 is the batch whatever its name is, unless some dimension of the model is called batch and
// this one is called like a length. A fixed dimension that is requested to be another is reported as a change: the file
// then has to be re-batched (rebatch.h).
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_BIND_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_BIND_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "analyzer/graph/shape.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/onnx/sizes/declared.h"
#include "analyzer/onnx/sizes/input_list.h"

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace onnx_mem {

// A dimension that the file fixes and the user wants different.
struct DimChange {
  std::string input;
  int dim = 0;
  int64_t from = 0;
  int64_t to = 0;
  friend bool operator==(const DimChange&, const DimChange&) = default;
};

struct BoundInputs {
  absl::flat_hash_map<std::string, Shape> shapes;  // as requested; tensor inputs without initializers
  std::map<std::string, int64_t> dims;             // every symbolic dimension
  int64_t file_batch = 1;  // without --batch: the inputs' fixed dim 0; where it is symbolic, what it is bound to
  std::vector<DimChange> changes;  // empty: the file can be inferred as it is
};

// The inputs, the symbols that have a size, and what has none.
struct OpenInputs {
  std::vector<DeclaredInput> inputs;
  std::map<std::string, int64_t> dims;
  std::vector<OpenDim> open;
};

// Errors: those of BindInputs but unbound-dim.
absl::StatusOr<OpenInputs> FindOpenInputs(const onnx::GraphProto& graph, const Bindings& bindings);

// Errors (InvalidArgument): unbound-dim, unknown-dim, unknown-input, bad-shape, dim-conflict, static-batch.
absl::StatusOr<BoundInputs> BindInputs(const onnx::GraphProto& graph, const Bindings& bindings);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_BIND_H_
