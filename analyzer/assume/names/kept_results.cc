#include "analyzer/assume/names/kept_results.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::names {
namespace {

bool IsProduct(const Node& node) { return node.op == "matmul" || node.op == "bmm" || node.op == "sdpa"; }

const Node* Producer(const Graph& graph, TensorId id) {
  const NodeId producer = id.valid() ? graph.tensors[id].producer : NodeId();
  return producer.valid() ? &graph.nodes[producer] : nullptr;
}

// A linear layer that runs in `outer`, outside `inner`.
bool HasOtherLinear(const Graph& graph, const CallSpan& outer, const CallSpan& inner) {
  for (int32_t i = outer.begin; i <= outer.end; ++i) {
    if (i >= inner.begin && i <= inner.end) continue;
    const OpName op = graph.nodes[NodeId(i)].op;
    if (onnx_mem::IsProduct(op)) return true;
  }
  return false;
}

// softmax(q k^T * scale + mask), all in one function: the scale comes after the product, as in transformers'
// eager_attention_forward, which returns (output, weights). timm, torchvision and most other code scale q.
bool ScalesTheProduct(const Graph& graph, const Node& softmax) {
  constexpr int kMostSteps = 4;  // mask, position bias, view
  TensorId scores = softmax.inputs[0];
  bool scaled = false;
  for (int step = 0; step < kMostSteps; ++step) {
    const Node* maker = Producer(graph, scores);
    if (maker == nullptr || maker->calls != softmax.calls) return false;
    if (IsProduct(*maker)) return scaled;
    scaled |= IsScaling(maker->op);
    if (maker->inputs.empty()) return false;
    scores = maker->inputs[0];
  }
  return false;
}

// The end of the call after the one at `depth` that `node` runs in, if it is the next element of its list; else that of
// the function around.
int32_t EndOfNextElement(const Calls& calls, int32_t node, size_t depth) {
  const int32_t around = calls.EndOfFrameAt(node, depth);
  const int32_t next = calls.span(calls.of_node(node)[depth]).end + 1;
  const int32_t call = next <= around ? calls.UnitCall(next, depth) : -1;
  return call >= 0 && IsElement(calls.span(call).name) ? calls.span(call).end : around;
}

// The end of the layer behind the one that an attention module's weights are handed up to, the innermost element of a
// stack around it that has linear layers beside the attention's own: outputs = layer(x); x = outputs[0], where the next
// round of the loop takes the name. -1 if the attention is not a module of its own.
int32_t EndOfWeights(const Graph& graph, const Calls& calls, int32_t node) {
  const std::span<const int32_t> inside = calls.of_node(node);
  if (inside.size() < 2 || IsElement(calls.span(inside.back()).name)) return -1;
  const CallSpan& attention = calls.span(inside.back());
  for (size_t depth = inside.size() - 1; depth-- > 0;) {
    const CallSpan& layer = calls.span(inside[depth]);
    if (IsElement(layer.name) && HasOtherLinear(graph, layer, attention)) return EndOfNextElement(calls, node, depth);
  }
  return -1;
}

// The first layer of a stack, "layers.0", with layers inside and one after it.
bool IsFirstLayer(const Calls& calls, int32_t call, size_t depth) {
  const CallSpan& span = calls.span(call);
  if (!absl::EndsWith(span.name, ".0")) return false;
  const std::span<const int32_t> next = calls.of_node(span.end + 1);
  const std::string second = span.name.substr(0, span.name.size() - 1) + "1";
  if (depth >= next.size() || calls.span(next[depth]).name != second) return false;
  for (int32_t i = span.begin; i <= span.end; ++i) {
    if (calls.of_node(i).size() > depth + 1) return true;
  }
  return false;
}

// Depth of the innermost frame around the maker of `id` and all its readers.
size_t DepthAround(const Graph& graph, const Calls& calls, TensorId id) {
  const std::span<const int32_t> made = calls.of_node(graph.tensors[id].producer.value());
  size_t depth = made.size();
  for (NodeId reader : graph.tensors[id].consumers) {
    const std::span<const int32_t> read = calls.of_node(reader.value());
    depth = std::min(depth, read.size());
    while (depth > 0 && read[depth - 1] != made[depth - 1]) --depth;
  }
  return depth;
}

// hidden = embeds + self.positions(ids), which enters the first of a stack of layers: its terms have names of their
// own.
bool IsPositionedInput(const Graph& graph, const Calls& calls, const Node& sum, size_t depth) {
  if (sum.op != "add" || sum.inputs.size() != 2 || !sum.outputs[0].valid()) return false;
  const bool looks_up = std::any_of(sum.inputs.begin(), sum.inputs.end(), [&](TensorId term) {
    const Node* maker = Producer(graph, term);
    if (maker == nullptr) return term.valid() && absl::StartsWith(graph.tensors[term].name, "onnx::");  // folded
    return maker->op == "embedding";
  });
  const auto& readers = graph.tensors[sum.outputs[0]].consumers;
  return looks_up && std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const int32_t call = calls.UnitCall(reader.value(), depth);
           return call >= 0 && IsFirstLayer(calls, call, depth);
         });
}

// In the forward of a base model, which a head calls: names of what its embeddings make last until it returns.
int32_t KeptAsEmbedding(const Graph& graph, const Calls& calls, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  const int32_t maker = tensor.producer.value();
  if (tensor.consumers.empty()) return -1;
  const size_t depth = DepthAround(graph, calls, id);
  if (depth == 0 || IsElement(calls.span(calls.of_node(maker)[depth - 1]).name)) return -1;  // a stage is no base model
  const bool is_term = std::any_of(tensor.consumers.begin(), tensor.consumers.end(), [&](NodeId reader) {
    return calls.of_node(reader.value()).size() == depth && IsPositionedInput(graph, calls, graph.nodes[reader], depth);
  });
  if (is_term) return calls.EndOfFrameAt(maker, depth);
  const auto first = std::min_element(tensor.consumers.begin(), tensor.consumers.end());
  const int32_t reading = calls.UnitCall(first->value(), depth);
  // hidden = embeds + positions; for layer in self.layers: hidden = ... rebinds the sum's own name, and so does
  // hidden = self.projection(hidden).
  const bool enters = reading >= 0 && calls.UnitCall(maker, depth) >= 0 && IsFirstLayer(calls, reading, depth) &&
                      graph.nodes[tensor.producer].op != "linear";
  if (!enters && graph.nodes[tensor.producer].op != "embedding") return -1;
  return calls.EndOfFrameAt(maker, depth);
}

// A call that embeds tokens and has a stack of layers: a language model that a head is put on.
bool IsBaseModel(const Graph& graph, const Calls& calls, const CallSpan& span, size_t depth) {
  if (IsElement(span.name)) return false;  // a layer with a position bias of its own (T5)
  bool embeds = false, stacks = false;
  for (int32_t i = span.begin; i <= span.end && !(embeds && stacks); ++i) {
    embeds |= graph.nodes[NodeId(i)].op == "embedding";
    for (int32_t call : calls.of_node(i).subspan(std::min(depth + 1, calls.of_node(i).size()))) {
      stacks |= IsElement(calls.span(call).name);
    }
  }
  return embeds && stacks;
}

// What a base model hands to its head: the head's forward holds the whole output object.
int32_t KeptAsModelOutput(const Graph& graph, const Calls& calls, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  const int32_t maker = tensor.producer.value();
  const size_t depth = DepthAround(graph, calls, id);
  const int32_t call = calls.UnitCall(maker, depth);
  if (tensor.consumers.empty() || call < 0 || !IsBaseModel(graph, calls, calls.span(call), depth)) return -1;
  return calls.EndOfFrameAt(maker, depth);
}

// torch.nn.utils.weight_norm (the older one, with parameters weight_g and weight_v): a hook before forward sets the
// module's attribute `weight`, which holds the result until the next forward. A parametrization's result is a value of
// forward's own (parametrizations.weight.original0, original1).
bool IsKeptByHook(const Graph& graph, TensorId id) {
  const Node& node = *Producer(graph, id);
  return node.op == "weight_norm" && node.inputs.size() == 2 && node.inputs[0].valid() && node.inputs[1].valid() &&
         absl::EndsWith(graph.tensors[node.inputs[0]].name, "_v") &&
         absl::EndsWith(graph.tensors[node.inputs[1]].name, "_g");
}

}  // namespace

int32_t MayBeHandedBackUntil(const Graph& graph, const Calls& calls, TensorId id) {
  const Node* maker = Producer(graph, id);
  if (maker != nullptr && maker->op == "dropout") maker = Producer(graph, maker->inputs[0]);  // in training
  if (maker == nullptr || maker->op != "softmax" || !ScalesTheProduct(graph, *maker)) return -1;
  const auto& readers = graph.tensors[id].consumers;
  const bool weighs = std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return IsProduct(graph.nodes[reader]) && graph.nodes[reader].calls == maker->calls;
  });
  return weighs ? EndOfWeights(graph, calls, graph.tensors[id].producer.value()) : -1;
}

int32_t KeptUntil(const Graph& graph, const Calls& calls, TensorId id, bool names_known) {
  if (!graph.tensors[id].producer.valid()) return -1;
  if (IsKeptByHook(graph, id)) return static_cast<int32_t>(graph.nodes.size()) - 1;
  if (names_known) return -1;
  return std::max(KeptAsEmbedding(graph, calls, id), KeptAsModelOutput(graph, calls, id));
}

}  // namespace onnx_mem::names
