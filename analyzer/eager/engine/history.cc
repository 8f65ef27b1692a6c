// Who holds the nodes of autograd. In PyTorch a tensor holds its grad_fn, and a node those that it leads to; a branch
// that no output needs keeps what it saved until the last name on it is gone, and no longer. Sources:
// torch/csrc/autograd/variable.h (grad_fn_; grad_accumulator_, which is weak), node.h (next_edges_, deleteNode).
#include <utility>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

std::pair<int32_t, std::shared_ptr<const void>> Machine::AddNode(AutogradNode node) {
  const auto index = static_cast<int32_t>(nodes_.size());
  std::shared_ptr<const void> share(this, [this, index](const void*) { DropNode(index); });
  node.share = share;
  nodes_.push_back(std::move(node));
  return {index, std::move(share)};
}

Edge Machine::EdgeTo(int32_t index, int32_t output_nr) { return {index, output_nr, node(index).share.lock()}; }

Edge Machine::EdgeToLeaf(const TensorRef& leaf) {
  if (leaf->grad_edge.node >= 0) return EdgeTo(leaf->grad_edge.node, 0);
  AutogradNode accumulate;
  accumulate.parameter = leaf;
  accumulate.outputs.push_back({leaf->dims, leaf->dtype});
  auto [index, share] = AddNode(std::move(accumulate));
  leaf->grad_edge = {index, 0};
  return {index, 0, std::move(share)};
}

// One by one, and not one within the other: a chain of nodes may be longer than the stack is deep.
void Machine::DropNode(int32_t index) {
  if (closing_ || !drops_nodes_) return;
  dropped_nodes_.push_back(index);
  if (std::exchange(dropping_, true)) return;
  while (!dropped_nodes_.empty()) {
    AutogradNode& gone = node(dropped_nodes_.back());
    dropped_nodes_.pop_back();
    if (gone.parameter != nullptr) gone.parameter->grad_edge = {};
    gone.parameter.reset();
    gone.formula = nullptr;
    Release(gone.saved);
    gone.edges.clear();
  }
  dropping_ = false;
}

TensorRef Machine::Detached(const TensorRef& t, bool requires_grad) {
  TensorRef leaf = Alias(t, t->dims, t->strides, t->is_view);
  leaf->requires_grad = requires_grad;
  leaf->is_leaf_parameter = requires_grad;
  if (requires_grad) leaf_gradients_.emplace(leaf.get(), nullptr);
  return leaf;
}

TensorRef Machine::TakeGradient(const TensorRef& leaf) {
  const auto found = leaf_gradients_.find(leaf.get());
  TensorRef gradient = std::move(found->second);
  leaf_gradients_.erase(found);
  if (leaf->grad_edge.node >= 0) node(leaf->grad_edge.node).parameter = nullptr;
  return gradient;
}

void Machine::ForgetNodes(size_t first) {
  for (size_t i = first; i < nodes_.size(); ++i) {
    if (nodes_[i].parameter != nullptr) continue;  // a parameter's: it serves every graph
    nodes_[i].formula = nullptr;
    nodes_[i].saved.clear();
    nodes_[i].edges.clear();
  }
}

}  // namespace onnx_mem::eager
