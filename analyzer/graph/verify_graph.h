#ifndef ONNX_MEM_ANALYZER_GRAPH_VERIFY_GRAPH_H_
#define ONNX_MEM_ANALYZER_GRAPH_VERIFY_GRAPH_H_

#include "absl/status/status.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem {

// OK iff ids are in range, every tensor has at most one producer, every node reads only inputs, initializers and
// outputs of earlier nodes, producer/consumers agree with the nodes, and literals have the tensors' sizes.
absl::Status VerifyGraph(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_VERIFY_GRAPH_H_
