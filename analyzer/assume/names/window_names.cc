#include "analyzer/assume/names/window_names.h"

#include "analyzer/assume/names/kept_results.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_mem::names {
namespace {

const Node* Maker(const Graph& graph, TensorId id) {
  const NodeId producer = id.valid() ? graph.tensors[id].producer : NodeId();
  return producer.valid() ? &graph.nodes[producer] : nullptr;
}

// What the only reader of `id` makes, if it runs the operator `op`; else invalid.
TensorId Through(const Graph& graph, TensorId id, std::string_view op) {
  if (!id.valid() || graph.tensors[id].consumers.size() != 1) return TensorId();
  const Node& reader = graph.nodes[graph.tensors[id].consumers[0]];
  return reader.op == op ? reader.outputs[0] : TensorId();
}

// The windows that `image` is parted into: view, permute, copy, view; dynamo's optimizer joins the last two, so that
// Swin's windows cannot be told from those of code that parts in one step. Invalid if it is not.
TensorId WindowsOf(const Graph& graph, TensorId image) {
  TensorId id = image;
  for (std::string_view op : {"reshape", "permute", "reshape"}) id = Through(graph, id, op);
  const TensorId viewed = Through(graph, id, "reshape");
  const bool is_dynamo = id.valid() && !graph.nodes[graph.tensors[id].producer].framework_op.empty();
  if (viewed.valid()) id = viewed;
  if (!id.valid() || (!viewed.valid() && !is_dynamo)) return TensorId();
  const Shape &from = graph.tensors[image].shape, &to = graph.tensors[id].shape;
  return from.rank() == 4 && to.rank() == 3 && from.dims[0] != to.dims[0] ? id : TensorId();
}

// The call at `depth` that is all that reads `id`; -1 if there is none.
int32_t OnlyCall(const Graph& graph, const Calls& calls, TensorId id, size_t depth) {
  int32_t only = -1;
  for (NodeId reader : graph.tensors[id].consumers) {
    const int32_t call = calls.UnitCall(reader.value(), depth);
    if (call < 0 || (only >= 0 && call != only)) return -1;
    only = call;
  }
  return only;
}

// What the views and shifts that put windows together again make of what attention made of them.
TensorId Reversed(const Graph& graph, TensorId attended) {
  TensorId id = attended;
  for (TensorId next = id; next.valid();) {
    id = next;
    next = TensorId();
    for (std::string_view op : {"reshape", "permute", "roll", "slice", "contiguous"}) {
      if (!next.valid()) next = Through(graph, id, op);
    }
  }
  return id;
}

// What code pads and shifts before it parts it.
TensorId Unshifted(const Graph& graph, TensorId image) {
  const Node* maker = Maker(graph, image);
  while (maker != nullptr && (maker->op == "roll" || maker->op == "pad")) {
    image = maker->inputs[0];
    maker = Maker(graph, image);
  }
  return image;
}

// Tokens that the code of `calls` views as an image.
bool IsViewOfTokens(const Graph& graph, TensorId image, const std::vector<std::string>& calls) {
  const Node* maker = Maker(graph, image);
  return maker != nullptr && maker->op == "reshape" && maker->calls == calls &&
         graph.tensors[maker->inputs[0]].shape.rank() == 3;
}

// shortcut, in x = shortcut + self.drop_path(x); invalid if `x` is added to nothing.
TensorId ShortcutOf(const Graph& graph, TensorId x) {
  const TensorId sum = Through(graph, x, "add");
  if (!sum.valid()) return sum;
  const std::vector<TensorId>& terms = Maker(graph, sum)->inputs;
  return terms[terms[0] == x ? 1 : 0];
}

// The weights that the attention in `call` hands back, if it does.
TensorId WeightsHandedBack(const Graph& graph, const CallSpan& call) {
  for (int32_t i = call.begin; i <= call.end; ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    if (HandsWeightsBack(graph, node)) return node.outputs[0];
  }
  return TensorId();
}

// "attention.self" inside: transformers' Swin V2 has the names of its first Swin, which shifted by statements of their
// own; the code of Swin now has a method for that.
bool HasSelf(const Calls& calls, int32_t attention) {
  const std::span<const int32_t> first = calls.of_node(calls.span(attention).begin);
  return std::any_of(first.begin(), first.end(),
                     [&](int32_t call) { return calls.span(call).name.ends_with("attention.self"); });
}

// for layer in self.layers: x, weights = layer(x): the last node of the next layer, or of the code around if this is
// the last one.
int32_t EndOfNextLayer(const Calls& calls, int32_t node, size_t depth) {
  if (depth == 0) return calls.EndOfFrameAt(node, 0);
  const int32_t next = calls.EndOfFrameAt(node, depth) + 1;
  const int32_t around = calls.EndOfFrameAt(node, depth - 1);
  const int32_t call = next <= around ? calls.UnitCall(next, depth - 1) : -1;
  return call >= 0 && IsElement(calls.span(call).name) ? calls.span(call).end : around;
}

}  // namespace

IdVector<TensorId, int32_t> HeldAsWindows(const Graph& graph, const Calls& calls) {
  IdVector<TensorId, int32_t> held(graph.tensors.size(), -1);
  for (TensorId image(0); graph.tensors.contains(image); image = TensorId(image.value() + 1)) {
    const Node* maker = Maker(graph, image);
    const TensorId windows = maker == nullptr ? TensorId() : WindowsOf(graph, image);
    if (!windows.valid()) continue;
    const int32_t parts = graph.tensors[windows].producer.value();
    const size_t depth = calls.of_node(parts).size();
    const int32_t call = OnlyCall(graph, calls, windows, depth);
    if (call < 0) continue;
    const std::vector<TensorId>& results = graph.nodes[NodeId(calls.span(call).end)].outputs;
    const TensorId attended = results.empty() ? TensorId() : results[0];
    const TensorId whole = attended.valid() ? Reversed(graph, attended) : TensorId();
    if (whole == attended) continue;
    const auto hold = [&](TensorId id, int32_t until) { held[id] = std::max(held[id], until); };
    const int32_t reversed = graph.tensors[whole].producer.value();
    hold(image, reversed);
    if (maker->op == "roll") hold(maker->inputs[0], reversed);
    const TensorId unshifted = Unshifted(graph, image);
    const bool in_forward = IsViewOfTokens(graph, unshifted, graph.nodes[NodeId(parts)].calls);
    if (!in_forward && graph.tensors[unshifted].producer.valid()) hold(unshifted, reversed);  // the method's argument
    const int32_t returns = in_forward ? calls.EndOfFrameAt(parts, depth) : reversed;
    hold(windows, returns);
    hold(attended, returns);
    const TensorId shortcut = ShortcutOf(graph, whole);
    if (shortcut.valid()) hold(shortcut, returns);
    const TensorId weights = WeightsHandedBack(graph, calls.span(call));
    if (weights.valid()) {
      hold(weights, EndOfNextLayer(calls, parts, depth));
      hold(whole, returns);
    }
    if (!HasSelf(calls, call)) continue;
    // shifted_hidden_states = torch.roll(x); shifted_windows = window_reverse(...); attention_windows = torch.roll(...)
    if (maker->op == "roll") hold(image, returns);
    for (const Node* step = Maker(graph, whole); step != nullptr && step->outputs[0] != attended;
         step = Maker(graph, step->inputs[0])) {
      hold(step->outputs[0], returns);
    }
  }
  return held;
}

}  // namespace onnx_mem::names
