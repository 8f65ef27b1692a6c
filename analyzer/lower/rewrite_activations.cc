// Activations that exporters spell out run as one operator, which saves its input only (aten/src/ATen/native/
// Activation.cpp): as operators a GELU would hold four tensors.
//
//   gelu       x * 0.5 * (1 + erf(x / sqrt(2)))   in any order of the factors
//   silu       x * sigmoid(x)                     in one module call
//   hardswish  x * clamp(x + 3, 0, 6) / 6         in one module call
//
// The hand-written tanh form of GELU stays as it is: code that writes it out runs the operators.
#include <optional>

#include "analyzer/lower/rewrites.h"

namespace onnx_mem {
namespace {

double ScalarOf(const Node& node) { return FloatAttribute(node, "scalar", 0.0); }

// The node that alone reads output 0 of `id` and is operator `op`; invalid otherwise.
NodeId NextIf(const Draft& draft, NodeId id, std::string_view op) {
  const NodeId reader = draft.OnlyReader(draft.node(id).outputs[0]);
  return reader.valid() && draft.node(reader).op == op ? reader : NodeId();
}

TensorId OtherFactor(const Node& mul, TensorId one) { return mul.inputs[0] == one ? mul.inputs[1] : mul.inputs[0]; }

struct Match {
  TensorId input;
  std::vector<NodeId> nodes;  // in any order; the last one listed makes the result
};

// `x` scaled by one half: x itself if `factor` is mul_scalar(x), which then belongs to the match.
std::optional<NodeId> HalfOf(const Draft& draft, TensorId factor, TensorId x) {
  const NodeId half = draft.ProducerIf(factor, "mul_scalar");
  if (!half.valid() || draft.node(half).inputs[0] != x) return std::nullopt;
  return half;
}

std::optional<Match> MatchGelu(const Draft& draft, NodeId erf) {
  const TensorId scaled = draft.node(erf).inputs[0];
  const NodeId scale = draft.producer(scaled);
  if (!scale.valid() || (draft.node(scale).op != "div_scalar" && draft.node(scale).op != "mul_scalar")) return std::nullopt;
  const TensorId x = draft.node(scale).inputs[0];
  const NodeId plus_one = NextIf(draft, erf, "add_scalar");
  if (!plus_one.valid()) return std::nullopt;
  Match match{x, {scale, erf, plus_one}};
  NodeId last = plus_one;
  if (const NodeId half = NextIf(draft, last, "mul_scalar"); half.valid()) {
    match.nodes.push_back(half);
    last = half;
  }
  const NodeId product = NextIf(draft, last, "mul");
  if (!product.valid()) return std::nullopt;
  const TensorId other = OtherFactor(draft.node(product), draft.node(last).outputs[0]);
  if (other == x && last != plus_one) {
    match.nodes.push_back(product);
    return match;
  }
  if (const std::optional<NodeId> half = HalfOf(draft, other, x); half && last == plus_one) {
    match.nodes.push_back(*half);
    match.nodes.push_back(product);
    return match;
  }
  const NodeId half = NextIf(draft, product, "mul_scalar");
  if (other != x || last != plus_one || !half.valid()) return std::nullopt;
  match.nodes.push_back(product);
  match.nodes.push_back(half);
  return match;
}

std::optional<Match> MatchSilu(const Draft& draft, NodeId sigmoid) {
  const NodeId mul = NextIf(draft, sigmoid, "mul");
  if (!mul.valid() || draft.node(mul).calls != draft.node(sigmoid).calls) return std::nullopt;
  const TensorId x = draft.node(sigmoid).inputs[0];
  if (OtherFactor(draft.node(mul), draft.node(sigmoid).outputs[0]) != x) return std::nullopt;
  return Match{x, {sigmoid, mul}};
}

std::optional<Match> MatchHardSwish(const Draft& draft, NodeId plus) {
  if (ScalarOf(draft.node(plus)) != 3.0) return std::nullopt;
  const TensorId x = draft.node(plus).inputs[0];
  NodeId clamp = NextIf(draft, plus, "relu6");
  if (!clamp.valid()) clamp = NextIf(draft, plus, "clamp");
  if (!clamp.valid()) return std::nullopt;
  const auto is_sixth = [&](NodeId id) { return id.valid(); };
  NodeId mul = NextIf(draft, clamp, "mul");
  if (mul.valid() && OtherFactor(draft.node(mul), draft.node(clamp).outputs[0]) == x) {
    const NodeId sixth = NextIf(draft, mul, "div_scalar");
    if (is_sixth(sixth) && draft.node(sixth).calls == draft.node(plus).calls) return Match{x, {plus, clamp, mul, sixth}};
    return std::nullopt;
  }
  const NodeId sixth = NextIf(draft, clamp, "div_scalar");
  if (!is_sixth(sixth)) return std::nullopt;
  mul = NextIf(draft, sixth, "mul");
  if (!mul.valid() || OtherFactor(draft.node(mul), draft.node(sixth).outputs[0]) != x) return std::nullopt;
  return Match{x, {plus, clamp, sixth, mul}};
}

void Replace(Draft& draft, const Match& match, std::string_view op) {
  Node fused = draft.node(match.nodes.back());
  fused.op = op;
  fused.inputs = {match.input};
  fused.attributes.clear();
  Rank rank = draft.rank(match.nodes.front());
  for (NodeId id : match.nodes) {
    rank = std::max(rank, draft.rank(id));
    draft.Remove(id);
  }
  draft.Add(std::move(fused), rank);
}

int64_t FuseEach(Lowering& lowering, std::string_view anchor, std::string_view op,
                 std::optional<Match> (*match)(const Draft&, NodeId)) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (!draft.alive(id) || draft.node(id).op != anchor) continue;
    const std::optional<Match> found = match(draft, id);
    if (!found) continue;
    Replace(draft, *found, op);
    ++count;
  }
  return count;
}

}  // namespace

int64_t FuseGelu(Lowering& lowering) { return FuseEach(lowering, "erf", "gelu", MatchGelu); }
int64_t FuseSilu(Lowering& lowering) { return FuseEach(lowering, "sigmoid", "silu", MatchSilu); }
int64_t FuseHardSwish(Lowering& lowering) { return FuseEach(lowering, "add_scalar", "hardswish", MatchHardSwish); }

}  // namespace onnx_mem
