// The part of locals.h about attention that is written out: which of its values have names.
//
//   F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)      the normalized ones have none
//   (q * self.scale) @ k ... q                                             nor has the scaled one
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

// Divided by its own norm, for cosine attention.
bool Locals::IsNormalized(TensorId id) const {
  const Node* quotient = Maker(id);
  if (quotient != nullptr && quotient->op == "permute") quotient = Maker(quotient->inputs[0]);
  if (quotient == nullptr || quotient->op != "div") return false;
  constexpr int kMostSteps = 3;  // expand, clamp, norm
  const Node* divisor = Maker(quotient->inputs[1]);
  for (int step = 0; step < kMostSteps && divisor != nullptr && !divisor->inputs.empty(); ++step) {
    if (divisor->op == "norm") return divisor->inputs[0] == quotient->inputs[0];
    divisor = Maker(divisor->inputs[0]);
  }
  return false;
}

// The q of F.normalize(q, dim=-1) @ ...; what a product of activations is made of has a name.
int32_t Locals::HeldAsNormalized(TensorId id, const Home& home) const {
  for (NodeId reader : graph_.tensors[id].consumers) {
    if (graph_.nodes[reader].op != "div" || graph_.nodes[reader].inputs[0] != id) continue;
    const TensorId normalized = graph_.nodes[reader].outputs[0];
    if (!normalized.valid() || !IsNormalized(normalized)) continue;
    TensorId operand = normalized;
    const auto& next = graph_.tensors[operand].consumers;
    if (next.size() == 1 && graph_.nodes[next[0]].op == "permute") operand = graph_.nodes[next[0]].outputs[0];
    const auto& products = graph_.tensors[operand].consumers;
    if (products.size() == 1 && IsProduct(graph_.nodes[products[0]]))
      return calls_.EndOfFrameAt(products[0].value(), home.depth);
  }
  return -1;
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

// q = q * self.scale would have taken the name of a value that is read again later.
bool Locals::IsScaledInProduct(TensorId id) const {
  const NodeId producer = graph_.tensors[id].producer;
  const Node& scaled = graph_.nodes[producer];
  if (scaled.op != "mul_scalar" && scaled.op != "div_scalar") return false;
  const auto& readers = graph_.tensors[scaled.inputs[0]].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return reader > producer; });
}

// The last node of the statement x = (attn @ v).transpose(1, 2).reshape(...) in the code of the frame after `node`; -1
// if it does not attend. Two products, or the function that does both.
int32_t Locals::EndOfAttention(int32_t node, const Home& home) const {
  const int32_t end = calls_.EndOfFrameAt(node, home.depth);
  int32_t products = 0, attends = -1;
  for (auto i = std::upper_bound(products_.begin(), products_.end(), node);
       i != products_.end() && *i <= end && attends < 0; ++i) {
    if (calls_.of_node(*i).size() != home.depth) continue;
    products += graph_.nodes[NodeId(*i)].op == "sdpa" ? 2 : 1;
    if (products >= 2) attends = *i;
  }
  const auto shapes = [&](int32_t i) {
    return graph_.nodes[NodeId(i)].op == "reshape" || graph_.nodes[NodeId(i)].op == "permute";
  };
  while (attends >= 0 && attends < end && shapes(attends + 1)) ++attends;
  return attends;
}

// What is projected inside the function that also attends keeps its name until the result takes it over.
int32_t Locals::HeldByProjection(TensorId id, const Home& home) const {
  int32_t last = -1;
  for (NodeId reader : graph_.tensors[id].consumers) {
    if (graph_.nodes[reader].op != "linear") return -1;
    last = std::max(last, reader.value());
  }
  return last < 0 ? -1 : EndOfAttention(last, home);
}

// Whether the function that runs `softmax` projects q, k and v by modules of their own and drops weights by another:
// the older modules of transformers, which go on from attention_scores to attention_probs.
bool Locals::ProjectsApart(int32_t softmax, const Home& home) const {
  if (home.depth == 0 || calls_.of_node(softmax).size() != home.depth) return false;
  if (StringAttribute(graph_.nodes[NodeId(softmax)], "dropout", "") != "module") return false;
  constexpr int kProjections = 3;
  int projections = 0;
  for (int32_t i = calls_.span(home.frame).begin; i < softmax; ++i) {
    projections += graph_.nodes[NodeId(i)].op == "linear" ? 1 : 0;
  }
  return projections >= kProjections;
}

// scores = q @ k / math.sqrt(d); probs = softmax(scores): who divides has a name for the scores beside that of the
// weights. So has who calls a module on them: dots = q @ k * self.scale; attn = self.attend(dots).
int32_t Locals::HeldAsScores(TensorId id, const Home& home) const {
  const auto& readers = graph_.tensors[id].consumers;
  if (readers.size() != 1 || graph_.nodes[readers[0]].op != "softmax") return -1;
  const Node* maker = Maker(id);
  constexpr int kMostSteps = 3;
  for (int step = 0; step < kMostSteps && maker != nullptr && (maker->op == "add" || maker->op == "where"); ++step) {
    maker = Maker(maker->inputs[maker->op == "where" ? maker->inputs.size() - 1 : 0]);
  }
  const int32_t end = EndOfRound(id, readers[0].value(), home);
  if (ProjectsApart(readers[0].value(), home)) return end;
  const bool calls_module = calls_.UnitCall(readers[0].value(), home.depth) >= 0;
  if (maker == nullptr || (maker->op != "div_scalar" && !(calls_module && maker->op == "mul_scalar"))) return -1;
  if (calls_module && maker != Maker(id)) return -1;  // attn = attn + bias; attn = self.softmax(attn)
  const Node* product = Maker(maker->inputs[0]);
  return product != nullptr && IsProduct(*product) ? end : -1;
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

// x = x + self.attend(self.norm(x)); x = x + self.mlp(...): a block that calls a module for its second half, but
// attends in its own code, likely does so in a method, whose names go before the sum. The last node of that method; -1
// where the frame has none. (Who writes attention into forward writes the second half there, too.)
int32_t Locals::EndOfAttentionMethod(TensorId id, const Home& home) const {
  if (home.depth == 0) return -1;
  const int32_t maker = graph_.tensors[id].producer.value();
  const int32_t begin = calls_.span(home.frame).begin, end = calls_.span(home.frame).end;
  int32_t sum = EndOfAttention(begin, home);
  if (sum < 0) return -1;
  while (sum <= end && (calls_.of_node(sum).size() != home.depth || graph_.nodes[NodeId(sum)].op != "add")) ++sum;
  if (maker >= sum) return -1;
  for (int32_t i = sum + 1; i <= end; ++i) {
    const int32_t call = calls_.UnitCall(i, home.depth);
    if (call < 0) continue;
    const CallSpan& span = calls_.span(call);
    int32_t layers = 0;
    for (; i <= span.end; ++i) layers += graph_.nodes[NodeId(i)].op == "linear" ? 1 : 0;
    i = span.end;
    if (layers >= 2) return sum - 1;
  }
  return -1;
}

}  // namespace onnx_mem::names
