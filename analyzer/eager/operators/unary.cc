// Elementwise operators of one tensor: what each saves and what its backward allocates, one row each.
// Sources: tools/autograd/derivatives.yaml (formulas, what is saved), aten/src/ATen/autocast_mode.h (fp32 list).
#include "analyzer/eager/operators/unary.h"

#include <algorithm>
#include <array>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/ops/table.h"

namespace onnx_mem::eager {
namespace {

enum class Saves : uint8_t { kNothing, kInput, kResult };

struct UnaryRow {
  std::string_view name;  // of the lowered operator
  std::string_view op;    // as dispatched
  std::string_view backward;
  Saves saves;
  Saves saves_in_place;                   // kInput: a clone is made before the input is overwritten
  bool fp32;                              // autocast runs it in float32
  std::array<std::string_view, 6> steps;  // backward allocations; the last is dx, the others live until it is there
};

constexpr Saves kNone = Saves::kNothing, kIn = Saves::kInput, kOut = Saves::kResult;

constexpr auto kUnary = std::to_array<UnaryRow>({
    {"abs", "abs", "AbsBackward0", kIn, kIn, false, {"sgn", "mul"}},
    {"acos", "acos", "AcosBackward0", kIn, kIn, true, {"neg", "mul", "add", "rsqrt", "neg", "mul"}},
    {"acosh", "acosh", "AcoshBackward0", kIn, kIn, false, {"mul", "sub", "rsqrt", "mul"}},
    {"asin", "asin", "AsinBackward0", kIn, kIn, true, {"neg", "mul", "add", "rsqrt", "mul"}},
    {"asinh", "asinh", "AsinhBackward0", kIn, kIn, false, {"pow", "add", "rsqrt", "mul"}},
    {"atan", "atan", "AtanBackward0", kIn, kIn, false, {"mul", "add", "div"}},
    {"atanh", "atanh", "AtanhBackward0", kIn, kIn, false, {"pow", "rsub", "mul", "div"}},
    {"ceil", "ceil", "CeilBackward0", kNone, kNone, false, {"zeros_like"}},
    {"celu", "celu", "CeluBackward0", kIn, kOut, false, {"elu_backward"}},
    {"cos", "cos", "CosBackward0", kIn, kIn, false, {"sin", "neg", "mul"}},
    {"cosh", "cosh", "CoshBackward0", kIn, kIn, true, {"sinh", "mul"}},
    {"digamma", "digamma", "DigammaBackward0", kIn, kIn, false, {"polygamma", "mul"}},
    {"elu", "elu", "EluBackward0", kIn, kOut, false, {"elu_backward"}},
    {"erf", "erf", "ErfBackward0", kIn, kIn, false, {"pow", "neg", "exp", "mul", "mul"}},
    {"erfc", "erfc", "ErfcBackward0", kIn, kIn, false, {"pow", "neg", "exp", "mul", "mul"}},
    {"erfinv", "erfinv", "ErfinvBackward0", kIn, kIn, true, {"erfinv", "pow", "exp", "mul", "mul"}},
    {"exp", "exp", "ExpBackward0", kOut, kOut, true, {"mul"}},
    {"exp2", "exp2", "Exp2Backward0", kOut, kOut, false, {"mul", "mul"}},
    {"expm1", "expm1", "Expm1Backward0", kOut, kOut, true, {"add", "mul"}},
    {"floor", "floor", "FloorBackward0", kNone, kNone, false, {"zeros_like"}},
    {"gelu", "gelu", "GeluBackward0", kIn, kIn, false, {"gelu_backward"}},
    {"hardshrink", "hardshrink", "HardshrinkBackward0", kIn, kIn, false, {"hardshrink_backward"}},
    {"hardsigmoid", "hardsigmoid", "HardsigmoidBackward0", kIn, kIn, false, {"hardsigmoid_backward"}},
    {"hardswish", "hardswish", "HardswishBackward0", kIn, kIn, false, {"hardswish_backward"}},
    {"i0", "i0", "I0Backward0", kIn, kIn, false, {"special_i1", "mul"}},
    {"leaky_relu", "leaky_relu", "LeakyReluBackward0", kIn, kOut, false, {"leaky_relu_backward"}},
    {"lgamma", "lgamma", "LgammaBackward0", kIn, kIn, false, {"digamma", "mul"}},
    {"log", "log", "LogBackward0", kIn, kIn, true, {"div"}},
    {"log10", "log10", "Log10Backward0", kIn, kIn, true, {"mul", "div"}},
    {"log1p", "log1p", "Log1PBackward0", kIn, kIn, true, {"add", "div"}},
    {"log2", "log2", "Log2Backward0", kIn, kIn, true, {"mul", "div"}},
    {"logit", "logit", "LogitBackward0", kIn, kIn, false, {"logit_backward"}},
    {"logsigmoid", "log_sigmoid_forward", "LogSigmoidBackward0", kIn, kIn, false, {"log_sigmoid_backward"}},
    {"mish", "mish", "MishBackward0", kIn, kIn, false, {"mish_backward"}},
    {"neg", "neg", "NegBackward0", kNone, kNone, false, {"neg"}},
    {"reciprocal", "reciprocal", "ReciprocalBackward0", kOut, kOut, true, {"mul", "neg", "mul"}},
    {"relu", "relu", "ReluBackward0", kOut, kOut, false, {"threshold_backward"}},
    {"relu6", "hardtanh", "HardtanhBackward0", kIn, kIn, false, {"hardtanh_backward"}},
    {"round", "round", "RoundBackward0", kNone, kNone, false, {"zeros_like"}},
    {"rsqrt", "rsqrt", "RsqrtBackward0", kOut, kOut, true, {"pow", "mul", "mul"}},
    {"selu", "elu", "EluBackward0", kIn, kOut, false, {"elu_backward"}},
    {"sigmoid", "sigmoid", "SigmoidBackward0", kOut, kOut, false, {"sigmoid_backward"}},
    {"sign", "sign", "SignBackward0", kNone, kNone, false, {"zeros_like"}},
    {"silu", "silu", "SiluBackward0", kIn, kIn, false, {"silu_backward"}},
    {"sin", "sin", "SinBackward0", kIn, kIn, false, {"cos", "mul"}},
    {"sinh", "sinh", "SinhBackward0", kIn, kIn, true, {"cosh", "mul"}},
    {"softplus", "softplus", "SoftplusBackward0", kIn, kIn, true, {"softplus_backward"}},
    {"softshrink", "softshrink", "SoftshrinkBackward0", kIn, kIn, false, {"softshrink_backward"}},
    {"sqrt", "sqrt", "SqrtBackward0", kOut, kOut, false, {"mul", "div"}},
    {"tan", "tan", "TanBackward0", kOut, kOut, true, {"pow", "add", "mul"}},
    {"tanh", "tanh", "TanhBackward0", kOut, kOut, false, {"tanh_backward"}},
    {"threshold", "threshold", "ThresholdBackward0", kIn, kIn, false, {"threshold_backward"}},
    {"trunc", "trunc", "TruncBackward0", kNone, kNone, false, {"zeros_like"}},
});

// What is known of the operators by name says the same.
static_assert(std::all_of(kUnary.begin(), kUnary.end(), [](const UnaryRow& row) {
  const OpFacts& op = FindOpFacts(row.name);
  const bool saves_result = row.saves == kOut || row.saves_in_place == kOut;
  return SavesInput(op) == (row.saves == kIn) && SavesResult(op) == saves_result &&
         SavesResultInPlaceAlone(op) == (row.saves != row.saves_in_place);
}));

const UnaryRow& RowOf(std::string_view name) {
  return *std::lower_bound(kUnary.begin(), kUnary.end(), name,
                           [](const UnaryRow& row, std::string_view key) { return row.name < key; });
}

// Of two layouts these take that of what was saved, the others that of the gradient: the order in which their kernels
// name the operands (TORCH_META_FUNC in Activation.cpp).
bool IsLaidOutLikeSaved(std::string_view backward) {
  return backward == "threshold_backward" || backward == "leaky_relu_backward";
}

TensorRef Run(Machine& m, const UnaryRow& row, const TensorRef& argument, bool in_place, DType result_of_integers) {
  TensorRef x = row.fp32 && !in_place ? m.AutocastHigh(argument) : argument;
  NodeRef node = m.MakeNode(row.backward, {x});
  const Saves saves = in_place ? row.saves_in_place : row.saves;
  if (saves == kIn && node) node.Save(in_place ? m.NewLike("clone", *x) : x);
  const DType dtype = IsFloating(x->dtype) ? x->dtype : result_of_integers;
  TensorRef y = in_place ? InPlace(m, row.op, x) : m.NewLike(row.op, *x, dtype);
  if (saves == kOut) node.Save(y);
  node.Output(y);
  node.Formula([&row, saves](Backward& b) {
    const TensorRef saved = saves == kNone ? nullptr : b.saved(0);
    b.result(0, IsLaidOutLikeSaved(row.steps.front()) ? RunPointwise(b.m, row.steps, {saved, b.grad()})
                                                      : RunPointwise(b.m, row.steps, {b.grad(), saved}));
  });
  return y;
}

void EnactUnary(Machine& m, const Call& call, Outputs& out) {
  out[0] = Run(m, RowOf(call.node.op), call.input(0), call.inplace(), call.output().dtype);
}

// The gradient passes where x is finite: |x| is not infinite, and x is x.
void EnactNanToNum(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("NanToNumBackward0", {x});
  node.Save(x);
  out[0] = m.NewLike("nan_to_num", *x);
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef x = b.saved(0);
    TensorRef finite;
    {
      const TensorRef magnitude = b.m.NewLike("abs", *x);
      const TensorRef bounded = b.m.NewLike("ne", *x, DType::kBool);
      const TensorRef number = b.m.NewLike("eq", *x, DType::kBool);
      finite = b.m.NewLike("mul", *x, DType::kBool);
    }
    b.result(0, b.m.NewLike("mul", *b.grad()));
  });
}

// Masks have no gradient.
void EnactMask(Machine& m, const Call& call, Outputs& out) {
  out[0] = m.NewLike(call.node.op, *call.input(0), DType::kBool);
}

std::vector<OpRow> AllRows() {
  std::vector<OpRow> rows;
  for (const UnaryRow& row : kUnary) rows.push_back({row.name, EnactUnary});
  for (std::string_view mask : {"isfinite", "isinf", "isnan", "logical_not"}) rows.push_back({mask, EnactMask});
  rows.push_back({"nan_to_num", EnactNanToNum});
  return rows;
}

}  // namespace

TensorRef Unary(Machine& m, std::string_view name, const TensorRef& x, bool in_place) {
  return Run(m, RowOf(name), x, in_place, x->dtype);
}

std::span<const OpRow> UnaryOps() {
  static const std::vector<OpRow>& rows = *new std::vector<OpRow>(AllRows());
  return rows;
}

}  // namespace onnx_mem::eager
