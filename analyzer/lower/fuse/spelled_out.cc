// Operators of the framework that have no ONNX operator, or none in the file's opset, and that exporters spell out.
// Sources: torch/onnx/_internal/torchscript_exporter/symbolic_opset9.py to 16, onnxscript's torch_lib, and
// torch/_decomp/decompositions.py, which dynamo's exporter applies first. Not here: chunk, which only the bounds'
// arithmetic tells.
#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/patterns.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

using Match = Expression::Match;

double NumberAt(const Match& match, char name, double fallback) {
  const auto it = match.attributes.find(name);
  const auto* number = it == match.attributes.end() || !it->second ? nullptr : std::get_if<double>(&*it->second);
  return number != nullptr ? *number : fallback;
}

// (sum |x| ** p) ** (1 / p)
bool IsRootOfPower(const Draft&, const Match& match, FrameworkNode&) {
  const double product = NumberAt(match, 'p', 2.0) * NumberAt(match, 'r', 0.5);
  return product >= 0.999 && product <= 1.001;
}

// F.pairwise_distance of order 2, whose exporter takes the root of order 2 + epsilon.
bool IsRootOfEpsilonMore(const Draft&, const Match& match, FrameworkNode&) {
  constexpr double kRoot = 1.0 / (2.0 + 1e-6);
  const double root = NumberAt(match, 'r', 0.5);
  return root >= kRoot - 1e-7 && root <= kRoot + 1e-7;
}

// Positions among boundaries: x is compared with each of them along a new first axis.
bool ComparesAlongNewAxis(const Draft& draft, const Match& match, FrameworkNode&) {
  const size_t rank = draft.tensor(match.tensors.at('x')).shape.rank();
  return draft.tensor(draft.node(match.named.at('C')).outputs[0]).shape.rank() == rank + 1;
}

bool IsIndexedByVector(const Draft& draft, const Match& match, FrameworkNode&) {
  const Dims& dims = draft.tensor(match.tensors.at('i')).shape.dims;
  return std::count_if(dims.begin(), dims.end(), [](int64_t d) { return d != 1; }) <= 1;
}

// torch.rms_norm. Code that computes it itself adds epsilon by add.Tensor; add.Scalar is what a decomposition writes.
bool IsDecomposedRmsNorm(const Draft& draft, const Match& match, FrameworkNode& fused) {
  if (!absl::StartsWith(draft.node(match.named.at('E')).framework_op, "add.Scalar#")) return false;
  const auto axes = IntsAttribute(draft.node(match.named.at('M')), "axes");
  if (axes.empty()) return false;
  fused.attributes["axis"] = axes.front();
  return true;
}

// The second pool, of window 1, numbers the places; no other reads what the first gives before they are subtracted.
bool NumbersPlaces(const Draft& draft, const Match& match, FrameworkNode&) {
  const std::vector<int64_t> window = IntsAttribute(draft.node(match.named.at('F')), "kernel");
  const TensorId found = draft.node(match.named.at('P')).outputs[1];
  return std::all_of(window.begin(), window.end(), [](int64_t size) { return size == 1; }) &&
         draft.OnlyReader(found) == match.named.at('S');
}

constexpr Together kCode = Together::kInModule;  // also where a decomposition names the call of each operator

// The longer expression of a kind stands first.
constexpr auto kSpelledOut = std::to_array<Pattern>({
    {"where(compare(b),where(compare(a),add_scalar(T:atan(div(a,b))),sub_scalar(T)),T)", "atan2(a,b)", nullptr, kCode},
    {"sum(C:compare(x,expand(b)))", "bucketize(x,b)", ComparesAlongNewAxis, kCode},
    {"where(logical(compare(x),compare(x)),x,_)", "hardshrink(x)", nullptr, kCode},
    {"where(compare(abs(x)),_,x)", "hardshrink(x)", nullptr, kCode},
    // F.unfold: rows, then columns, picked from the padded image.
    {"reshape(permute{perm=[0 1 2 4 3 5]}(index(index(pad(x),i),j)))", "im2col(x)", nullptr, kCode},
    {"add(s,scatter{axes=$a,axis=$b,keepdim=$k}(full(),"
     "(expand(unsqueeze(unsqueeze(unsqueeze(i))))|expand(unsqueeze(unsqueeze(i)))|expand(unsqueeze(i))|expand(i)),"
     "expand(e)))",
     "index_add{axes=$a,axis=$b,keepdim=$k}(s,i,e)", IsIndexedByVector, kCode},
    {"where(full(),add(a,mul_scalar(D:sub(b,a))),sub(b,mul_scalar(D)))", "lerp(a,b)", nullptr, kCode},
    {"where(compare(w),add(a,mul(w,D:sub(b,a))),sub(b,mul(D,rsub_scalar(w))))", "lerp(a,b,w)", nullptr, kCode},
    {"div_scalar(log(x),2.30258509)", "log10(x)", nullptr, kCode},
    {"log(add_scalar{number_first=1}(x,1))", "log1p(x)", nullptr, kCode},
    {"div_scalar(log(x),0.69314718)", "log2(x)", nullptr, kCode},
    {"log(det(x))", "logdet(x)", nullptr, kCode},
    {"log(div(W:where(compare(V:where(compare(x),x,_)),_,V),rsub_scalar(W)))", "logit(x)", nullptr, kCode},
    {"log(div(W:where(compare(V:where(compare(x),_,x)),V,_),rsub_scalar(W)))", "logit(x)", nullptr, kCode},
    {"where(logical(isinf(cast(B:where(logical(isinf(cast(A:where(isnan(x),_,x))),compare(A)),_,A))),compare(B)),_,B)",
     "nan_to_num(x)", nullptr, kCode},
    {"where(logical(compare(x),I:isinf(x)),_,where(logical(compare(x),I),_,where(isnan(x),_,x)))", "nan_to_num(x)",
     nullptr, kCode},
    {"pow_scalar{exponent=$r}(sum{axes=$a,axis=$b,keepdim=$k}(pow_scalar{exponent=$p}(abs(x))))",
     "norm{axes=$a,axis=$b,keepdim=$k,p=$p}(x)", IsRootOfPower, kCode},
    {"pow_scalar{exponent=$r}(sum{axes=$a,axis=$b,keepdim=$k}(pow_scalar(sub(a,b))))",
     "pairwise_distance{axes=$a,axis=$b,keepdim=$k}(a,b)", IsRootOfEpsilonMore, kCode},
    {"sub(x,mul(floor(div(x,y)),y))", "remainder(x,y)", nullptr, kCode},
    {"sub(x,mul_scalar(floor(div_scalar(x))))", "remainder_scalar(x)", nullptr, kCode},
    {"mul(mul(x,rsqrt(E:add_scalar(M:mean(pow_scalar(x))))),w)", "rms_norm(x,w)", IsDecomposedRmsNorm, kCode},
    {"mul(x,rsqrt(E:add_scalar(M:mean(pow_scalar(x)))))", "rms_norm(x)", IsDecomposedRmsNorm, kCode},
    {"add(where(compare(x),sub_scalar(x),_),where(compare(x),add_scalar(x),_))", "softshrink(x)", nullptr, kCode},
    {"where(compare(abs(x)),sub(x,mul_scalar(sign(x))),mul_scalar(x))", "softshrink(x)", nullptr, kCode},
    // max_pool2d(x, return_indices=True), whose indices count in an image, those of ONNX in the whole tensor. Sources:
    // _aten_max_pool_with_indices_onnx of torch_lib/ops/nn.py, _max_pool of symbolic_opset10.py.
    {"S:sub(P:max_pool(x).1,slice(F:max_pool(x).1))", "P:max_pool(x)", NumbersPlaces, Together::kInOperator, "PS"},
    {"sqrt(div_scalar(mul_scalar(mean{axes=$a,keepdim=$k}(mul(D:sub(x,mean{axes=$a}(x)),D)))))",
     "std{axes=$a,keepdim=$k}(x)", nullptr, kCode},
    {"sqrt(mean{axes=$a,keepdim=$k}(mul(D:sub(x,mean{axes=$a}(x)),D)))", "std{axes=$a,keepdim=$k}(x)", nullptr, kCode},
    {"div_scalar(mul_scalar(mean{axes=$a,keepdim=$k}(mul(D:sub(x,mean{axes=$a}(x)),D))))", "var{axes=$a,keepdim=$k}(x)",
     nullptr, kCode},
    {"mean{axes=$a,keepdim=$k}(mul(D:sub(x,mean{axes=$a}(x)),D))", "var{axes=$a,keepdim=$k}(x)", nullptr, kCode},
});

// 1 / sqrt(x) or Reciprocal(Sqrt(x)).
constexpr Pattern kRsqrt[] = {{"reciprocal(sqrt(x))", "rsqrt(x)", nullptr, kCode}};

// The TorchScript exporter writes the product by `value` even where it is 1, as it is by default. Code has no product
// by 1, which tells it apart. Source: torch/onnx symbolic_opset9, addcmul.
constexpr Pattern kAddcmul[] = {{"add(s,mul_scalar(mul(a,b),1))", "addcmul(s,a,b)"}};

// Models that compute the tanh form by hand use pow(x, 3): those really ran operator by operator and stay.
constexpr Pattern kGelu[] = {
    {"mul(x,mul_scalar(add_scalar(erf((div_scalar(x,1.41421356)|mul_scalar(x,0.70710678))),1),0.5))",
     "gelu{approximate='none'}(x)"},
    {"mul_scalar(mul(x,add_scalar(erf((div_scalar(x,1.41421356)|mul_scalar(x,0.70710678))),1)),0.5)",
     "gelu{approximate='none'}(x)"},
    {"mul(x,mul_scalar(add_scalar(tanh(mul_scalar(add(x,mul_scalar(mul(x,mul(x,x)),0.044715)),0.79788456)),1),0.5))",
     "gelu{approximate='tanh'}(x)"},
    {"mul_scalar(mul(x,add_scalar(tanh(mul_scalar(add(x,mul_scalar(mul(x,mul(x,x)),0.044715)),0.79788456)),1)),0.5)",
     "gelu{approximate='tanh'}(x)"},
    {"mul(mul_scalar(x,0.5),add_scalar(tanh(mul_scalar(add(x,mul_scalar(mul(x,mul(x,x)),0.044715)),0.79788456)),1))",
     "gelu{approximate='tanh'}(x)"},
};

// The sum of a stored vector in the call of the product: nn.Linear is one addmm. The sum of another module (a position
// embedding, a residual) stays.
bool IsBias(const Draft& draft, const Match& match, FrameworkNode& fused) {
  const TensorId bias = match.tensors.at('b');
  if (draft.producer(bias).valid() || draft.kind(bias) == TensorKind::kInput) return false;
  const Shape &shape = draft.tensor(bias).shape, &product = draft.tensor(fused.outputs[0]).shape;
  return shape.rank() == 1 && product.rank() > 0 && shape.dims[0] == product.dims.back();
}
constexpr Pattern kLinearBias[] = {{"add(P:linear(x,w),b)", "P:linear(x,w,b)", IsBias}};

// torch.roll: two slices of a tensor along one axis, joined the other way round. The slices would be views with a
// full-size gradient each; roll is one copy, and one copy back.
bool JoinsOtherWayRound(const Draft& draft, const Match& match, FrameworkNode&) {
  const Piece tail = ReadPiece(draft, match.named.at('T')), head = ReadPiece(draft, match.named.at('H'));
  const int64_t axis = IntAttribute(draft.node(match.nodes.back()), "axis", -1);
  if (!tail.of.valid() || !head.of.valid() || tail.axis != axis || head.axis != axis) return false;
  const int64_t end = draft.tensor(tail.of).shape.dims[static_cast<size_t>(axis)];
  return head.start == 0 && head.end == tail.start && tail.end == end && tail.start != 0;
}
// Along an axis that is rolled by nothing the first slice is x itself and the second is empty: torch.roll(x, (0, -3),
// (1, 2)) of video windows.
bool JoinsNothing(const Draft& draft, const Match& match, FrameworkNode&) {
  const Piece head = ReadPiece(draft, match.named.at('H'));
  if (!head.of.valid() || head.axis != IntAttribute(draft.node(match.nodes.back()), "axis", -1)) return false;
  const TensorId taken = draft.node(match.named.at('H')).outputs[0];
  return draft.tensor(taken).shape.dims[static_cast<size_t>(head.axis)] == 0;
}
constexpr Pattern kRoll[] = {
    {"cat(T:slice(x),H:slice(x))", "roll(x)", JoinsOtherWayRound},
    {"cat(x,H:slice(x))", "roll(x)", JoinsNothing},
};
// Several axes are one operator in the framework, exported as a pair of slices for each.
constexpr Pattern kRollOfAxes[] = {{"roll(roll(x))", "roll(x)"}};

// True if `axes` leave out the first or the last of `rank` dimensions and no other.
bool IsAllButOneEnd(const std::vector<int64_t>& axes, size_t rank) {
  if (rank < 2 || axes.size() + 1 != rank) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] - axes[0] != static_cast<int64_t>(i)) return false;
  }
  return axes[0] <= 1;
}

// torch.nn.utils.weight_norm: a weight from its direction v and its length g, which saves v, g and the norms and
// nothing of the weight's size; TorchScript's exporter writes v / |v| * g, dynamo's v * (g / |v|). Sources: torch/onnx
// symbolic_opset9 (_weight_norm); torch/_decomp/decompositions.py (_weight_norm_interface); aten/src/ATen/native/
// WeightNorm.cpp: fused where the norm is over all dimensions but the first or all but the last.
bool IsTrainedDirection(const Draft& draft, const Match& match, FrameworkNode&) {
  const TensorId v = match.tensors.at('v'), g = match.tensors.at('g');
  const FrameworkNode& norm = draft.node(match.named.at('N'));
  return draft.kind(v) == TensorKind::kParameter && draft.kind(g) == TensorKind::kParameter &&
         draft.tensor(g).shape == draft.tensor(norm.outputs[0]).shape &&
         IsAllButOneEnd(IntsAttribute(norm, "axes"), draft.tensor(v).shape.rank());
}
constexpr Pattern kWeightNorm[] = {
    {"mul!(div(v,N:norm(v)),g)", "weight_norm(v,g)", IsTrainedDirection, Together::kAnywhere},
    {"mul!(v,div(g,N:norm(v)))", "weight_norm(v,g)", IsTrainedDirection, Together::kAnywhere},
};

// A cast that promotes what an operator of mixed types reads, or counts truth values, is no call of the framework: its
// kernels take the types as they are.
int64_t DropPromotions(Draft& draft) {
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
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

// Each table is parsed once.
template <const auto& kRows>
int64_t Fuse(Lowering& lowering) {
  static const auto& patterns = *new Patterns(kRows);
  return static_cast<int64_t>(patterns.Fuse(lowering.draft).size());
}

}  // namespace

int64_t FuseRsqrt(Lowering& lowering) { return Fuse<kRsqrt>(lowering); }
int64_t FuseAddcmul(Lowering& lowering) { return Fuse<kAddcmul>(lowering); }
int64_t FuseGelu(Lowering& lowering) { return Fuse<kGelu>(lowering); }
int64_t FuseLinearBias(Lowering& lowering) { return Fuse<kLinearBias>(lowering); }
int64_t FuseRoll(Lowering& lowering) {
  const int64_t count = Fuse<kRoll>(lowering);
  if (count > 0) Fuse<kRollOfAxes>(lowering);
  return count;
}
int64_t FuseWeightNorm(Lowering& lowering) {
  static const auto& as_written = *new Patterns(kWeightNorm);
  static const auto& in_any_order = *new Patterns(kWeightNorm, Order::kAny);
  const Patterns& patterns = OrderIn(lowering.run) == Order::kAny ? in_any_order : as_written;
  const auto count = static_cast<int64_t>(patterns.Fuse(lowering.draft).size());
  for (NodeId id : in_any_order.Find(lowering.draft))
    lowering.draft.mutable_node(id).attributes[std::string(kMaybeSwapped)] = int64_t{1};
  return count;
}

int64_t FuseSpelledOut(Lowering& lowering) {
  const int64_t promotions = DropPromotions(lowering.draft);
  if (promotions > 0) lowering.draft.RemoveUnread();
  return promotions + Fuse<kSpelledOut>(lowering);
}

}  // namespace onnx_mem
