#include "analyzer/lower/facts/generated_weights.h"

#include <algorithm>
#include <vector>

#include "analyzer/lower/facts/parameters.h"

namespace onnx_mem {
namespace {

// A layer reads it as its weight, directly or after a change of layout.
bool FeedsWeight(const Graph& graph, TensorId id, int depth) {
  if (IsLayerWeight(graph, id)) return true;
  const auto& readers = graph.tensors[id].consumers;
  return depth > 0 && std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const Node& node = graph.nodes[reader];
           const bool layout = node.op == "Reshape" || node.op == "Transpose" || node.op == "Identity";
           return layout && node.inputs[0] == id && node.outputs[0].valid() &&
                  FeedsWeight(graph, node.outputs[0], depth - 1);
         });
}

bool IsGeneratedWeight(const Graph& graph, const Node& node) {
  constexpr int kLayoutChanges = 3;
  if (node.op != "ConstantOfShape" || node.outputs.empty() || !node.outputs[0].valid()) return false;
  const Tensor& tensor = graph.tensors[node.outputs[0]];
  return IsFloating(tensor.dtype) && tensor.shape.known() && FeedsWeight(graph, node.outputs[0], kLayoutChanges);
}

}  // namespace

std::optional<Graph> StoreGeneratedWeights(const Graph& graph) {
  NodeIds generators;
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    if (IsGeneratedWeight(graph, graph.nodes[id])) generators.push_back(id);
  }
  if (generators.empty()) return std::nullopt;
  Graph stored = graph;
  for (NodeId id : generators) {
    const TensorId weight = stored.nodes[id].outputs[0];
    stored.tensors[weight].role = TensorRole::kInitializer;
    stored.tensors[weight].value = nullptr;
    stored.initializers.push_back(weight);
    stored.nodes[id].inputs.clear();
    stored.nodes[id].outputs.clear();
  }
  LinkTensors(stored);
  return stored;
}

}  // namespace onnx_mem
