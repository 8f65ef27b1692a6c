// Views between complex numbers and pairs of real ones, and conjugates, which are views too.
// Sources: aten/src/ATen/native/ComplexHelper.h (view_as_real, view_as_complex), UnaryOps.cpp (conj),
// tools/autograd/derivatives.yaml.
#include <array>

#include "analyzer/eager/engine/copy_slices.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

// [.., 2] of `t`, a complex tensor.
TensorRef AsPairs(Machine& m, const TensorRef& t) {
  Dims dims = t->dims, strides = t->strides;
  for (int64_t& stride : strides) stride *= 2;
  dims.push_back(2);
  strides.push_back(1);
  TensorRef pairs = m.Alias(t, dims, strides);
  pairs->dtype = RealTypeOf(t->dtype);
  return pairs;
}

// Of `t` [.., 2], a real tensor.
TensorRef AsComplex(Machine& m, const TensorRef& t) {
  Dims dims = t->dims, strides = t->strides;
  dims.pop_back();
  strides.pop_back();
  for (int64_t& stride : strides) stride /= 2;
  TensorRef complex = m.Alias(t, dims, strides);
  complex->dtype = ComplexTypeOf(t->dtype);
  return complex;
}

TensorRef Conjugate(Machine& m, const TensorRef& t) { return m.Alias(t, t->dims, t->strides); }

// The view `there` makes of the input, whose gradient is the view that `back` makes.
using MakeView = TensorRef (*)(Machine& m, const TensorRef& t);
void EnactView(Machine& m, const Call& call, Outputs& out, std::string_view name, MakeView there, MakeView back) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode(name, {x});
  out[0] = there(m, x);
  KnowAsView(m, x, out[0]);
  node.Output(out[0]);
  node.Formula([back](Backward& b) { b.result(0, back(b.m, b.grad())); });
}

void EnactViewAsReal(Machine& m, const Call& call, Outputs& out) {
  EnactView(m, call, out, "ViewAsRealBackward0", AsPairs,
            [](Machine& n, const TensorRef& grad) { return AsComplex(n, Contiguous(n, grad)); });
}

void EnactViewAsComplex(Machine& m, const Call& call, Outputs& out) {
  EnactView(m, call, out, "ViewAsComplexBackward0", AsComplex,
            [](Machine& n, const TensorRef& grad) { return AsPairs(n, Contiguous(n, grad)); });
}

void EnactConjugate(Machine& m, const Call& call, Outputs& out) {
  EnactView(m, call, out, "ConjBackward0", Conjugate, Conjugate);
}

bool HoldsPairs(const CallShape& call) { return !call.inputs.empty() && call.inputs[0]->back() == 2; }

}  // namespace

TensorRef RealPart(Machine& m, const TensorRef& t) {
  if (!IsComplex(t->dtype)) return t;
  const TensorRef pairs = AsPairs(m, t);
  Dims strides = pairs->strides;
  strides.pop_back();
  TensorRef real = m.Alias(pairs, t->dims, strides);
  real->dtype = pairs->dtype;
  return real;
}

std::span<const OpRow> ComplexViewOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"conj", EnactConjugate},
      {"view_as_complex", EnactViewAsComplex, 1, 1, HoldsPairs},
      {"view_as_real", EnactViewAsReal},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
