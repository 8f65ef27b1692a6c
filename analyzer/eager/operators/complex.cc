// Operators on complex tensors, as a record has them: transforms, and what joins and takes apart real numbers. (What an
// ONNX file has, pairs of real numbers, is in spectral.cc.)
//
//   rfft2 of f32 [2,16,32,32]   forward  _fft_r2c c64 [2,16,32,17]
//                               backward zeros c64 [2,16,32,32], _fft_c2c of the same size, its real part: a view
//
// What a transform needs inside is not here, as no kernel's workspace is: cuFFT's plans, and copies of inputs that are
// strided as cuFFT does not read them, or that it would overwrite. Sources: torch/csrc/autograd/FunctionsManual.cpp
// (fft_r2c_backward, fft_c2r_backward, polar_backward, angle_backward), tools/autograd/derivatives.yaml,
// aten/src/ATen/native/cuda/SpectralOps.cpp (_exec_fft, _fft_c2c_cufft).
#include <algorithm>
#include <array>
#include <vector>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/views/views.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem::eager {
namespace {

using Axes = std::vector<int64_t>;

// Of the result, whose transformed axes come last in memory, in their order; before them the others, in the order of
// x's memory.
Dims StridesAfter(const EagerTensor& x, const Dims& dims, const Axes& transformed) {
  const auto size_at = [&](int64_t axis) { return dims[static_cast<size_t>(axis)]; };
  const auto stride_at = [&](int64_t axis) { return x.strides[static_cast<size_t>(axis)]; };
  Axes order;
  for (int64_t axis = 0; axis < static_cast<int64_t>(dims.size()); ++axis) {
    if (std::find(transformed.begin(), transformed.end(), axis) == transformed.end()) order.push_back(axis);
  }
  StableSort(order, [&](int64_t a, int64_t b) { return stride_at(a) > stride_at(b); });
  order.insert(order.end(), transformed.begin(), transformed.end());
  Dims strides(dims.size());
  int64_t stride = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    strides[static_cast<size_t>(*axis)] = stride;
    stride *= std::max<int64_t>(size_at(*axis), 1);
  }
  return strides;
}

// cuFFT takes three dimensions at most: the last three in memory first, then the others.
TensorRef TransformComplex(Machine& m, const TensorRef& x, Axes axes) {
  constexpr size_t kMost = 3;
  EagerTensor working;
  working.strides = x->strides;
  while (!axes.empty()) {
    StableSort(axes, [&](int64_t a, int64_t b) {
      return working.strides[static_cast<size_t>(a)] > working.strides[static_cast<size_t>(b)];
    });
    const Axes last(axes.end() - static_cast<int64_t>(std::min(kMost, axes.size())), axes.end());
    working.strides = StridesAfter(working, x->dims, last);
    axes.resize(axes.size() - last.size());
  }
  return m.New("_fft_c2c", x->dims, x->dtype, working.strides);
}

void EnactTransform(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const Axes axes = IntsAttribute(call.node, "axes");
  NodeRef node = m.MakeNode("FftC2CBackward0", {x});
  out[0] = TransformComplex(m, x, axes);
  node.Output(out[0]);
  node.Formula([axes](Backward& b) { b.result(0, TransformComplex(b.m, b.grad(), axes)); });
}

// {axes, half: the result holds the non-negative frequencies only}. Saves x, though only a size is needed.
void EnactOfReal(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const Axes axes = IntsAttribute(call.node, "axes");
  const bool half = IntAttribute(call.node, "half", 0) != 0;
  NodeRef node = m.MakeNode("FftR2CBackward0", {x});
  node.Save(x);
  out[0] = m.New("_fft_r2c", call.output_dims(), call.output().dtype, StridesAfter(*x, call.output_dims(), axes));
  node.Output(out[0]);
  node.Formula([axes, full = x->dims, half](Backward& b) {
    const TensorRef spectrum = half ? b.m.New("new_zeros", full, b.grad()->dtype) : b.grad();
    b.result(0, RealPart(b.m, TransformComplex(b.m, spectrum, axes)));
  });
}

// The frequencies that the half spectrum stands for twice are doubled in place.
void EnactToReal(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const Axes axes = IntsAttribute(call.node, "axes");
  NodeRef node = m.MakeNode("FftC2RBackward0", {x});
  out[0] = m.New("_fft_c2r", call.output_dims(), call.output().dtype, StridesAfter(*x, call.output_dims(), axes));
  node.Output(out[0]);
  node.Formula([axes, dims = x->dims](Backward& b) {
    const TensorRef& g = b.grad();
    const TensorRef spectrum = b.m.New("_fft_r2c", dims, ComplexTypeOf(g->dtype), StridesAfter(*g, dims, axes));
    b.m.BeginStep("mul_");
    b.result(0, spectrum);
  });
}

// torch.complex(real, imaginary): the gradients are views of one complex tensor. Both are saved, though only their
// types are needed.
void EnactComplex(Machine& m, const Call& call, Outputs& out) {
  NodeRef node = m.MakeNode("ComplexBackward0", {call.input(0), call.input(1)});
  for (size_t i : {1, 0}) node.Save(node.needs(i) ? call.input(i) : nullptr);
  out[0] = NewPointwise(m, "complex", {call.input(0), call.input(1)}, ComplexTypeOf(call.input(0)->dtype));
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    for (const size_t edge : {size_t{0}, size_t{1}}) {
      if (b.needs(edge)) b.result(edge, RealPart(b.m, b.grad()));
    }
  });
}

// The real part of the conjugate of `grad`, which is copied for the product, times `factor`.
TensorRef RealOfProduct(Backward& b, const TensorRef& factor) {
  const TensorRef conjugate = b.m.NewLike("clone", *b.grad());
  return RealPart(b.m, NewPointwise(b.m, "mul", {conjugate, factor}));
}

void EnactPolar(Machine& m, const Call& call, Outputs& out) {
  NodeRef node = m.MakeNode("PolarBackward0", {call.input(0), call.input(1)});
  out[0] = NewPointwise(m, "polar", {call.input(0), call.input(1)}, ComplexTypeOf(call.input(0)->dtype));
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef y = b.saved(0);
    b.result(0, RealOfProduct(b, b.m.NewLike("sgn", *y)));
    const TensorRef turned = b.m.NewLike("mul", *y);
    b.result(1, RealOfProduct(b, turned));
  });
}

// |z|: the gradient times sgn(z).
void EnactAbsolute(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("AbsBackward0", {x});
  node.Save(x);
  out[0] = m.NewLike("abs", *x, RealTypeOf(x->dtype));
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef x = b.saved(0);
    b.result(0, NewPointwise(b.m, "mul", {b.grad(), b.m.NewLike("sgn", *x)}));
  });
}

bool TransformsAxes(const CallShape& call) {
  return call.output_rank() == call.rank(0) && call.AxesWithin("axes", call.rank(0)) &&
         !IntsAttribute(call.node, "axes").empty();
}

}  // namespace

std::span<const OpRow> ComplexOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"abs_of_complex", EnactAbsolute},
      {"complex", EnactComplex, 2},
      {"complex_to_complex", EnactTransform, 1, 1, TransformsAxes},
      {"complex_to_real", EnactToReal, 1, 1, TransformsAxes},
      {"polar", EnactPolar, 2},
      {"real_to_complex", EnactOfReal, 1, 1, TransformsAxes},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
