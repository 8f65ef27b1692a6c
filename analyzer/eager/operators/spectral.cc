// Fourier transforms. A complex tensor is written as a real one with a last dimension of 2: the same bytes, and the
// same view as torch.view_as_real gives. A transform of real numbers saves them, though only a size is needed. The
// gradient of a real input is the real part of a complex tensor: a view, which keeps all of it.
//
//   rfft of [2, 128, 64]   forward _fft_r2c [2, 128, 33, 2]
//                          backward zeros of the full spectrum [2, 128, 64, 2], _fft_c2c of the same size, its real
//                          part
//
// Sources: torch/csrc/autograd/FunctionsManual.cpp (fft_r2c_backward, fft_c2r_backward, handle_r_to_c,
// as_strided_backward, sgn), aten/src/ATen/native/SpectralOps.cpp (stft).
#include <array>

#include "analyzer/eager/operators/binary.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

Dims ComplexDims(const Dims& real) {
  Dims dims = real;
  dims.push_back(2);
  return dims;
}

// at::real(complex).
TensorRef RealOfPairs(Machine& m, const TensorRef& complex) {
  Dims dims = complex->dims, strides = complex->strides;
  dims.pop_back();
  strides.pop_back();
  return m.Alias(complex, dims, strides);
}

// `half`: the result holds the non-negative frequencies only.
TensorRef RealToComplex(Machine& m, const TensorRef& x, const Dims& dims, bool half) {
  NodeRef node = m.MakeNode("FftR2CBackward0", {x});
  node.Save(x);
  TensorRef y = m.New("_fft_r2c", dims, x->dtype);
  node.Output(y);
  node.Formula([full = ComplexDims(x->dims), half](Backward& b) {
    const DType dtype = b.grad()->dtype;
    const TensorRef padded = half ? b.m.New("new_zeros", full, dtype) : nullptr;
    b.result(0, RealOfPairs(b.m, b.m.New("_fft_c2c", full, dtype)));
  });
  return y;
}

void EnactRealToComplex(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  out[0] = RealToComplex(m, x, call.output_dims(), ComplexDims(x->dims) != call.output_dims());
}

void EnactComplexToComplex(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("FftC2CBackward0", {x});
  out[0] = m.New("_fft_c2c", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) { b.result(0, b.m.New("_fft_c2c", dims, b.grad()->dtype)); });
}

// The frequencies that the half spectrum stands for twice are doubled in place.
void EnactComplexToReal(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("FftC2RBackward0", {x});
  out[0] = m.New("_fft_c2r", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) {
    const TensorRef spectrum = b.m.New("_fft_r2c", dims, b.grad()->dtype);
    b.m.BeginStep("mul_");
    b.result(0, spectrum);
  });
}

// x.to(complex): what torch.fft.fft2 and its like do with a real tensor first.
void EnactToComplex(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("ToCopyBackward0", {x});
  out[0] = m.New("_to_copy", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([](Backward& b) { b.result(0, RealOfPairs(b.m, b.grad())); });
}

// |z|: sgn(z) and a product, both complex.
void EnactComplexAbs(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("AbsBackward0", {x});
  node.Save(x);
  Dims strides = RealOfPairs(m, x)->strides;
  for (int64_t& stride : strides) stride /= 2;
  out[0] = m.New("abs", call.output_dims(), x->dtype, strides);
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef x = b.saved(0);
    const TensorRef sign = b.m.NewLike("sgn", *x);
    b.result(0, b.m.NewLike("mul", *x));
  });
}

// The conjugates of the operands are made for the products of backward, one after the other.
void EnactComplexMul(Machine& m, const Call& call, Outputs& out) {
  constexpr size_t kSelf = 0, kOther = 1;
  const TensorRef &a = call.input(0), &b = call.input(1);
  NodeRef node = m.MakeNode("MulBackward0", {a, b});
  node.Save(node.needs(kSelf) ? b : nullptr);
  node.Save(node.needs(kOther) ? a : nullptr);
  out[0] = NewPointwise(m, "mul", {a, b});
  node.Output(out[0]);
  node.Formula([](Backward& back) {
    for (size_t edge : {kOther, kSelf}) {
      if (!back.needs(edge)) continue;
      const TensorRef conjugate = back.m.NewLike("clone", *back.saved(edge));
      back.result(edge, NewPointwise(back.m, "mul", {back.grad(), conjugate}));
    }
  });
}

// torch.stft of [batch, samples]: overlapping frames are a view; the window is multiplied in; then one transform.
// Backward adds the frames' gradients up at the samples' indices, which are laid out for it.
TensorRef Frames(Machine& m, const TensorRef& x, int64_t count, int64_t size, int64_t hop) {
  NodeRef node = m.MakeNode("AsStridedBackward0", {x});
  TensorRef frames = m.Alias(x, Dims{x->dims[0], count, size}, Dims{x->strides[0], hop * x->strides[1], x->strides[1]});
  node.Output(frames);
  node.Formula([dims = x->dims, overlap = hop < size](Backward& b) {
    const TensorRef& g = b.grad();
    const TensorRef samples = b.m.New("new_zeros", Dims{NumElements(dims)}, g->dtype);
    if (overlap) {
      const TensorRef positions = b.m.New("arange", Dims{NumElements(dims)}, DType::kInt64);
      const TensorRef indices = b.m.New("clone", g->dims, DType::kInt64);
      b.m.BeginStep("index_add_");
    }
    b.result(0, b.m.Alias(samples, dims, ContiguousStrides(dims)));
  });
  return frames;
}

// Inputs: signal [batch, samples], window or null. Output [batch, frames, frequencies, 2].
void EnactStft(Machine& m, const Call& call, Outputs& out) {
  const Dims& dims = call.output_dims();
  const int64_t size = IntAttribute(call.node, "frame", 2 * (dims[2] - 1));
  TensorRef frames = Frames(m, call.input(0), dims[1], size, IntAttribute(call.node, "hop", 1));
  if (call.input(1) != nullptr) frames = Mul(m, frames, call.input(1));
  out[0] = RealToComplex(m, frames, dims, dims[2] != size);
}

}  // namespace

namespace {

bool GivesFrames(const CallShape& call) { return call.rank(0) == 2 && call.output_rank() == 4; }
bool GivesPairs(const CallShape& call) { return call.output_rank() >= 1; }

}  // namespace

std::span<const OpRow> SpectralOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"complex_abs", EnactComplexAbs, 1, 1},
      {"complex_mul", EnactComplexMul, 2, 1},
      {"fft_c2c", EnactComplexToComplex, 1, 2},
      {"fft_c2r", EnactComplexToReal, 1, 2},
      {"fft_r2c", EnactRealToComplex, 1, 1},
      {"stft", EnactStft, 1, 2, GivesFrames},
      {"to_complex", EnactToComplex, 1, 0, GivesPairs},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
