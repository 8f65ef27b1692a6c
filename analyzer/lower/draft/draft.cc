#include "analyzer/lower/draft/draft.h"

#include <algorithm>

#include "analyzer/exported/value_names.h"

namespace onnx_mem {

Draft::Draft(const Graph& source)
    : has_opaque_names_(HasOpaqueNames(source)),
      inputs_(source.inputs),
      outputs_(source.outputs),
      initializers_(source.initializers),
      kinds_(source.tensors.size(), TensorKind::kHost),
      uses_(source.tensors.size()),
      aliases_(source.tensors.size()) {
  for (const Tensor& tensor : source.tensors) tensors_.Add(Unlinked(tensor));
  for (TensorId id : inputs_) kinds_[id] = TensorKind::kInput;
  for (TensorId id : outputs_) ++uses_[id].outputs;
}

TensorId Draft::NewTensor(std::string name, DType dtype, Dims dims, TensorKind kind) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = dtype;
  tensor.shape = Shape(std::move(dims));
  const bool stored = kind == TensorKind::kParameter || kind == TensorKind::kBuffer;
  tensor.role = stored ? TensorRole::kInitializer : TensorRole::kActivation;
  const TensorId id = tensors_.Add(std::move(tensor));
  if (stored) initializers_.push_back(id);
  kinds_.Add(kind);
  uses_.Add({});
  aliases_.Add(TensorId());
  return id;
}

NodeId Draft::Add(FrameworkNode node, Rank rank) {
  const NodeId id = slots_.next_id();
  for (TensorId input : node.inputs) {
    if (input.valid()) uses_[input].readers.push_back(id);
  }
  for (TensorId output : node.outputs) {
    if (!output.valid()) continue;
    uses_[output].producer = id;
    kinds_[output] = TensorKind::kActivation;
  }
  slots_.Add(Slot{std::move(node), rank, true});
  is_ordered_ = false;
  return id;
}

void Draft::Unread(TensorId id, NodeId reader) {
  NodeIds& readers = uses_[id].readers;
  auto it = std::find(readers.begin(), readers.end(), reader);
  if (it != readers.end()) readers.erase(it);
}

void Draft::Remove(NodeId id) {
  Slot& slot = slots_[id];
  if (!slot.alive) return;
  slot.alive = false;
  is_ordered_ = false;
  for (TensorId input : slot.node.inputs) {
    if (input.valid()) Unread(input, id);
  }
  for (TensorId output : slot.node.outputs) {
    if (output.valid() && uses_[output].producer == id) uses_[output].producer = NodeId();
  }
}

void Draft::SetInputs(NodeId id, TensorIds inputs) {
  FrameworkNode& node = slots_[id].node;
  for (TensorId input : node.inputs) {
    if (input.valid()) Unread(input, id);
  }
  node.inputs = std::move(inputs);
  for (TensorId input : node.inputs) {
    if (input.valid()) uses_[input].readers.push_back(id);
  }
}

void Draft::ReplaceReaders(TensorId from, TensorId to) {
  NodeIds readers = std::move(uses_[from].readers);
  uses_[from].readers.clear();
  for (NodeId reader : readers) {
    for (TensorId& input : slots_[reader].node.inputs) {
      if (input == from) input = to;
    }
    uses_[to].readers.push_back(reader);
  }
  if (uses_[from].outputs == 0) return;
  std::replace(outputs_.begin(), outputs_.end(), from, to);
  uses_[to].outputs += uses_[from].outputs;
  uses_[from].outputs = 0;
}

NodeIds Draft::InOrder() const {
  if (is_ordered_) return order_;
  order_.clear();
  order_.reserve(slots_.size());
  for (NodeId id(0); slots_.contains(id); id = NodeId(id.value() + 1)) {
    if (slots_[id].alive) order_.push_back(id);
  }
  // Nodes are added in running order but for the few that rewrites put in later.
  const auto runs_before = [&](NodeId a, NodeId b) { return slots_[a].rank < slots_[b].rank; };
  const auto added = std::is_sorted_until(order_.begin(), order_.end(), runs_before);
  std::stable_sort(added, order_.end(), runs_before);
  std::inplace_merge(order_.begin(), added, order_.end(), runs_before);
  is_ordered_ = true;
  return order_;
}

NodeId Draft::OnlyReader(TensorId id) const {
  if (!id.valid()) return NodeId();
  const Uses& uses = uses_[id];
  return uses.readers.size() == 1 && uses.outputs == 0 ? uses.readers[0] : NodeId();
}

NodeId Draft::ProducerIf(TensorId id, const OpLiteral& op) const {
  if (!id.valid()) return NodeId();
  const NodeId producer = uses_[id].producer;
  return producer.valid() && slots_[producer].node.op == op ? producer : NodeId();
}

void Draft::Alias(TensorId alias, TensorId of) {
  of = Resolve(of);
  if (alias == of || !alias.valid() || !of.valid()) return;
  aliases_[alias] = of;
  ReplaceReaders(alias, of);
}

TensorId Draft::Resolve(TensorId id) const {
  while (id.valid() && aliases_[id].valid()) id = aliases_[id];
  return id;
}

void Draft::RemoveUnread() {
  const NodeIds order = InOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const bool read = std::any_of(slots_[*it].node.outputs.begin(), slots_[*it].node.outputs.end(), [&](TensorId id) {
      return id.valid() && (!uses_[id].readers.empty() || uses_[id].outputs > 0 || uses_[id].kept);
    });
    if (!read) Remove(*it);
  }
}

Draft::Finished Draft::Finish() && {
  Finished finished;
  FrameworkGraph& graph = finished.graph;
  for (TensorId id(0); tensors_.contains(id); id = TensorId(id.value() + 1)) {
    const bool unused = uses_[id].readers.empty() && uses_[id].outputs == 0;
    const bool made = uses_[id].producer.valid();
    if (!made && (kinds_[id] == TensorKind::kActivation || (unused && kinds_[id] != TensorKind::kInput))) {
      kinds_[id] = TensorKind::kHost;
    }
  }
  const NodeIds order = InOrder();
  graph.nodes.reserve(order.size());
  for (NodeId id : order) graph.nodes.Add(std::move(slots_[id].node));
  graph.tensors.reserve(tensors_.size());
  for (TensorId id(0); tensors_.contains(id); id = TensorId(id.value() + 1)) {
    graph.tensors.Add(std::move(tensors_[id]));
  }
  graph.inputs = std::move(inputs_);
  graph.outputs = std::move(outputs_);
  graph.initializers = std::move(initializers_);
  LinkTensors(graph);
  finished.kinds = std::move(kinds_);
  return finished;
}

int64_t MadeBytes(const Draft& draft) {
  int64_t bytes = 0;
  for (NodeId id : draft.InOrder()) {
    for (TensorId output : draft.node(id).outputs) {
      if (output.valid()) bytes += NumBytes(draft.tensor(output).shape, draft.tensor(output).dtype).value_or(0);
    }
  }
  return bytes;
}

}  // namespace onnx_mem
