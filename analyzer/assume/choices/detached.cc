#include "analyzer/assume/choices/detached.h"

#include <algorithm>

#include "analyzer/graph/shape.h"

namespace onnx_mem {
namespace {

int64_t Bytes(const Tensor& tensor) { return NumBytes(tensor.shape, tensor.dtype).value_or(0); }

bool IsMaximum(const FrameworkNode& node) {
  return (node.op == "amax" || node.op == "max_dim") && !node.inputs.empty() && node.inputs[0].valid();
}

// All that reads the maximum subtracts it from what it was taken of.
bool Shifts(const FrameworkGraph& graph, const FrameworkNode& maximum) {
  const auto& readers = graph.tensors[maximum.outputs[0]].consumers;
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const FrameworkNode& sub = graph.nodes[reader];
    return sub.op == "sub" && sub.inputs[0] == maximum.inputs[0];
  });
}

int64_t SavedByMaximum(const FrameworkGraph& graph, const FrameworkNode& maximum) {
  constexpr int64_t kIndexBytes = 8;
  const Tensor& result = graph.tensors[maximum.outputs[0]];
  if (maximum.op == "max_dim") return NumElements(result.shape).value_or(0) * kIndexBytes;
  return Bytes(graph.tensors[maximum.inputs[0]]) + Bytes(result);
}

// z + (q - z)
bool PassesStraight(const FrameworkGraph& graph, const FrameworkNode& difference) {
  if (difference.op != "sub" || difference.inputs.size() != 2 || !difference.inputs[1].valid()) return false;
  const auto& readers = graph.tensors[difference.outputs[0]].consumers;
  return readers.size() == 1 && graph.nodes[readers[0]].op == "add" &&
         std::count(graph.nodes[readers[0]].inputs.begin(), graph.nodes[readers[0]].inputs.end(),
                    difference.inputs[1]) == 1;
}

}  // namespace

int64_t BytesWithoutDetach(const Lowered& lowered) {
  const FrameworkGraph& graph = lowered.graph;
  int64_t bytes = 0;
  for (const FrameworkNode& node : graph.nodes) {
    if (IsMaximum(node) && Shifts(graph, node)) bytes += SavedByMaximum(graph, node);
    if (PassesStraight(graph, node)) bytes += Bytes(graph.tensors[node.outputs[0]]);
  }
  return bytes;
}

}  // namespace onnx_mem
