// Arithmetic of two tensors. Each operand is saved only where the other one's gradient needs it; gradients are computed
// in the alphabetical order of the arguments' names: `other` before `self`. A broadcast operand's gradient has the full
// shape first; the engine sums it. Source: tools/autograd/derivatives.yaml.
#include "analyzer/eager/operators/binary.h"

#include <array>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"

namespace onnx_mem::eager {
namespace {

constexpr size_t kSelf = 0, kOther = 1;

TensorRef Forward(Machine& m, std::string_view op, const TensorRef& a, const TensorRef& b, bool in_place) {
  return in_place ? InPlace(m, op, a) : NewPointwise(m, op, {a, b});
}

// The conjugate of a complex operand is a view that a pointwise kernel does not read: it is copied for the call
// (aten/src/ATen/ConjugateFallback.cpp).
TensorRef Conjugated(Machine& m, const TensorRef& t) { return IsComplex(t->dtype) ? m.NewLike("clone", *t) : t; }

// What an in-place operator saves of the tensor that it overwrites.
TensorRef Original(Machine& m, const TensorRef& a, bool in_place) { return in_place ? m.NewLike("clone", *a) : a; }

// -g * ((self / other) / other)
TensorRef QuotientOtherBackward(Backward& b, const TensorRef& self, const TensorRef& other) {
  const TensorRef once = NewPointwise(b.m, "div", {self, other});
  const TensorRef twice = NewPointwise(b.m, "div", {once, other});
  const TensorRef negative = b.m.NewLike("neg", *b.grad());
  return NewPointwise(b.m, "mul", {negative, Conjugated(b.m, twice)});
}

// fmod, remainder: -g * trunc(self / other) for `other`, g for `self`.
// By a number (a missing operand) only the latter.
TensorRef Modulo(Machine& m, std::string_view op, const TensorRef& a, const TensorRef& b) {
  NodeRef node = m.MakeNode("RemainderBackward1", {a, b});
  node.Save(node.needs(kOther) ? b : nullptr);
  node.Save(node.needs(kOther) ? a : nullptr);
  TensorRef y = NewPointwise(m, op, {a, b});
  node.Output(y);
  node.Formula([](Backward& back) {
    if (back.needs(kOther)) {
      const TensorRef other = back.saved(0), self = back.saved(1);
      back.result(kOther, RunPointwise(back.m, {"div", "neg", "mul"}, {back.grad(), self, other}));
    }
    back.result(kSelf, back.grad());
  });
  return y;
}

void PowExponentBackward(Backward& b, const TensorRef& exponent, const TensorRef& result, const TensorRef& self) {
  const TensorRef condition = RunPointwise(b.m, {"ge", "eq", "logical_and"}, {exponent, self});
  b.result(kOther, RunPointwise(b.m, {"log", "mul", "scalar_tensor", "where", "mul"}, {b.grad(), self, result}));
}

void PowSelfBackward(Backward& b, const TensorRef& exponent, const TensorRef& self) {
  const TensorRef less = b.m.NewLike("sub", *exponent);
  const TensorRef power = NewPointwise(b.m, "pow", {self, less});
  const TensorRef scaled = NewPointwise(b.m, "mul", {exponent, power});
  const TensorRef product = NewPointwise(b.m, "mul", {b.grad(), scaled});
  const TensorRef zero = b.m.New("scalar_tensor", Dims{}, product->dtype);
  const TensorRef condition = b.m.NewLike("eq", *exponent, DType::kBool);
  b.result(kSelf, NewPointwise(b.m, "where", {condition, zero, product}, product->dtype));
}

TensorRef Pow(Machine& m, const TensorRef& base, const TensorRef& power) {
  const TensorRef self = m.AutocastHigh(base), exponent = m.AutocastHigh(power);
  NodeRef node = m.MakeNode("PowBackward1", {self, exponent});
  node.Save(exponent);
  node.Save(self);
  TensorRef y = NewPointwise(m, "pow", {self, exponent});
  node.Save(y);
  node.Output(y);
  node.Formula([](Backward& b) {
    const TensorRef exponent = b.saved(0), self = b.saved(1), result = b.saved(2);
    if (b.needs(kOther)) PowExponentBackward(b, exponent, result, self);
    if (b.needs(kSelf)) PowSelfBackward(b, exponent, self);
  });
  return y;
}

// recip = 1 / (self² + other²), masked where the sum is 0; then one product chain each.
void Atan2Backward(Backward& b) {
  const TensorRef other = b.saved(0), self = b.saved(1);
  const TensorRef sum = RunPointwise(b.m, {"mul", "mul", "add"}, {self, other});
  TensorRef masked;
  {
    const TensorRef reciprocal = b.m.NewLike("reciprocal", *sum);
    const TensorRef zero = b.m.NewLike("eq", *sum, DType::kBool);
    masked = b.m.NewLike("masked_fill", *sum);
  }
  const TensorRef self_factor = NewPointwise(b.m, "mul", {other, masked});
  if (b.needs(kSelf)) b.result(kSelf, NewPointwise(b.m, "mul", {b.grad(), self_factor}));
  if (b.needs(kOther)) b.result(kOther, RunPointwise(b.m, {"neg", "mul", "mul"}, {b.grad(), self, masked}));
}

TensorRef Atan2(Machine& m, const TensorRef& a, const TensorRef& b) {
  NodeRef node = m.MakeNode("Atan2Backward0", {a, b});
  node.Save(b);
  node.Save(a);
  TensorRef y = NewPointwise(m, "atan2", {a, b});
  node.Output(y);
  node.Formula(Atan2Backward);
  return y;
}

// log(exp(a) + exp(b)), or of powers of 2: the gradient over 1 + exp of the difference, for either side.
void EnactLogAddExp(Machine& m, const Call& call, Outputs& out) {
  NodeRef node = m.MakeNode("LogaddexpBackward0", {call.input(0), call.input(1)});
  node.Save(call.input(1));
  node.Save(call.input(0));
  out[0] = NewPointwise(m, "logaddexp", {call.input(0), call.input(1)});
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    for (size_t edge : {kOther, kSelf}) {
      if (b.needs(edge))
        b.result(edge, RunPointwise(b.m, {"sub", "exp", "add", "div"}, {b.grad(), b.saved(0), b.saved(1)}));
    }
  });
}

// div with a rounding mode has a gradient of zeros.
TensorRef FloorDivide(Machine& m, const TensorRef& a, const TensorRef& b) {
  NodeRef node = m.MakeNode("DivBackward2", {a, b});
  node.Save(node.needs(kSelf) || node.needs(kOther) ? b : nullptr);
  node.Save(node.needs(kOther) ? a : nullptr);
  TensorRef y = NewPointwise(m, "div", {a, b});
  node.Output(y);
  node.Formula([](Backward& back) {
    for (size_t edge : {kOther, kSelf}) {
      if (back.needs(edge)) back.result(edge, back.m.NewLike("zeros_like", *back.grad()));
    }
  });
  return y;
}

void EnactAdd(Machine& m, const Call& call, Outputs& out) {
  out[0] = Add(m, call.input(0), call.input(1), call.inplace());
}
void EnactSub(Machine& m, const Call& call, Outputs& out) {
  out[0] = Sub(m, call.input(0), call.input(1), call.inplace());
}
void EnactMul(Machine& m, const Call& call, Outputs& out) {
  out[0] = Mul(m, call.input(0), call.input(1), call.inplace());
}
void EnactDiv(Machine& m, const Call& call, Outputs& out) {
  out[0] = Div(m, call.input(0), call.input(1), call.inplace());
}
void EnactPow(Machine& m, const Call& call, Outputs& out) { out[0] = Pow(m, call.input(0), call.input(1)); }
void EnactAtan2(Machine& m, const Call& call, Outputs& out) { out[0] = Atan2(m, call.input(0), call.input(1)); }
void EnactFloorDivide(Machine& m, const Call& call, Outputs& out) {
  out[0] = FloorDivide(m, call.input(0), call.input(1));
}
void EnactModulo(Machine& m, const Call& call, Outputs& out) {
  out[0] = Modulo(m, call.node.op, call.input(0), call.input(1));
}

// self + value * tensor1 * tensor2.
void EnactAddcmul(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &self = call.input(0), &first = call.input(1), &second = call.input(2);
  NodeRef node = m.MakeNode("AddcmulBackward0", {self, first, second});
  node.Save(node.needs(2) ? first : nullptr);
  node.Save(node.needs(1) ? second : nullptr);
  out[0] = call.inplace() ? InPlace(m, "addcmul", self) : NewPointwise(m, "addcmul", {self, first, second});
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    b.result(0, b.grad());
    for (const size_t edge : {size_t{1}, size_t{2}}) {
      if (!b.needs(edge)) continue;
      const TensorRef scaled = b.m.NewLike("mul", *b.saved(2 - edge));
      b.result(edge, NewPointwise(b.m, "mul", {b.grad(), scaled}));
    }
  });
}

// self + value * tensor1 / tensor2.
void EnactAddcdiv(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &self = call.input(0), &first = call.input(1), &second = call.input(2);
  NodeRef node = m.MakeNode("AddcdivBackward0", {self, first, second});
  node.Save(node.needs(2) ? first : nullptr);
  node.Save(node.needs(1) || node.needs(2) ? second : nullptr);
  out[0] = call.inplace() ? InPlace(m, "addcdiv", self) : NewPointwise(m, "addcdiv", {self, first, second});
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    b.result(0, b.grad());
    if (b.needs(1)) b.result(1, NewPointwise(b.m, "mul", {b.grad(), b.m.NewLike("reciprocal", *b.saved(1))}));
    if (!b.needs(2)) return;
    const TensorRef square = b.m.NewLike("mul", *b.saved(1)), scaled = b.m.NewLike("mul", *b.saved(0));
    const TensorRef quotient = NewPointwise(b.m, "div", {scaled, square});
    const TensorRef negative = b.m.NewLike("neg", *b.grad());
    b.result(2, NewPointwise(b.m, "mul", {negative, quotient}));
  });
}

// Comparisons and logic: a mask without gradient. A missing operand was a Python number.
void EnactCompare(Machine& m, const Call& call, Outputs& out) {
  out[0] = NewPointwise(m, call.node.op, {call.input(0), call.input(1)}, DType::kBool);
}
void EnactBitwise(Machine& m, const Call& call, Outputs& out) {
  out[0] = NewPointwise(m, call.node.op, {call.input(0), call.input(1)});
}

}  // namespace

TensorRef Add(Machine& m, const TensorRef& a, const TensorRef& b, bool in_place) {
  NodeRef node = m.MakeNode("AddBackward0", {a, b});
  TensorRef y = Forward(m, "add", a, b, in_place);
  node.Output(y);
  node.Formula([](Backward& back) {
    back.result(kOther, back.grad());
    back.result(kSelf, back.grad());
  });
  return y;
}

TensorRef Sub(Machine& m, const TensorRef& a, const TensorRef& b, bool in_place) {
  NodeRef node = m.MakeNode("SubBackward0", {a, b});
  TensorRef y = Forward(m, "sub", a, b, in_place);
  node.Output(y);
  node.Formula([](Backward& back) {
    if (back.needs(kOther)) back.result(kOther, back.m.NewLike("neg", *back.grad()));
    back.result(kSelf, back.grad());
  });
  return y;
}

TensorRef Mul(Machine& m, const TensorRef& a, const TensorRef& b, bool in_place) {
  NodeRef node = m.MakeNode("MulBackward0", {a, b});
  node.Save(node.needs(kSelf) ? b : nullptr);
  node.Save(node.needs(kOther) ? Original(m, a, in_place) : nullptr);
  TensorRef y = Forward(m, "mul", a, b, in_place);
  node.Output(y);
  node.Formula([](Backward& back) {
    for (const size_t edge : {kOther, kSelf}) {
      if (!back.needs(edge)) continue;
      back.result(edge, NewPointwise(back.m, "mul", {back.grad(), Conjugated(back.m, back.saved(edge))}));
    }
  });
  return y;
}

TensorRef Div(Machine& m, const TensorRef& a, const TensorRef& b, bool in_place) {
  NodeRef node = m.MakeNode("DivBackward0", {a, b});
  node.Save(b);
  node.Save(node.needs(kOther) ? Original(m, a, in_place) : nullptr);
  TensorRef y = in_place ? InPlace(m, "div", a)
                         : NewPointwise(m, "div", {a, b},
                                        IsDifferentiable(ResultType({a, b})) ? ResultType({a, b}) : DType::kFloat32);
  node.Output(y);
  node.Formula([](Backward& back) {
    const TensorRef other = back.saved(0);
    if (back.needs(kOther)) back.result(kOther, QuotientOtherBackward(back, back.saved(1), other));
    if (back.needs(kSelf)) back.result(kSelf, NewPointwise(back.m, "div", {back.grad(), Conjugated(back.m, other)}));
  });
  return y;
}

std::span<const OpRow> BinaryOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"add", EnactAdd, 2},
      {"addcdiv", EnactAddcdiv, 3},
      {"addcmul", EnactAddcmul, 3},
      {"atan2", EnactAtan2},
      {"bitwise", EnactBitwise},
      {"compare", EnactCompare},
      {"div", EnactDiv, 2},
      {"floor_divide", EnactFloorDivide, 2},
      {"fmod", EnactModulo},
      {"logaddexp", EnactLogAddExp, 2},
      {"logical", EnactCompare},
      {"mul", EnactMul, 2},
      {"pow", EnactPow, 2},
      {"remainder", EnactModulo},
      {"sub", EnactSub, 2},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
