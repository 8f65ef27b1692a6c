// The part of locals.h about attention that is written out: which of its values have names.
//
//   x = windows(x); qkv = self.qkv(x); ...; x = attn @ v                   x has, until attention's result takes it
//                                                                          over
#include <algorithm>
#include <iterator>
#include <string_view>

#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {

bool Locals::IsProduct(const Node& node) {
  const bool contracts = node.op == "einsum" && node.inputs.size() == 2;
  return contracts || node.op == "matmul" || node.op == "bmm" || node.op == "sdpa";
}

const Node* Locals::Maker(TensorId id) const {
  const NodeId producer = id.valid() ? graph_.tensors[id].producer : NodeId();
  return producer.valid() ? &graph_.nodes[producer] : nullptr;
}

// attn = attn + bias; attn = self.softmax(attn); x = attn @ v: one name for all, where dots = q @ k * self.scale is
// another than that of self.attend(dots).
bool Locals::IsSoftmaxOfSum(TensorId id) const {
  const Node* maker = Maker(id);
  if (maker == nullptr || maker->op != "softmax") return false;
  maker = Maker(maker->inputs[0]);
  if (maker != nullptr && maker->op == "reshape") maker = Maker(maker->inputs[0]);
  return maker != nullptr && maker->op == "add";
}

// x = self.activation(self.fc1(x)): where a layer has both beside its attention, as in fairseq and what descends from
// it, it calls one in the argument of the other (61 of 67 such layers in transformers). Feed-forward modules of their
// own go statement by statement, and so does code that flattens tokens first (OPT).
bool Locals::ActivatesBesideAttention(int32_t linear, int32_t activation, const Home& home) const {
  const int32_t first = calls_.UnitCall(linear, home.depth), second = calls_.UnitCall(activation, home.depth);
  if (home.depth == 0 || first < 0 || second < 0) return false;
  const auto runs = [&](int32_t call, std::string_view op) {
    const CallSpan& span = calls_.span(call);
    return span.begin == span.end && graph_.nodes[NodeId(span.begin)].op == op;
  };
  constexpr std::string_view kActivations[] = {"relu", "gelu", "silu", "tanh"};
  const auto is_activation = [&](std::string_view op) { return runs(second, op); };
  if (!runs(first, "linear") || std::none_of(std::begin(kActivations), std::end(kActivations), is_activation))
    return false;
  if (graph_.tensors[graph_.nodes[NodeId(linear)].inputs[0]].shape.rank() < 3) return false;
  for (int32_t i = calls_.span(home.frame).begin; i < linear; ++i) {
    if (IsProduct(graph_.nodes[NodeId(i)]) && calls_.of_node(i).size() > home.depth) return true;
  }
  return false;
}

}  // namespace onnx_mem::names
