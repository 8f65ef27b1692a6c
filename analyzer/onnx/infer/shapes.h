// ModelProto -> dtype, shape and (where small and computable) contents of every value, in one topological pass: the
// operators' own shape inference from the ONNX library, fed by our folding of shape arithmetic. Stored value_info and
// output shapes are ignored (exporters leave them stale), but for operators that no schema knows.
//
//   x[1,3,224,224] -> Shape -> s = {1,3,224,224} -> Gather(0) -> n = 1 -> Concat(n, -1) -> t = {1,-1}
//   Reshape(x, t) : float32 1x150528
#ifndef ONNX_MEM_ANALYZER_ONNX_INFER_SHAPES_H_
#define ONNX_MEM_ANALYZER_ONNX_INFER_SHAPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "analyzer/graph/dag.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

class NodeHook;

// What is known about one value. A sequence, optional or map has an unknown dtype and no rank.
struct ValueFact {
  DType dtype = DType::kUnknown;
  Shape shape;               // kUnknownDim where neither the file nor the folding determines a dim
  LiteralPtr value;          // contents where known, else null
  bool upper_bound = false;  // the size depends on data; `shape` is the largest it can be
};

struct NodeFact {
  bool assumed = false;     // no schema and no rule knew the op: shapes come from value_info or are unknown
  int64_t trip_count = -1;  // Loop and Scan: iterations, where the file determines them
  int64_t taken_body = -1;  // If: index in `bodies` of the branch that runs, where the condition is known
};

struct InferredGraph {
  absl::flat_hash_map<std::string, ValueFact> values;  // inputs, initializers and node outputs of this graph
  std::vector<NodeFact> nodes;                         // per node of the GraphProto
  // Per node, per subgraph attribute in attribute order. A body's values are its own; for Loop and Scan those of any
  // iteration: what changes between iterations is unknown.
  std::vector<std::vector<InferredGraph>> bodies;
};

struct InferOptions {
  // Shapes that replace the graph inputs' own (the bound dimensions); inputs that are not named keep theirs.
  const absl::flat_hash_map<std::string, Shape>* input_shapes = nullptr;
  bool fold = true;          // false: contents of computed values stay unknown
  NodeHook* hook = nullptr;  // sees the main graph's nodes as they are inferred (inference.h)
};

// Infers every value of `model`, whose model-local functions are already inlined. A tensor whose payload was left
// behind by the reader, or lies in another file, has dtype and shape and no contents.
// Errors: InvalidArgument with code bad-shape naming the node whose inputs do not fit.
absl::StatusOr<InferredGraph> InferShapes(const onnx::ModelProto& model, const InferOptions& options = {});

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_INFER_SHAPES_H_
