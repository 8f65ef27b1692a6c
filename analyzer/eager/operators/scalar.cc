// Arithmetic with a Python number, casts, clamps and gates: operators of one tensor whose rule is more than a row.
// A number that backward needs is wrapped into a tensor of its own (8 bytes on the device's books).
// Source: tools/autograd/derivatives.yaml.
#include <array>

#include "analyzer/eager/operators/binary.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/operators/unary.h"

namespace onnx_mem::eager {
namespace {

TensorRef ForwardScalar(Machine& m, std::string_view op, const TensorRef& x, bool in_place, DType of_integers) {
  if (in_place) return InPlace(m, op, x);
  return m.NewLike(op, *x, IsFloating(x->dtype) ? x->dtype : of_integers);
}

// x + 2, x - 2: the gradient passes through.
TensorRef ShiftScalar(Machine& m, std::string_view op, const TensorRef& x, bool in_place, DType of_integers) {
  NodeRef node = m.MakeNode("AddBackward0", {x});
  TensorRef y = ForwardScalar(m, op, x, in_place, of_integers);
  node.Output(y);
  node.Formula([](Backward& b) { b.result(0, b.grad()); });
  return y;
}

// x * 2, x / 2: one product or quotient, and the number itself is saved.
TensorRef ScaleScalar(Machine& m, std::string_view op, const TensorRef& x, bool in_place, DType of_integers) {
  NodeRef node = m.MakeNode(op == "mul" ? "MulBackward0" : "DivBackward0", {x});
  node.SaveScalar();
  TensorRef y = ForwardScalar(m, op, x, in_place, of_integers);
  node.Output(y);
  node.Formula([op](Backward& b) { b.result(0, b.m.NewLike(op, *b.grad())); });
  return y;
}

void EnactAddScalar(Machine& m, const Call& call, Outputs& out) {
  out[0] = ShiftScalar(m, "add", call.input(0), call.inplace(), call.output().dtype);
}

void EnactSubScalar(Machine& m, const Call& call, Outputs& out) {
  out[0] = ShiftScalar(m, "sub", call.input(0), call.inplace(), call.output().dtype);
}

void EnactMulScalar(Machine& m, const Call& call, Outputs& out) {
  out[0] = ScaleScalar(m, "mul", call.input(0), call.inplace(), call.output().dtype);
}

void EnactDivScalar(Machine& m, const Call& call, Outputs& out) {
  out[0] = ScaleScalar(m, "div", call.input(0), call.inplace(), call.output().dtype);
}

// 2 - x.
void EnactRsubScalar(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("RsubBackward1", {x});
  out[0] = ForwardScalar(m, "rsub", x, false, call.output().dtype);
  node.Output(out[0]);
  node.Formula([](Backward& b) { b.result(0, b.m.NewLike("neg", *b.grad())); });
}

// 2 / x is x.reciprocal() * 2 (Tensor.__rtruediv__).
void EnactRdivScalar(Machine& m, const Call& call, Outputs& out) {
  out[0] = MulScalar(m, Unary(m, "reciprocal", call.input(0)));
}

// 2 ** x.
void EnactRpowScalar(Machine& m, const Call& call, Outputs& out) {
  const TensorRef x = m.AutocastHigh(call.input(0));
  NodeRef node = m.MakeNode("PowBackward2", {x});
  node.Save(x);
  out[0] = ForwardScalar(m, "pow", x, false, call.output().dtype);
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([](Backward& b) { b.result(0, RunPointwise(b.m, {"mul", "mul"}, {b.grad(), b.saved(1)})); });
}

void EnactPowScalar(Machine& m, const Call& call, Outputs& out) {
  out[0] = PowScalar(m, call.input(0), FloatAttribute(call.node, "exponent", 2.0), call.inplace());
}

// fmod and remainder by a number pass the gradient through.
void EnactModScalar(Machine& m, const Call& call, Outputs& out) {
  out[0] = ShiftScalar(m, "remainder", call.input(0), call.inplace(), call.output().dtype);
}

// x - trunc(x) passes the gradient through too.
void EnactFrac(Machine& m, const Call& call, Outputs& out) {
  out[0] = ShiftScalar(m, "frac", call.input(0), call.inplace(), call.output().dtype);
}

void EnactCast(Machine& m, const Call& call, Outputs& out) { out[0] = ToCopy(m, call.input(0), call.output().dtype); }

void EnactClamp(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const bool two_sided = IntAttribute(call.node, "two_sided", 1) != 0;
  NodeRef node = m.MakeNode("ClampBackward1", {x});
  if (node) node.Save(call.inplace() ? m.NewLike("clone", *x) : x);
  out[0] = ForwardScalar(m, "clamp", x, call.inplace(), call.output().dtype);
  node.Output(out[0]);
  node.Formula([two_sided](Backward& b) {
    const TensorRef x = b.saved(0);
    b.result(0, two_sided ? RunPointwise(b.m, {"scalar_tensor", "gt", "lt", "where"}, {b.grad(), x})
                          : RunPointwise(b.m, {"scalar_tensor", "gt", "where"}, {b.grad(), x}));
  });
}

void EnactGlu(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("GluBackward0", {x});
  node.Save(x);
  out[0] = m.New("glu", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef x = b.saved(0);
    b.result(0, b.m.NewLike("glu_backward", *x));
  });
}

// x / (1 + |x|), as torch/nn/functional.py writes it.
void EnactSoftsign(Machine& m, const Call& call, Outputs& out) {
  const TensorRef denominator = AddScalar(m, Unary(m, "abs", call.input(0)));
  out[0] = Div(m, call.input(0), denominator);
}

}  // namespace

TensorRef AddScalar(Machine& m, const TensorRef& x, bool in_place) {
  return ShiftScalar(m, "add", x, in_place, x->dtype);
}

TensorRef MulScalar(Machine& m, const TensorRef& x, bool in_place) {
  return ScaleScalar(m, "mul", x, in_place, x->dtype);
}

TensorRef DivScalar(Machine& m, const TensorRef& x, bool in_place) {
  return ScaleScalar(m, "div", x, in_place, FloatingTypeOf(*x));
}

TensorRef PowScalar(Machine& m, const TensorRef& argument, double exponent, bool in_place) {
  const TensorRef x = in_place ? argument : m.AutocastHigh(argument);
  NodeRef node = m.MakeNode("PowBackward0", {x});
  if (node) node.Save(in_place ? m.NewLike("clone", *x) : x);
  TensorRef y = in_place ? InPlace(m, "pow", x) : m.NewLike("pow", *x, FloatingTypeOf(*x));
  node.Output(y);
  node.Formula([exponent](Backward& b) {
    const TensorRef x = b.saved(0);
    b.result(0, exponent == 0.0 ? RunPointwise(b.m, {"zeros_like"}, {b.grad()})
                                : RunPointwise(b.m, {"pow", "mul", "mul"}, {b.grad(), x}));
  });
  return y;
}

std::span<const OpRow> ScalarOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"add_scalar", EnactAddScalar},
      {"cast", EnactCast},
      {"clamp", EnactClamp},
      {"div_scalar", EnactDivScalar},
      {"fmod_scalar", EnactModScalar},
      {"frac", EnactFrac},
      {"glu", EnactGlu, 1, 1},
      {"mul_scalar", EnactMulScalar},
      {"pow_scalar", EnactPowScalar},
      {"rdiv_scalar", EnactRdivScalar},
      {"remainder_scalar", EnactModScalar},
      {"rpow_scalar", EnactRpowScalar},
      {"rsub_scalar", EnactRsubScalar},
      {"softsign", EnactSoftsign},
      {"sub_scalar", EnactSubScalar},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
