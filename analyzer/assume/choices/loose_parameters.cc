#include "analyzer/assume/choices/loose_parameters.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/assume/choices/unread_buffers.h"

namespace onnx_mem {
namespace {

// Layers read their weights through operators of their own; norms that are spelled out multiply by a vector, which has
// one dimension.
bool IsReadLoosely(const Graph& graph, TensorId id, int depth = 0) {
  constexpr auto kViewing = std::to_array<std::string_view>(
      {"reshape", "permute", "slice", "select", "expand", "unsqueeze", "squeeze", "split", "identity"});
  constexpr auto kJoining = std::to_array<std::string_view>({"add", "sub", "mul", "div", "cat"});
  constexpr int kMostViews = 4;
  const auto& readers = graph.tensors[id].consumers;
  return depth < kMostViews && !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const Node& node = graph.nodes[reader];
           if (std::find(kJoining.begin(), kJoining.end(), node.op) != kJoining.end()) return true;
           if (std::find(kViewing.begin(), kViewing.end(), node.op) == kViewing.end()) return false;
           return std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId output) {
             return !output.valid() || IsReadLoosely(graph, output, depth + 1);
           });
         });
}

bool IsTable(const Tensor& tensor) {
  return std::count_if(tensor.shape.dims.begin(), tensor.shape.dims.end(), [](int64_t dim) { return dim > 1; }) >= 2;
}

bool IsTableOfPositions(const Lowered& lowered, const Tensor& table) {
  return !table.consumers.empty() && std::all_of(table.consumers.begin(), table.consumers.end(), [&](NodeId reader) {
    return PicksPositions(lowered, lowered.graph.nodes[reader]);
  });
}

}  // namespace

bool FreezeLooseTables(Lowered& lowered) {
  const Graph& graph = lowered.graph;
  bool any = false;
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph.tensors[id];
    if (lowered.kinds[id] != TensorKind::kParameter || tensor.producer.valid() || !IsTable(tensor)) continue;
    if (IsReadLoosely(graph, id) || IsTableOfPositions(lowered, tensor)) any |= lowered.frozen.insert(id).second;
  }
  return any;
}

}  // namespace onnx_mem
