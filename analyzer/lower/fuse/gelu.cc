// GELU written out by exporters.
//
//   erf    x / sqrt(2) -> erf -> + 1 -> * x -> * 0.5      (0.5 may come first, or be applied to 1 + erf)
//   tanh   x * (x * x), as torch.onnx writes gelu(approximate="tanh"): 0.5 * x * (1 + tanh(k * (x + c * x^3)))
//
// Models that compute the tanh form by hand use pow(x, 3): those really ran operator by operator and stay.
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

struct GeluMatch {
  std::vector<NodeId> nodes;  // the last one makes the result
  TensorId x;
};

// x of `scaled` = x * (1/sqrt 2) or x / sqrt 2.
bool IsScaledByRootHalf(const Node& node) {
  return IsScalarOp(node, "div_scalar", 1.41421356) || IsScalarOp(node, "mul_scalar", 0.70710678);
}

// The product of x, 0.5 and `gate` = 1 + erf(..) in any of its orders.
bool MatchHalfProduct(const Draft& draft, TensorId gate, GeluMatch& match) {
  const NodeId reader = draft.OnlyReader(gate);
  if (!reader.valid()) return false;
  const Node& node = draft.node(reader);
  match.nodes.push_back(reader);
  if (IsScalarOp(node, "mul_scalar", 0.5)) {
    const NodeId product = OnlyReaderIf(draft, node.outputs[0], "mul");
    if (!product.valid() || OtherOperand(draft.node(product), node.outputs[0]) != match.x) return false;
    match.nodes.push_back(product);
    return true;
  }
  if (node.op != "mul") return false;
  const TensorId other = OtherOperand(node, gate);
  if (other == match.x) {
    const NodeId half = OnlyReaderIf(draft, node.outputs[0], "mul_scalar");
    if (!half.valid() || !IsScalarOp(draft.node(half), "mul_scalar", 0.5)) return false;
    match.nodes.push_back(half);
    return true;
  }
  const NodeId half = draft.ProducerIf(other, "mul_scalar");
  if (!half.valid() || !IsScalarOp(draft.node(half), "mul_scalar", 0.5)) return false;
  if (draft.node(half).inputs[0] != match.x || draft.OnlyReader(other) != reader) return false;
  match.nodes.insert(match.nodes.begin(), half);
  return true;
}

// From the scaled argument's function (erf, tanh) on: + 1, then the product.
bool MatchGate(const Draft& draft, NodeId function, GeluMatch& match) {
  const NodeId one = OnlyReaderIf(draft, draft.node(function).outputs[0], "add_scalar");
  if (!one.valid() || !IsScalarOp(draft.node(one), "add_scalar", 1.0)) return false;
  match.nodes.push_back(function);
  match.nodes.push_back(one);
  return MatchHalfProduct(draft, draft.node(one).outputs[0], match);
}

bool MatchErf(const Draft& draft, NodeId erf, GeluMatch& match) {
  const TensorId argument = draft.node(erf).inputs[0];
  const NodeId scale = draft.producer(argument);
  if (!scale.valid() || !IsScaledByRootHalf(draft.node(scale)) || draft.OnlyReader(argument) != erf) return false;
  match.x = draft.node(scale).inputs[0];
  match.nodes.push_back(scale);
  return MatchGate(draft, erf, match);
}

// The x of x * (x * x); appends the two products.
TensorId MatchCube(const Draft& draft, TensorId cube, GeluMatch& match) {
  const NodeId outer = draft.ProducerIf(cube, "mul");
  if (!outer.valid()) return TensorId();
  for (TensorId operand : draft.node(outer).inputs) {
    const NodeId inner = draft.ProducerIf(operand, "mul");
    if (!inner.valid() || draft.OnlyReader(operand) != outer) continue;
    const Node& square = draft.node(inner);
    const TensorId x = OtherOperand(draft.node(outer), operand);
    if (square.inputs[0] != x || square.inputs[1] != x) continue;
    match.nodes.push_back(inner);
    match.nodes.push_back(outer);
    return x;
  }
  return TensorId();
}

bool MatchTanh(const Draft& draft, NodeId tanh, GeluMatch& match) {
  const NodeId beta = draft.ProducerIf(draft.node(tanh).inputs[0], "mul_scalar");
  if (!beta.valid() || !IsScalarOp(draft.node(beta), "mul_scalar", 0.79788456)) return false;
  const NodeId sum = draft.ProducerIf(draft.node(beta).inputs[0], "add");
  if (!sum.valid()) return false;
  for (TensorId operand : draft.node(sum).inputs) {
    const NodeId kappa = draft.ProducerIf(operand, "mul_scalar");
    if (!kappa.valid() || !IsScalarOp(draft.node(kappa), "mul_scalar", 0.044715)) continue;
    match.x = OtherOperand(draft.node(sum), operand);
    if (MatchCube(draft, draft.node(kappa).inputs[0], match) != match.x) continue;
    match.nodes.insert(match.nodes.end(), {kappa, sum, beta});
    return MatchGate(draft, tanh, match);
  }
  return false;
}

bool InOneCall(const Draft& draft, const GeluMatch& match) {
  for (NodeId id : match.nodes) {
    if (!SameCall(draft.node(id), draft.node(match.nodes.back()))) return false;
  }
  return true;
}

}  // namespace

int64_t FuseGelu(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (!draft.alive(id)) continue;
    const bool erf = draft.node(id).op == "erf";
    if (!erf && draft.node(id).op != "tanh") continue;
    GeluMatch match;
    if (!(erf ? MatchErf(draft, id, match) : MatchTanh(draft, id, match)) || !InOneCall(draft, match)) continue;
    const NodeId last = match.nodes.back();
    Node gelu = MakeNode("gelu", {match.x}, draft.node(last).outputs);
    gelu.attributes["approximate"] = std::string(erf ? "none" : "tanh");
    const Rank rank = draft.rank(last);
    Replace(draft, match.nodes, std::move(gelu), rank);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
