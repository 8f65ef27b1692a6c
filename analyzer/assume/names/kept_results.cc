#include "analyzer/assume/names/kept_results.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "analyzer/assume/names/hook_weights.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::names {
namespace {

bool IsProduct(const FrameworkNode& node) { return node.op == "matmul" || node.op == "bmm" || node.op == "sdpa"; }

// A linear layer that runs in `outer`, outside `inner`.
bool HasOtherLinear(const FrameworkGraph& graph, const CallSpan& outer, const CallSpan& inner) {
  for (int32_t i = outer.begin; i <= outer.end; ++i) {
    if (i >= inner.begin && i <= inner.end) continue;
    const OpName op = graph.nodes[NodeId(i)].op;
    if (onnx_mem::IsProduct(op)) return true;
  }
  return false;
}

// softmax(q k^T * scale + mask), all in one function: the scale comes after the product, as in transformers' attention.
// timm, torchvision and most other code scale q, and hand no weights back.
bool ScalesTheProduct(const FrameworkGraph& graph, const FrameworkNode& softmax) {
  constexpr int kMostSteps = 4;  // mask, position bias, view
  TensorId scores = softmax.inputs[0];
  bool scaled = false, looks_up = false;
  for (int step = 0; step < kMostSteps; ++step) {
    const FrameworkNode* maker = graph.MakerOf(scores);
    if (maker == nullptr || maker->calls != softmax.calls) return false;
    if (IsProduct(*maker)) return scaled;
    // q k^T * scale + self.biases[:, self.indices]: code of its own, not eager_attention_forward (modeling_levit.py)
    const FrameworkNode* bias = maker->op == "add" ? graph.MakerOf(maker->inputs[1]) : nullptr;
    looks_up |= bias != nullptr && bias->op == "index" && bias->calls == softmax.calls;
    if (looks_up && maker->op == "mul_scalar") return false;
    scaled |= maker->op == "mul_scalar" || maker->op == "div_scalar";
    if (maker->inputs.empty()) return false;
    scores = maker->inputs[0];
  }
  return false;
}

// Whether a node is the softmax of an attention that hands its weights back beside its result. transformers'
// eager_attention_forward drops them by a function; where a module does, some code hands them back (modeling_bert.py
// until 2025, and what was written after it), most does not.
enum class Handed : uint8_t { kLikely, kPossible };
bool HandsWeightsBack(const FrameworkGraph& graph, const FrameworkNode& node, Handed handed = Handed::kLikely) {
  const bool by_module = handed == Handed::kLikely && StringAttribute(node, "dropout", "") == "module";
  return node.op == "softmax" && !by_module && ScalesTheProduct(graph, node);
}

// The depth of the layer that an attention module's weights are handed up to: the innermost element of a stack around
// it that has linear layers beside the attention's own. nullopt if the attention is not a module of its own.
std::optional<size_t> DepthOfLayer(const FrameworkGraph& graph, const Calls& calls, int32_t node) {
  const std::span<const int32_t> inside = calls.of_node(node);
  if (inside.size() < 2 || IsElement(calls.span(inside.back()).name)) return std::nullopt;
  for (size_t depth = inside.size() - 1; depth-- > 0;) {
    const CallSpan& layer = calls.span(inside[depth]);
    if (IsElement(layer.name) && HasOtherLinear(graph, layer, calls.span(inside.back()))) return depth;
  }
  return std::nullopt;
}

// The end of that layer; or, if sooner, of the next attention there, which takes over the name: x, _ =
// self.self_attn(x); x, _ = self.cross_attn(x, memory).
int32_t EndOfWeights(const FrameworkGraph& graph, const Calls& calls, int32_t node) {
  const std::optional<size_t> depth = DepthOfLayer(graph, calls, node);
  if (!depth) return -1;
  const std::span<const int32_t> inside = calls.of_node(node);
  const int32_t end = calls.span(inside[*depth]).end;
  for (int32_t i = calls.span(inside.back()).end + 1; i <= end; ++i) {
    if (HandsWeightsBack(graph, graph.nodes[NodeId(i)])) return calls.UnitEnd(i, *depth + 1);
  }
  return end;
}

// Whether `id` is what an attention weighs its values with, and hands back.
bool AreHandedBack(const FrameworkGraph& graph, TensorId id, Handed handed = Handed::kLikely) {
  const FrameworkNode* maker = graph.MakerOf(id);
  if (maker->op == "dropout") maker = graph.MakerOf(maker->inputs[0]);  // in training
  if (maker == nullptr || !HandsWeightsBack(graph, *maker, handed)) return false;
  const auto& readers = graph.tensors[id].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return IsProduct(graph.nodes[reader]) && graph.nodes[reader].calls == maker->calls;
  });
}

int32_t KeptAsWeights(const FrameworkGraph& graph, const Calls& calls, TensorId id) {
  return AreHandedBack(graph, id) ? EndOfWeights(graph, calls, graph.tensors[id].producer.value()) : -1;
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
size_t DepthAround(const FrameworkGraph& graph, const Calls& calls, TensorId id) {
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
bool IsPositionedInput(const FrameworkGraph& graph, const Calls& calls, const FrameworkNode& sum, size_t depth) {
  if (sum.op != "add" || sum.inputs.size() != 2 || !sum.outputs[0].valid()) return false;
  const bool looks_up = std::any_of(sum.inputs.begin(), sum.inputs.end(), [&](TensorId term) {
    const FrameworkNode* maker = graph.MakerOf(term);
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
int32_t KeptAsEmbedding(const FrameworkGraph& graph, const Calls& calls, TensorId id) {
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
bool IsBaseModel(const FrameworkGraph& graph, const Calls& calls, const CallSpan& span, size_t depth) {
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
int32_t KeptAsModelOutput(const FrameworkGraph& graph, const Calls& calls, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  const int32_t maker = tensor.producer.value();
  const size_t depth = DepthAround(graph, calls, id);
  const int32_t call = calls.UnitCall(maker, depth);
  if (tensor.consumers.empty() || call < 0 || !IsBaseModel(graph, calls, calls.span(call), depth)) return -1;
  return calls.EndOfFrameAt(maker, depth);
}

}  // namespace

int32_t WeightsMayBeKeptUntil(const FrameworkGraph& graph, const Calls& calls, TensorId id) {
  if (!graph.tensors[id].producer.valid() || !AreHandedBack(graph, id, Handed::kPossible)) return -1;
  const int32_t maker = graph.tensors[id].producer.value();
  const std::optional<size_t> depth = DepthOfLayer(graph, calls, maker);
  if (!depth) return -1;
  const CallSpan& layer = calls.span(calls.of_node(maker)[*depth]);
  const std::span<const int32_t> next = calls.of_node(layer.end + 1);
  const bool again = *depth < next.size() && WithoutDigits(calls.span(next[*depth]).name) == WithoutDigits(layer.name);
  return again ? calls.span(next[*depth]).end : calls.EndOfFrameAt(maker, *depth);
}

int32_t KeptUntil(const FrameworkGraph& graph, const Calls& calls, TensorId id, bool names_known, bool guess) {
  if (!graph.tensors[id].producer.valid()) return -1;
  if (IsKeptByHook(graph, id)) return static_cast<int32_t>(graph.nodes.size());
  const int32_t handed_on = guess ? KeptAsWeights(graph, calls, id) : -1;
  if (names_known) return handed_on;
  return std::max({handed_on, KeptAsEmbedding(graph, calls, id), KeptAsModelOutput(graph, calls, id)});
}

}  // namespace onnx_mem::names
