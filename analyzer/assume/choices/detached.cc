#include "analyzer/assume/choices/detached.h"

#include <algorithm>

#include "analyzer/graph/shape.h"

namespace onnx_mem {
namespace {

int64_t Bytes(const Tensor& tensor) { return NumBytes(tensor.shape, tensor.dtype).value_or(0); }

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
    if (PassesStraight(graph, node)) bytes += Bytes(graph.tensors[node.outputs[0]]);
  }
  return bytes;
}

}  // namespace onnx_mem
