#include <vector>

#include "analyzer/record/aten/call.h"
#include "analyzer/record/aten/readers.h"

namespace onnx_mem::record {

// --- arguments in their order

void Factory(AtenCall& c) {
  if (!c.result_strides.empty()) c.node.attributes["strides"] = c.result_strides;
}
// empty_like(x), x.new_zeros(...): of the type of x, which is another one under autocast.
void FactoryLike(AtenCall& c) {
  Factory(c);
  if (!c.IsTensor(0) || c.graph.tensors[c.Tensor(0)].dtype != c.result().dtype) return;
  c.TakeInputs({0});
  c.node.attributes["like_input"] = int64_t{1};
}
void One(AtenCall& c) { c.TakeInputs({0}); }
void Second(AtenCall& c) { c.TakeInputs({1}); }
void Two(AtenCall& c) { c.TakeInputs({0, 1}); }
void Three(AtenCall& c) { c.TakeInputs({0, 1, 2}); }
void Four(AtenCall& c) { c.TakeInputs({0, 1, 2, 3}); }
void Five(AtenCall& c) { c.TakeInputs({0, 1, 2, 3, 4}); }

// %5 = div.out %3 %4 out=%5: the kernel writes into %5, as copy_ would, and autograd has no part in it.
void IntoOut(AtenCall& c) {
  const TensorId out = c.Tensor(c.num_arguments(), "out");
  const TensorId source = c.Tensor(0);
  c.node.inputs = {out, source.valid() ? source : out};
}

// --- arithmetic

// A number in the place of the second operand: another operator, with one input.
void Arithmetic(AtenCall& c) {
  const bool by_tensor = c.IsTensor(1);
  if (by_tensor && !c.IsTensor(0)) {
    c.TakeInputs({1});
  } else if (by_tensor) {
    c.TakeInputs({0, 1});
  } else {
    c.TakeInputs({0});
  }
  if (c.node.inputs.size() < 2) c.node.op = c.node.op.str() + "_scalar";
  if (c.Has(c.num_arguments(), "alpha")) c.node.attributes["alpha"] = c.Float(c.num_arguments(), "alpha", 1.0);
}

void DivideByMode(AtenCall& c) {
  if (c.Text(c.num_arguments(), "rounding_mode").empty()) {
    c.node.op = "div";
    return Arithmetic(c);
  }
  c.TakeInputs({0, 1});
  if (!c.IsTensor(1)) c.node.op = "zeros_like";  // the gradient of a rounded quotient is zero
}

void ReversedSubtract(AtenCall& c) {
  if (!c.IsTensor(1)) {
    c.TakeInputs({0});
    return;
  }
  c.node.op = "sub";
  c.TakeInputs({1, 0});
}

void PowerByNumber(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["exponent"] = c.Float(1, "exponent", 2.0);
}
void PowerOfNumber(AtenCall& c) { c.TakeInputs({1}); }

void Clamp(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["two_sided"] = int64_t{c.Has(1, "min") && c.Has(2, "max")};
}
void ClampOneSide(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["two_sided"] = int64_t{0};
}

void Lerp(AtenCall& c) {
  c.TakeInputs({0, 1});
  if (c.IsTensor(2)) c.TakeInputs({2});
}

void MaskedFill(AtenCall& c) { c.TakeInputs({0, 1}); }

// --- reductions

void AllAxes(AtenCall& c) { c.TakeInputs({0}); }
void Axes(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["axes"] = c.Ints(1, "dim");
}
// (x, k, dim, keepdim).
void AxesBehindNumber(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["axes"] = c.Ints(2, "dim");
}
void VectorNorm(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["p"] = c.Float(1, "ord", 2.0);
  c.node.attributes["axes"] = c.Ints(2, "dim");
}

// --- complex numbers

// _fft_r2c(x, dim, normalization, onesided) and its like.
void Transform(AtenCall& c) {
  c.TakeInputs({0});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  std::vector<int64_t> axes = c.Ints(1, "dim");
  for (int64_t& axis : axes) axis = c.Axis(axis, rank);
  c.node.attributes["axes"] = axes;
}
void TransformOfReal(AtenCall& c) {
  Transform(c);
  c.node.attributes["half"] = int64_t{c.Flag(3, "onesided", true)};
}

void Absolute(AtenCall& c) {
  c.TakeInputs({0});
  if (c.IsTensor(0) && IsComplex(c.graph.tensors[c.Tensor(0)].dtype)) c.node.op = "abs_of_complex";
}

}  // namespace onnx_mem::record
