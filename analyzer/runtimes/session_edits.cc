#include "analyzer/runtimes/session_edits.h"

#include <algorithm>

#include "analyzer/lower/facts/standard_operator.h"
#include "analyzer/order/stable_sort.h"
#include "analyzer/runtimes/execution_order.h"

namespace onnx_mem {
namespace {

bool IsStored(const Tensor& tensor) {
  return tensor.role == TensorRole::kInitializer || tensor.role == TensorRole::kConstant;
}

}  // namespace

SessionEdits::SessionEdits(Graph graph)
    : graph_(std::move(graph)),
      gone_(graph_.nodes.size(), false),
      pass_(graph_.nodes.size(), SessionPass::kOfTheFile),
      added_before_(graph_.nodes.size(), -1) {
  for (const Tensor& tensor : graph_.tensors) constant_.Add(IsStored(tensor));
}

bool SessionEdits::IsOutput(TensorId id) const {
  return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
}

bool SessionEdits::IsScalar(TensorId id) const {
  if (!id.valid() || NumElements(graph_.tensors[id].shape).value_or(0) != 1) return false;
  return IsConstant(id) || graph_.tensors[id].value != nullptr;
}

Node* SessionEdits::OnlyMaker(TensorId id) {
  if (!id.valid() || IsOutput(id)) return nullptr;
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid() || gone_[tensor.producer] || tensor.consumers.size() != 1) return nullptr;
  Node& maker = graph_.nodes[tensor.producer];
  return HasOneOutput(maker) ? &maker : nullptr;
}

Node* SessionEdits::OnlyReader(const Node& node) {
  if (!HasOneOutput(node)) return nullptr;
  const TensorId output = node.outputs.front();
  if (IsOutput(output) || graph_.tensors[output].consumers.size() != 1) return nullptr;
  Node& reader = graph_.nodes[graph_.tensors[output].consumers.front()];
  return HasOneOutput(reader) ? &reader : nullptr;
}

std::optional<TensorId> SessionEdits::ScaledOperand(const Node& node) const {
  if (!(IsStandard(node, "Mul") || IsStandard(node, "Div")) || node.inputs.size() != 2) return std::nullopt;
  if (!node.inputs[0].valid() || !node.inputs[1].valid()) return std::nullopt;
  if (IsScalar(node.inputs[1])) return node.inputs[0];
  if (IsStandard(node, "Mul") && IsScalar(node.inputs[0])) return node.inputs[1];
  return std::nullopt;
}

void SessionEdits::Remove(const Node& node) {
  NodeIds going = {MakerOf(node.outputs.front())};
  while (!going.empty()) {
    const NodeId id = going.back();
    going.pop_back();
    gone_[id] = true;
    for (TensorId input : graph_.nodes[id].inputs) {
      if (!input.valid() || graph_.tensors[input].value == nullptr || IsOutput(input)) continue;
      const Tensor& tensor = graph_.tensors[input];
      const bool unread =
          std::all_of(tensor.consumers.begin(), tensor.consumers.end(), [&](NodeId reader) { return gone_[reader]; });
      if (unread && tensor.producer.valid() && !gone_[tensor.producer]) going.push_back(tensor.producer);
    }
  }
}

void SessionEdits::SetResult(NodeId id, TensorId result) {
  graph_.nodes[id].outputs.front() = result;
  graph_.tensors[result].producer = id;
}

void SessionEdits::SetReader(TensorId id, NodeId from, NodeId to) {
  NodeIds& readers = graph_.tensors[id].consumers;
  std::replace(readers.begin(), readers.end(), from, to);
}

TensorId SessionEdits::AddTensor(Tensor tensor) {
  constant_.Add(false);
  return graph_.tensors.Add(std::move(tensor));
}

void SessionEdits::AddBefore(NodeId id, Node node, SessionPass pass) {
  added_before_[id] = static_cast<int>(added_.size());
  added_.emplace_back(std::move(node), pass);
}

Graph SessionEdits::Compacted(bool by_pass) {
  IdVector<NodeId, Node> nodes;
  IdVector<NodeId, SessionPass> pass;
  for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
    if (gone_[id]) continue;
    if (added_before_[id] >= 0) {
      auto& [added, made_by] = added_[static_cast<size_t>(added_before_[id])];
      nodes.Add(std::move(added));
      pass.Add(made_by);
    }
    nodes.Add(std::move(graph_.nodes[id]));
    pass.Add(pass_[id]);
  }
  graph_.nodes = std::move(nodes);
  LinkTensors(graph_);
  for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
    Tensor& tensor = graph_.tensors[id];
    if (IsStored(tensor) && !IsRead(id)) tensor.role = TensorRole::kActivation;
  }
  if (by_pass) SortByPass(pass);
  return std::move(graph_);
}

void SessionEdits::SortByPass(const IdVector<NodeId, SessionPass>& pass) {
  NodeIds order, made;
  for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
    if (pass[id] == SessionPass::kOfTheFile) order.push_back(id);
  }
  for (NodeId id : ExecutionOrder(graph_)) {
    if (pass[id] != SessionPass::kOfTheFile) made.push_back(id);
  }
  StableSort(made, [&](NodeId a, NodeId b) { return pass[a] < pass[b]; });
  order.insert(order.end(), made.begin(), made.end());
  IdVector<NodeId, Node> nodes;
  for (NodeId id : order) nodes.Add(std::move(graph_.nodes[id]));
  graph_.nodes = std::move(nodes);
  LinkTensors(graph_);
}

}  // namespace onnx_mem
