// The larger or smaller of two numbers, and numbers kept between bounds that are tensors.
// Sources: tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp.
#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"

namespace onnx_mem::eager {
namespace {

constexpr size_t kFirst = 0, kSecond = 1;

// where(self == other, g / 2, g), then in place 0 where the other operand was chosen.
TensorRef ExtremumGrad(Backward& b, const TensorRef& self, const TensorRef& other) {
  const TensorRef chosen = NewPointwise(b.m, "gt", {self, other}, DType::kBool);
  const TensorRef half = b.m.NewLike("div", *b.grad());
  const TensorRef equal = NewPointwise(b.m, "eq", {self, other}, DType::kBool);
  const TensorRef grad = NewPointwise(b.m, "where", {equal, half, b.grad()}, half->dtype);
  return OverwriteUnlessObserved(b.m, "masked_fill_", grad);
}

// To x and to what it is compared with, the operand `other`: that one's first.
void GiveExtremumGrads(Backward& b, const TensorRef& self, const TensorRef& with, size_t other) {
  for (size_t edge : {other, kFirst}) {
    if (b.needs(edge)) b.result(edge, ExtremumGrad(b, self, with));
  }
}

void EnactExtremum(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &a = call.input(0), &b = call.input(1);
  NodeRef node = m.MakeNode(call.node.op == "maximum" ? "MaximumBackward0" : "MinimumBackward0", {a, b});
  node.Save(b);
  node.Save(a);
  out[0] = NewPointwise(m, call.node.op, {a, b});
  node.Output(out[0]);
  node.Formula([](Backward& back) { GiveExtremumGrads(back, back.saved(1), back.saved(0), kSecond); });
}

// fmax, fmin: what is no number is left out. The mask of the operand that was not chosen comes first; those that are
// joined to it, in place, live as long.
TensorRef ChosenNumberGrad(Backward& b, const TensorRef& self, const TensorRef& other) {
  const TensorRef chosen = NewPointwise(b.m, "gt", {self, other}, DType::kBool);
  const TensorRef undefined = b.m.NewLike("isnan", *other, DType::kBool);
  const TensorRef half = b.m.NewLike("div", *b.grad());
  const TensorRef equal = NewPointwise(b.m, "eq", {self, other}, DType::kBool);
  const TensorRef grad = NewPointwise(b.m, "where", {equal, half, b.grad()}, half->dtype);
  return OverwriteUnlessObserved(b.m, "masked_fill_", grad);
}

void EnactFmax(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &a = call.input(0), &b = call.input(1);
  NodeRef node = m.MakeNode("FmaxBackward0", {a, b});
  node.Save(b);
  node.Save(a);
  out[0] = NewPointwise(m, call.node.op, {a, b});
  node.Output(out[0]);
  node.Formula([](Backward& back) {
    for (size_t edge : {kSecond, kFirst}) {
      if (back.needs(edge)) back.result(edge, ChosenNumberGrad(back, back.saved(1), back.saved(0)));
    }
  });
}

// clamp_min and clamp_max by a tensor: the gradients of maximum and minimum.
void EnactClampBy(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &bound = call.input(1);
  NodeRef node = m.MakeNode("ClampMinBackward1", {x, bound});
  if (node) node.Save(call.inplace() ? m.NewLike("clone", *x) : x);
  node.Save(bound);
  out[0] = call.inplace() ? InPlace(m, call.node.op, x) : NewPointwise(m, call.node.op, {x, bound});
  node.Output(out[0]);
  node.Formula([](Backward& back) { GiveExtremumGrads(back, back.saved(0), back.saved(1), kSecond); });
}

// clamp by two tensors, as 2.15 runs its backward (clamp_backward_min_max and clamp_backward of FunctionsManual.cpp):
// where a bound is met the gradient is halved. Masks that are joined in place are the first of the two.
class ClampGrads {
 public:
  explicit ClampGrads(Backward& b) : b_(b), x_(b.saved(0)), low_(b.saved(1)), high_(b.saved(2)) {}

  void OfBounds(size_t low, size_t high) {
    const TensorRef below = Mask("lt"), met = Mask("eq");
    if (b_.needs(low)) {
      const TensorRef chosen = Joined({"le", "lt"});
      b_.result(low, OfBound());
    }
    if (!b_.needs(high)) return;
    const TensorRef crossed = Mask("lt"), chosen = Joined({"ge", "logical_or", "gt"});
    b_.result(high, OfBound());
  }

  TensorRef OfInput() {
    const TensorRef below = Mask("lt"), met = Joined({"eq", "eq"}), outside = Joined({"lt", "gt"});
    return Halved(b_.m.NewLike("div", *b_.grad()));
  }

 private:
  TensorRef Mask(std::string_view op) { return NewPointwise(b_.m, op, {x_, low_, high_}, DType::kBool); }
  // The mask that `parts` give, which end with it.
  TensorRef Joined(std::initializer_list<std::string_view> parts) {
    std::vector<TensorRef> live;
    for (std::string_view part : parts) live.push_back(Mask(part));
    return Mask("logical_or");
  }
  TensorRef OfBound() {
    const TensorRef rest = Mask("logical_not");
    const TensorRef half = b_.m.NewLike("div", *b_.grad());
    const TensorRef equal = Mask("eq");
    return Halved(half);
  }
  TensorRef Halved(const TensorRef& half) {
    return OverwriteUnlessObserved(b_.m, "masked_fill_", NewPointwise(b_.m, "where", {b_.grad(), half}, half->dtype));
  }

  Backward& b_;
  TensorRef x_, low_, high_;
};

// Bounds first (ClampBackward0 of Functions.cpp). Of one bound alone the gradients are those of maximum and minimum.
void ClampBetweenBackward(Backward& b) {
  constexpr size_t kLow = 1, kHigh = 2;
  if (b.saved(kLow) == nullptr || b.saved(kHigh) == nullptr) {
    const size_t bound = b.saved(kLow) == nullptr ? kHigh : kLow;
    return GiveExtremumGrads(b, b.saved(0), b.saved(bound), bound);
  }
  ClampGrads grads(b);
  if (b.needs(kLow) || b.needs(kHigh)) grads.OfBounds(kLow, kHigh);
  if (b.needs(0)) b.result(0, grads.OfInput());
}

// clamp by tensors. Inputs: x, low?, high?; all are saved.
void EnactClampBetween(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &low = call.input(1), &high = call.input(2);
  NodeRef node = m.MakeNode("ClampBackward0", {x, low, high});
  if (node) node.Save(call.inplace() ? m.NewLike("clone", *x) : x);
  node.Save(low);
  node.Save(high);
  out[0] = call.inplace() ? InPlace(m, "clamp", x) : NewPointwise(m, "clamp", {x, low, high});
  node.Output(out[0]);
  node.Formula(ClampBetweenBackward);
}

}  // namespace

std::span<const OpRow> ExtremumOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"clamp_between", EnactClampBetween},
      {"clamp_by", EnactClampBy, 2},
      {"fmax", EnactFmax, 2},
      {"maximum", EnactExtremum, 2},
      {"minimum", EnactExtremum, 2},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
