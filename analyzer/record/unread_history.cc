#include "analyzer/record/unread_history.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace onnx_mem::record {
namespace {

// Whether autograd can pass a gradient from an output to an input.
bool HasHistory(const Graph& graph, const Node& node) {
  if (IntAttribute(node, "inplace", 0) != 0) return true;
  if (node.op == "detach" || node.op == "full" || IntAttribute(node, "requires_grad_none", 0) != 0) return false;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
    if (!id.valid()) return false;
    const DType dtype = graph.tensors[id].dtype;
    return !IsIntegral(dtype) && dtype != DType::kBool;
  });
}

}  // namespace

void DetachUnread(Lowered& lowered) {
  Graph& graph = lowered.graph;
  std::vector<bool> read(graph.tensors.size(), false);
  const auto mark = [&](TensorId id) {
    if (id.valid()) read[static_cast<size_t>(id.value())] = true;
  };
  for (TensorId id : graph.outputs) mark(id);
  mark(lowered.loss);
  std::vector<bool> kept(graph.nodes.size(), false);
  for (const UserFunction& function : lowered.functions) {
    for (int32_t i = function.span.first; i <= function.span.last; ++i) kept[static_cast<size_t>(i)] = true;
    for (TensorId id : function.saved) mark(id);
    for (TensorId id : function.held) mark(id);
    for (const auto& [gradient, input] : function.gradients_to) mark(input);
  }
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[NodeId(static_cast<int32_t>(i))];
    const bool leads_on = std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
      return id.valid() && read[static_cast<size_t>(id.value())];
    });
    if (kept[i] || ((leads_on || IntAttribute(node, "inplace", 0) != 0) && HasHistory(graph, node))) {
      for (TensorId id : node.inputs) mark(id);
    } else if (!leads_on) {
      node.attributes["requires_grad_none"] = int64_t{1};
    }
  }
}

}  // namespace onnx_mem::record
