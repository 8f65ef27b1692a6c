// torch.utils.checkpoint(use_reentrant=True): an autograd.Function whose forward runs without gradients, and whose
// backward runs it again to its end, on its inputs detached, and an engine of its own over what that makes. Parameters
// get their gradients inside; nothing does where no input needs one. Source: torch/utils/checkpoint.py
// (CheckpointFunction).
#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/eager/engine/executor.h"
#include "analyzer/eager/engine/without_grad.h"

namespace onnx_mem::eager {
namespace {

bool IsReadBehind(const Graph& graph, const Lowered& lowered, TensorId id, int32_t last) {
  const NodeIds& readers = graph.tensors[id].consumers;
  if (std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return reader.value() > last; })) return true;
  return id == lowered.loss || std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
}

// What the checkpointed function returns that can have a gradient.
TensorIds ResultsOf(const Lowered& lowered, const NodeRange& range) {
  TensorIds results;
  for (int32_t i = range.first; i <= range.last; ++i) {
    for (TensorId id : lowered.graph.nodes[NodeId(i)].outputs) {
      if (!id.valid() || !IsFloating(lowered.graph.tensors[id].dtype)) continue;
      if (IsReadBehind(lowered.graph, lowered, id, range.last)) results.push_back(id);
    }
  }
  return results;
}

}  // namespace

void Executor::RunReentrant(const NodeRange& range) {
  std::vector<TensorRef> arguments;
  for (TensorId id : range.arguments) arguments.push_back(values_[id]);
  Values others;  // that the function reads beside its arguments, held by it
  for (TensorId id : ReadWithin(range)) {
    if (values_[id] == nullptr) continue;
    if (std::find(range.arguments.begin(), range.arguments.end(), id) != range.arguments.end()) continue;
    const TensorRef& t = values_[id];
    others.emplace(id, t->is_leaf_parameter ? t : m_.Alias(t, t->dims, t->strides, t->is_view));
  }
  {
    const WithoutGrad inside(m_);
    const Frame frame = OwnFrame();
    for (int32_t i = range.first; i <= range.last; ++i) {
      RunNode(i, frame);
      DropAfter(i);
    }
  }
  m_.SetOrigin(&graph_.nodes[NodeId(range.last)]);
  NodeRef node = m_.MakeNode("CheckpointFunctionBackward", arguments);
  if (!node) return;
  for (const TensorRef& argument : arguments) node.Save(argument);
  TensorIds results = ResultsOf(lowered_, range);
  for (TensorId id : results) node.Output(values_[id]);
  node.Formula([this, range, others = std::move(others), results = std::move(results)](Backward& b) {
    RunReentrantBackward(range, others, results, b);
  });
}

void Executor::RunReentrantBackward(const NodeRange& range, Values values, const TensorIds& results, Backward& b) {
  std::vector<TensorRef> inputs;
  for (size_t i = 0; i < range.arguments.size(); ++i) {
    const TensorRef saved = b.saved(i);
    inputs.push_back(saved == nullptr ? nullptr : m_.Detached(saved, b.needs(i)));
    values[range.arguments[i]] = inputs.back();
  }
  const Frame frame{.read =
                        [&](TensorId id) {
                          const auto it = values.find(id);
                          return it == values.end() ? TensorRef() : it->second;
                        },
                    .write = [&](TensorId id, TensorRef t) { values[id] = std::move(t); }};
  const size_t first_node = m_.num_nodes();
  m_.BeginSecondRun();
  for (int32_t i = range.first; i <= range.last; ++i) {
    RunNode(i, frame);
    for (TensorId id : dropped_after_[static_cast<size_t>(i)]) values.erase(id);
  }
  m_.EndSecondRun();
  std::vector<std::pair<TensorRef, TensorRef>> roots;  // and their gradients
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorRef result = frame.read(results[i]);
    if (result != nullptr && result->requires_grad && b.grad(i) != nullptr) roots.emplace_back(result, b.grad(i));
  }
  RunBackwardFrom(m_, roots);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (b.needs(i) && inputs[i] != nullptr) b.result(i, m_.TakeGradient(inputs[i]));
  }
  m_.ForgetNodes(first_node);
}

}  // namespace onnx_mem::eager
