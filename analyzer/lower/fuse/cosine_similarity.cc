// F.cosine_similarity divides both vectors by their norms and then multiplies; exporters write the product divided by
// the norms instead.
//
//   sum(a * b) / max(sqrt(sum(a * a) * sum(b * b)), eps)   ->   sum((a / norm(a)) * (b / norm(b)))
//
// What comes in its place is no one operator, so it is written out here and no row of a table.
// Source: aten/src/ATen/native/Distance.cpp (cosine_similarity).
#include "absl/strings/str_cat.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/patterns.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kSimilarity =
    "div(S:sum(mul(a,b)),maximum|clamp(sqrt(mul(sum(mul(a,a)),sum(mul(b,b)))),e?))";

// Adds an operator in the place of `like`.
TensorId AddOp(Draft& draft, NodeId like, std::string_view op, TensorIds inputs, const Dims& dims,
               FrameworkNode attributes = {}) {
  const FrameworkNode scope = draft.node(like);
  const TensorId result = draft.NewTensor(absl::StrCat(draft.tensor(scope.outputs[0]).name, "/", std::string(op)),
                                          draft.tensor(inputs[0]).dtype, dims);
  FrameworkNode node = MakeNodeInCallOf(scope, op, std::move(inputs), {result});
  node.attributes = std::move(attributes.attributes);
  node.framework_op = scope.framework_op;
  draft.Add(std::move(node), draft.rank(like));
  return result;
}

}  // namespace

int64_t FuseCosineSimilarity(Lowering& lowering) {
  static const auto& similarity = *new Expression(kSimilarity);
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    Expression::Match match;
    if (!draft.alive(id) || !similarity.Matches(draft, id, Together::kInOperator, "", match)) continue;
    const TensorId operands[2] = {match.tensors.at('a'), match.tensors.at('b')};
    const FrameworkNode products = draft.node(match.named.at('S'));  // a copy: nodes are added below
    FrameworkNode over;
    over.attributes["axes"] = IntsAttribute(products, "axes");
    FrameworkNode norm_attributes = over;
    norm_attributes.attributes["p"] = 2.0;
    norm_attributes.attributes["keepdim"] = int64_t{1};
    const Dims dims = draft.tensor(products.inputs[0]).shape.dims;  // to which both are expanded
    Dims reduced = dims;
    for (int64_t axis : IntsAttribute(over, "axes")) {
      if (axis >= 0 && axis < std::ssize(reduced)) reduced[static_cast<size_t>(axis)] = 1;
    }
    TensorId unit[2], copies[2];
    for (size_t i = 0; i < 2; ++i) {
      const TensorId norm = AddOp(draft, id, "norm", {operands[i]}, reduced, norm_attributes);
      copies[i] = AddOp(draft, id, "clone", {norm}, reduced);
    }
    for (size_t i = 0; i < 2; ++i) unit[i] = AddOp(draft, id, "div", {operands[i], copies[i]}, dims);
    const TensorId product = AddOp(draft, id, "mul", {unit[0], unit[1]}, dims);
    FrameworkNode sum = MakeNode("sum", {product}, draft.node(id).outputs);
    sum.attributes = products.attributes;
    const Rank rank = draft.rank(id);
    Replace(draft, match.nodes, std::move(sum), rank);
    ++count;
  }
  if (count > 0) draft.RemoveUnread();
  return count;
}

}  // namespace onnx_mem
