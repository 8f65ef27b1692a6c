// Checks that a graph can be run, and puts its nodes into an order in which it can.
#ifndef ONNX_MEM_ANALYZER_ONNX_LOAD_ORDER_NODES_H_
#define ONNX_MEM_ANALYZER_ONNX_LOAD_ORDER_NODES_H_

#include "absl/status/statusor.h"

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace onnx_mem {

// Leaves a graph whose nodes stand in topological order (subgraphs' reads of outer values included) as it is; else
// sorts them, the earlier in the file first where the order is free. Subgraphs likewise. Returns whether it had to.
// Errors (InvalidArgument, code bad-model): a value that is read but made nowhere, or made twice; a cycle.
absl::StatusOr<bool> OrderNodes(onnx::GraphProto& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_LOAD_ORDER_NODES_H_
