// Operators of the framework that have no ONNX operator, or none in the file's opset, and that exporters spell out.
// Sources: torch/onnx/_internal/torchscript_exporter/symbolic_opset9.py to 16, onnxscript's torch_lib, and
// torch/_decomp/decompositions.py, which dynamo's exporter applies first.
#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/spelled_out.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

using Match = Expression::Match;

// Takes the attributes of the fused operator from what was matched; false where it only looks like it.
using AcceptFn = bool (*)(const Draft& draft, const Match& match, Node& fused);

struct SpelledOut {
  std::string_view framework;
  std::string_view expression;
  std::string_view operands;  // of the one operator, by their letters
  AcceptFn accept = nullptr;
};

void CopyAxes(const Draft& draft, NodeId from, Node& fused) {
  for (std::string_view name : {"axes", "axis", "keepdim"}) {
    const auto it = draft.node(from).attributes.find(name);
    if (it != draft.node(from).attributes.end()) fused.attributes.insert_or_assign(it->first, it->second);
  }
}

// The axes of the outer mean, which are those of the inner one too.
bool AcceptVariance(const Draft& draft, const Match& match, Node& fused) {
  std::vector<NodeId> means;
  for (NodeId id : match.nodes) {
    if (draft.node(id).op == "mean") means.push_back(id);
  }
  if (means.size() != 2 || IntsAttribute(draft.node(means[0]), "axes") != IntsAttribute(draft.node(means[1]), "axes")) {
    return false;
  }
  CopyAxes(draft, means[1], fused);
  return true;
}

// (sum |x| ** p) ** (1 / p)
bool AcceptNorm(const Draft& draft, const Match& match, Node& fused) {
  const double p = FloatAttribute(draft.node(match.Find(draft, "pow_scalar")), "exponent", 2.0);
  const double root = FloatAttribute(draft.node(match.nodes.back()), "exponent", 0.5);
  if (p * root < 0.999 || p * root > 1.001) return false;
  CopyAxes(draft, match.Find(draft, "sum"), fused);
  fused.attributes["p"] = p;
  return true;
}

// log(x) over the logarithm of the base.
template <int kBase>
bool AcceptLogarithm(const Draft& draft, const Match& match, Node&) {
  return IsScalarOp(draft.node(match.nodes.back()), "div_scalar", kBase == 2 ? 0.69314718 : 2.30258509);
}

bool AcceptLog1p(const Draft& draft, const Match& match, Node&) {
  const Node& sum = draft.node(match.Find(draft, "add_scalar"));
  return IsScalarOp(sum, "add_scalar", 1.0) && IntAttribute(sum, "number_first", 0) != 0;
}

// F.pairwise_distance of order 2, whose exporter takes the root of order 2 + epsilon.
bool AcceptPairwiseDistance(const Draft& draft, const Match& match, Node& fused) {
  constexpr double kRoot = 1.0 / (2.0 + 1e-6);
  const double root = FloatAttribute(draft.node(match.nodes.back()), "exponent", 0.5);
  if (root < kRoot - 1e-7 || root > kRoot + 1e-7) return false;
  CopyAxes(draft, match.Find(draft, "sum"), fused);
  return true;
}

// Positions among boundaries: x is compared with each of them along a new first axis.
bool AcceptBucketize(const Draft& draft, const Match& match, Node&) {
  const size_t rank = draft.tensor(match.tensors.at('x')).shape.rank();
  return draft.tensor(draft.node(match.Find(draft, "compare")).outputs[0]).shape.rank() == rank + 1;
}

bool AcceptIndexAdd(const Draft& draft, const Match& match, Node& fused) {
  CopyAxes(draft, match.Find(draft, "scatter"), fused);
  const Dims& dims = draft.tensor(match.tensors.at('i')).shape.dims;
  return std::count_if(dims.begin(), dims.end(), [](int64_t d) { return d != 1; }) <= 1;
}

// F.unfold: rows, then columns, picked from the padded image.
bool AcceptIm2Col(const Draft& draft, const Match& match, Node&) {
  return IntsAttribute(draft.node(match.Find(draft, "permute")), "perm") == std::vector<int64_t>{0, 1, 2, 4, 3, 5};
}

// torch.rms_norm. Code that computes it itself adds epsilon by add.Tensor; add.Scalar is what a decomposition writes.
bool AcceptRmsNorm(const Draft& draft, const Match& match, Node& fused) {
  if (!absl::StartsWith(draft.node(match.Find(draft, "add_scalar")).framework_op, "add.Scalar#")) return false;
  const auto axes = IntsAttribute(draft.node(match.Find(draft, "mean")), "axes");
  if (axes.empty()) return false;
  fused.attributes["axis"] = axes.front();
  return true;
}

// The longer expression of a kind stands first.
constexpr auto kSpelledOut = std::to_array<SpelledOut>({
    {"atan2", "where(compare(b),where(compare(a),add_scalar(T:atan(div(a,b))),sub_scalar(T)),T)", "ab"},
    {"bucketize", "sum(compare(x,expand(b)))", "xb", AcceptBucketize},
    {"hardshrink", "where(logical(compare(x),compare(x)),x,_)", "x"},
    {"hardshrink", "where(compare(abs(x)),_,x)", "x"},
    {"im2col", "reshape(permute(index(index(pad(x),i),j)))", "x", AcceptIm2Col},
    {"index_add", "add(s,scatter(full(),expand(unsqueeze(unsqueeze(unsqueeze(i)))),expand(e)))", "sie", AcceptIndexAdd},
    {"index_add", "add(s,scatter(full(),expand(unsqueeze(unsqueeze(i))),expand(e)))", "sie", AcceptIndexAdd},
    {"index_add", "add(s,scatter(full(),expand(unsqueeze(i)),expand(e)))", "sie", AcceptIndexAdd},
    {"index_add", "add(s,scatter(full(),expand(i),expand(e)))", "sie", AcceptIndexAdd},
    {"lerp", "where(full(),add(a,mul_scalar(D:sub(b,a))),sub(b,mul_scalar(D)))", "ab"},
    {"lerp", "where(compare(w),add(a,mul(w,D:sub(b,a))),sub(b,mul(D,rsub_scalar(w))))", "abw"},
    {"log10", "div_scalar(log(x))", "x", AcceptLogarithm<10>},
    {"log1p", "log(add_scalar(x))", "x", AcceptLog1p},
    {"log2", "div_scalar(log(x))", "x", AcceptLogarithm<2>},
    {"logdet", "log(det(x))", "x"},
    {"logit", "log(div(W:where(compare(V:where(compare(x),x,_)),_,V),rsub_scalar(W)))", "x"},
    {"logit", "log(div(W:where(compare(V:where(compare(x),_,x)),V,_),rsub_scalar(W)))", "x"},
    {"nan_to_num",
     "where(logical(isinf(cast(B:where(logical(isinf(cast(A:where(isnan(x),_,x))),compare(A)),_,A))),compare(B)),_,B)",
     "x"},
    {"nan_to_num",
     "where(logical(compare(x),I:isinf(x)),_,where(logical(compare(x),I),_,where(isnan(x),_,x)))", "x"},
    {"norm", "pow_scalar(sum(pow_scalar(abs(x))))", "x", AcceptNorm},
    {"pairwise_distance", "pow_scalar(sum(pow_scalar(sub(a,b))))", "ab", AcceptPairwiseDistance},
    {"remainder", "sub(x,mul(floor(div(x,y)),y))", "xy"},
    {"remainder_scalar", "sub(x,mul_scalar(floor(div_scalar(x))))", "x"},
    {"rms_norm", "mul(mul(x,rsqrt(add_scalar(mean(pow_scalar(x))))),w)", "xw", AcceptRmsNorm},
    {"rms_norm", "mul(x,rsqrt(add_scalar(mean(pow_scalar(x)))))", "x", AcceptRmsNorm},
    {"softshrink", "add(where(compare(x),sub_scalar(x),_),where(compare(x),add_scalar(x),_))", "x"},
    {"softshrink", "where(compare(abs(x)),sub(x,mul_scalar(sign(x))),mul_scalar(x))", "x"},
    {"std", "sqrt(div_scalar(mul_scalar(mean(mul(D:sub(x,mean(x)),D)))))", "x", AcceptVariance},
    {"std", "sqrt(mean(mul(D:sub(x,mean(x)),D)))", "x", AcceptVariance},
    {"var", "div_scalar(mul_scalar(mean(mul(D:sub(x,mean(x)),D))))", "x", AcceptVariance},
    {"var", "mean(mul(D:sub(x,mean(x)),D))", "x", AcceptVariance},
});

const std::vector<Expression>& Expressions() {
  static const auto& expressions = *new std::vector<Expression>([] {
    std::vector<Expression> parsed;
    for (const SpelledOut& row : kSpelledOut) parsed.emplace_back(row.expression);
    return parsed;
  }());
  return expressions;
}

bool FuseAt(Draft& draft, NodeId id) {
  for (size_t row = 0; row < kSpelledOut.size(); ++row) {
    const Expression& expression = Expressions()[row];
    Match match;
    if (draft.node(id).op != expression.root_op() || !expression.Matches(draft, id, match)) continue;
    Node fused = MakeNode(kSpelledOut[row].framework, {}, draft.node(id).outputs);
    for (char letter : kSpelledOut[row].operands) fused.inputs.push_back(match.tensors.at(letter));
    if (kSpelledOut[row].accept != nullptr && !kSpelledOut[row].accept(draft, match, fused)) continue;
    const Rank rank = draft.rank(id);
    Replace(draft, match.nodes, std::move(fused), rank);
    return true;
  }
  return false;
}

// A cast that promotes what an operator of mixed types reads, or counts truth values, is no call of the framework: its
// kernels take the types as they are.
int64_t DropPromotions(Draft& draft) {
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    const Node& node = draft.node(id);
    if (node.op != "cast") continue;
    const bool counts = draft.tensor(node.inputs[0]).dtype == DType::kBool &&
                        draft.tensor(node.outputs[0]).dtype == DType::kInt64 &&
                        OnlyReaderIf(draft, node.outputs[0], "sum").valid();
    if (!counts && !absl::StartsWith(node.framework_op, "convert_element_type#")) continue;
    if (draft.IsOutput(node.outputs[0])) continue;
    const TensorId from = node.inputs[0], to = node.outputs[0];
    draft.ReplaceReaders(to, from);
    draft.Remove(id);
    ++count;
  }
  return count;
}

}  // namespace

int64_t FuseSpelledOut(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = DropPromotions(draft);
  std::vector<NodeId> order = draft.InOrder();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {  // a root before the roots inside it
    if (draft.alive(*id) && FuseAt(draft, *id)) ++count;
  }
  if (count > 0) draft.RemoveUnread();
  return count;
}

}  // namespace onnx_mem
