// Reads the published rematerialization graphs in node-link JSON, for tests and benchmarks only (the data does not
// belong to this project and stays outside).
//
// Model: one output per node, no workspace, any node may run again, first runs in the listed order.
#ifndef ONNX_MEM_TESTS_SOLVER_NODE_LINK_GRAPH_H_
#define ONNX_MEM_TESTS_SOLVER_NODE_LINK_GRAPH_H_

#include <string>

#include "absl/status/statusor.h"
#include "solver/problem/problem.h"

namespace onnx_mem {

// Every node becomes an ordered operator that writes one activation of the same index.
absl::StatusOr<StepGraph> ReadNodeLinkGraph(const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_SOLVER_NODE_LINK_GRAPH_H_
