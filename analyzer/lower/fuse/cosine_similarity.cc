// F.cosine_similarity divides both vectors by their norms and then multiplies; exporters write the product divided by
// the norms instead.
//
//   sum(a * b) / max(sqrt(sum(a * a) * sum(b * b)), eps)   ->   sum((a / norm(a)) * (b / norm(b)))
//
// Source: aten/src/ATen/native/Distance.cpp (cosine_similarity).
#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

struct SimilarityMatch {
  std::vector<NodeId> nodes;
  TensorId a, b;
  NodeId sum;      // of a * b: its axes
  NodeId product;  // a * b: the shape to which both are expanded
};

// sum(x * y) -> x, y; appends the two nodes.
bool MatchDot(const Draft& draft, TensorId id, TensorId& x, TensorId& y, std::vector<NodeId>& nodes) {
  const NodeId sum = draft.ProducerIf(id, "sum");
  const NodeId product = sum.valid() ? draft.ProducerIf(draft.node(sum).inputs[0], "mul") : NodeId();
  if (!product.valid()) return false;
  x = draft.node(product).inputs[0];
  y = draft.node(product).inputs[1];
  nodes.push_back(product);
  nodes.push_back(sum);
  return true;
}

bool MatchCosine(const Draft& draft, NodeId div, SimilarityMatch& match) {
  const Node& node = draft.node(div);
  if (node.op != "div" || !MatchDot(draft, node.inputs[0], match.a, match.b, match.nodes)) return false;
  match.sum = match.nodes.back();
  match.product = match.nodes.front();
  const NodeId floor = draft.producer(node.inputs[1]);
  if (!floor.valid() || (draft.node(floor).op != "maximum" && draft.node(floor).op != "clamp")) return false;
  const NodeId sqrt = draft.ProducerIf(draft.node(floor).inputs[0], "sqrt");
  const NodeId squares = sqrt.valid() ? draft.ProducerIf(draft.node(sqrt).inputs[0], "mul") : NodeId();
  if (!squares.valid()) return false;
  TensorId x, y;
  for (size_t i = 0; i < 2; ++i) {
    if (!MatchDot(draft, draft.node(squares).inputs[i], x, y, match.nodes) || x != y) return false;
    if (x != (i == 0 ? match.a : match.b)) return false;
  }
  for (NodeId id : {squares, sqrt, floor, div}) match.nodes.push_back(id);
  for (NodeId id : match.nodes) {
    if (!SameCall(draft.node(id), node)) return false;
  }
  return true;
}

// Adds an operator in the place of `like`.
TensorId AddOp(Draft& draft, NodeId like, std::string_view op, std::vector<TensorId> inputs, const Dims& dims,
               Node attributes = {}) {
  const Node scope = draft.node(like);
  const TensorId result = draft.NewTensor(absl::StrCat(draft.tensor(scope.outputs[0]).name, "/", std::string(op)),
                                          draft.tensor(inputs[0]).dtype, dims);
  Node node = MakeNode(op, std::move(inputs), {result});
  node.attributes = std::move(attributes.attributes);
  node.name = scope.name;
  node.module = scope.module;
  node.calls = scope.calls;
  KeepSourceTrace(scope, node);
  node.framework_op = scope.framework_op;
  draft.Add(std::move(node), draft.rank(like));
  return result;
}

}  // namespace

int64_t FuseCosineSimilarity(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    SimilarityMatch match;
    if (!draft.alive(id) || !MatchCosine(draft, id, match)) continue;
    Node over;
    over.attributes["axes"] = IntsAttribute(draft.node(match.sum), "axes");
    Node norm_attributes = over;
    norm_attributes.attributes["p"] = 2.0;
    norm_attributes.attributes["keepdim"] = int64_t{1};
    const Dims dims = draft.tensor(draft.node(match.product).outputs[0]).shape.dims;
    Dims reduced = dims;
    for (int64_t axis : IntsAttribute(over, "axes")) {
      if (axis >= 0 && axis < std::ssize(reduced)) reduced[static_cast<size_t>(axis)] = 1;
    }
    TensorId unit[2], copies[2];
    const TensorId operands[2] = {match.a, match.b};
    for (size_t i = 0; i < 2; ++i) {
      const TensorId norm = AddOp(draft, id, "norm", {operands[i]}, reduced, norm_attributes);
      copies[i] = AddOp(draft, id, "clone", {norm}, reduced);
    }
    for (size_t i = 0; i < 2; ++i) unit[i] = AddOp(draft, id, "div", {operands[i], copies[i]}, dims);
    const TensorId product = AddOp(draft, id, "mul", {unit[0], unit[1]}, dims);
    Node sum = MakeNode("sum", {product}, draft.node(id).outputs);
    sum.attributes = draft.node(match.sum).attributes;
    const Rank rank = draft.rank(id);
    Replace(draft, match.nodes, std::move(sum), rank);
    ++count;
  }
  if (count > 0) draft.RemoveUnread();
  return count;
}

}  // namespace onnx_mem
