// torch.utils.checkpoint(use_reentrant=True): an autograd.Function whose forward runs without gradients, and whose
// backward runs it again to its end, on its inputs detached, and an engine of its own over what that makes. Parameters
// get their gradients inside; nothing does where no input needs one. Source: torch/utils/checkpoint.py
// (CheckpointFunction).
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/eager/engine/second_run.h"
#include "analyzer/eager/engine/without_grad.h"
#include "analyzer/eager/spans/spans.h"

namespace onnx_mem::eager {
namespace {

bool IsReadBehind(const FrameworkGraph& graph, const Lowered& lowered, TensorId id, int32_t last) {
  const NodeIds& readers = graph.tensors[id].consumers;
  if (std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return reader.value() > last; })) return true;
  return id == lowered.loss || std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
}

// What the checkpointed function returns that can have a gradient.
TensorIds ResultsOf(const Lowered& lowered, const NodeSpan& range) {
  TensorIds results;
  for (int32_t i = range.first; i <= range.last; ++i) {
    for (TensorId id : lowered.graph.nodes[NodeId(i)].outputs) {
      if (!id.valid() || !IsFloating(lowered.graph.tensors[id].dtype)) continue;
      if (IsReadBehind(lowered.graph, lowered, id, range.last)) results.push_back(id);
    }
  }
  return results;
}

// What its backward needs to run it again.
struct ReentrantCall {
  Executor& executor;
  NodeSpan span;
  TensorIds arguments;
  TensorIds results;
  Values others;  // that the function reads beside its arguments, held by it
  std::optional<DType> autocast;

  void RunBackward(Backward& b) const;
};

void ReentrantCall::RunBackward(Backward& b) const {
  Machine& m = executor.machine();
  Values values = others;
  std::vector<TensorRef> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorRef saved = b.saved(i);
    inputs.push_back(saved == nullptr ? nullptr : m.Detached(saved, b.needs(i)));
    values[arguments[i]] = inputs.back();
  }
  const size_t first_node = m.num_nodes();
  {
    const SecondRun second(m, /*hook=*/nullptr, autocast);
    values = executor.RunAgain(span, std::move(values));
  }
  std::vector<std::pair<TensorRef, TensorRef>> roots;  // and their gradients
  for (size_t i = 0; i < results.size(); ++i) {
    const auto result = values.find(results[i]);
    if (result == values.end() || result->second == nullptr) continue;
    if (result->second->requires_grad && b.grad(i) != nullptr) roots.emplace_back(result->second, b.grad(i));
  }
  RunBackwardFrom(m, roots);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (b.needs(i) && inputs[i] != nullptr) b.result(i, m.TakeGradient(inputs[i]));
  }
  m.ForgetNodes(first_node);
}

class Reentrant : public SpanHook {
 public:
  Reentrant(Executor& executor, const NodeRange& range)
      : m_(executor.machine()),
        call_{executor, range, range.arguments, ResultsOf(executor.lowered(), range), {}, m_.autocast()} {}

  void Before(const NameFrame& frame) override {
    for (TensorId id : call_.arguments) arguments_.push_back(frame.read(id));
    for (TensorId id : call_.executor.ReadWithin(call_.span)) {
      const TensorRef t = frame.read(id);
      if (t == nullptr) continue;
      if (std::find(call_.arguments.begin(), call_.arguments.end(), id) != call_.arguments.end()) continue;
      call_.others.emplace(id, t->is_leaf_parameter ? t : m_.Alias(t, t->dims, t->strides, t->is_view));
    }
    inside_.emplace(m_);
  }

  void After(const NameFrame& frame) override {
    inside_.reset();
    NodeRef node = m_.MakeNode("CheckpointFunctionBackward", arguments_);
    if (!node) return;
    for (const TensorRef& argument : arguments_) node.Save(argument);
    for (TensorId id : call_.results) node.Output(frame.read(id));
    node.Formula([call = std::move(call_)](Backward& b) { call.RunBackward(b); });
  }

 private:
  Machine& m_;
  ReentrantCall call_;
  std::vector<TensorRef> arguments_;
  std::optional<WithoutGrad> inside_;
};

}  // namespace

std::shared_ptr<SpanHook> MakeReentrant(Executor& executor, const NodeRange& range) {
  return std::make_shared<Reentrant>(executor, range);
}

}  // namespace onnx_mem::eager
