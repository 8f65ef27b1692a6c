// ModelProto + what inference knows about its values -> Graph. Bodies of If, Loop and Scan become graphs of their own;
// an If whose condition is known is replaced by the branch that runs.
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_BUILD_GRAPH_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_BUILD_GRAPH_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/graph/graph.h"
#include "analyzer/onnx/infer/shapes.h"

namespace onnx_mem {

// A constant that re-batching gave other contents, or an operand that it expands right before the node.
struct InputRewrite {
  int node = 0;  // of the main graph
  int input = 0;
  LiteralPtr contents = nullptr;
  std::optional<Shape> expanded = std::nullopt;
};

// `model`: ordered (order_nodes.h), local functions inlined. The graph passes VerifyGraph; its initializers include
// those that the file also lists as inputs, and a body's inputs are its formal ones followed by the outer tensors that
// it reads (each named in the node's captures).
absl::StatusOr<Graph> BuildGraph(const onnx::ModelProto& model, const InferredGraph& facts,
                                 const std::vector<InputRewrite>& rewrites = {});

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_BUILD_GRAPH_H_
