// The order in which onnxruntime runs a graph's nodes: depth first from the leaves (nodes that no node reads), the last
// leaf first, and of a node's inputs the maker that stands last first. So of two nodes that could swap places, the one
// with the higher number runs first.
//
//   #0 a = f(x)   #1 b = g(x)   #2 c = h(a, b)        runs #1 #0 #2
//
// Source: onnxruntime/core/graph/graph.cc (ReverseDFSFrom), graph_viewer.cc (NodeCompare).
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_EXECUTION_ORDER_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_EXECUTION_ORDER_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// Tensors must be linked (LinkTensors); nodes may stand in any order. Every maker comes before its readers.
inline NodeIds ExecutionOrder(const Graph& graph) {
  std::vector<std::pair<NodeId, bool>> stack;  // a node to enter, or to leave
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const TensorIds& outputs = graph.nodes[id].outputs;
    const bool is_read = std::any_of(outputs.begin(), outputs.end(), [&](TensorId output) {
      return output.valid() && !graph.tensors[output].consumers.empty();
    });
    if (!is_read) stack.emplace_back(id, false);
  }
  NodeIds order;
  IdVector<NodeId, bool> entered(graph.nodes.size(), false);
  while (!stack.empty()) {
    const auto [id, leaves] = stack.back();
    stack.pop_back();
    if (leaves) {
      order.push_back(id);
      continue;
    }
    if (entered[id]) continue;
    entered[id] = true;
    stack.emplace_back(id, true);
    NodeIds makers;
    ForEachRead(graph.nodes[id], [&](TensorId input) {
      if (input.valid() && graph.tensors[input].producer.valid()) makers.push_back(graph.tensors[input].producer);
    });
    std::sort(makers.begin(), makers.end());
    for (NodeId maker : makers) {
      if (!entered[maker]) stack.emplace_back(maker, false);
    }
  }
  return order;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_EXECUTION_ORDER_H_
