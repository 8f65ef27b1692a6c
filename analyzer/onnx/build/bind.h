// The shapes that the model's inputs declare + what the user asks for -> concrete input shapes.
//
//   input_ids [batch, seq], image [batch, 3, 224, 224];  --batch 8 --dim seq=128
//   input_ids [8, 128],     image [8, 3, 224, 224];      batch = 8, seq = 128
//
// A symbolic dimension 0 is the batch whatever its name is, unless some dimension of the model is called batch and
// this one is called like a length. A fixed dimension that is asked to be another is reported as a change: the file
// then has to be re-batched (rebatch.h).
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_BIND_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_BIND_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analyzer/graph/shape.h"
#include "analyzer/onnx/build/import.h"

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
  absl::flat_hash_map<std::string, Shape> shapes;  // as asked for; tensor inputs without initializers
  std::map<std::string, int64_t> dims;             // every symbolic dimension
  int64_t file_batch = 1;  // without --batch: the inputs' fixed dim 0; where it is symbolic, what it is bound to
  std::vector<DimChange> changes;                  // empty: the file can be inferred as it is
};

// Of inputs of a graph; the names themselves are the graph's.
using InputNames = absl::flat_hash_set<absl::string_view>;
// Inputs that have an initializer: IR 3 lists weights among them. The few inputs are held against the many
// initializers.
InputNames StoredInputs(const onnx::GraphProto& graph);

// `path` stands in the commands that error texts propose.
// Errors (InvalidArgument): unbound-dim, unknown-dim, unknown-input, bad-shape, dim-conflict, static-batch.
absl::StatusOr<BoundInputs> BindInputs(const onnx::GraphProto& graph, const Bindings& bindings,
                                       const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_BIND_H_
