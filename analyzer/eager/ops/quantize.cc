// Quantisation. fake_quantize gives the rounded values and a mask of one byte per element, which its backward applies;
// quantize and dequantize between integers and floats have no gradient.
// Source: tools/autograd/derivatives.yaml (fake_quantize_per_tensor_affine_cachemask).
#include <array>

#include "analyzer/eager/ops/families.h"
#include "analyzer/eager/ops/pointwise.h"

namespace onnx_mem::eager {
namespace {

void EnactFakeQuantize(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("FakeQuantizePerTensorAffineCachemaskBackward0", {x});
  out[0] = m.NewLike("fake_quantize", *x);
  node.Save(m.Allocate(x->dims, DType::kBool, out[0]->strides));
  node.Output(out[0]);
  node.Formula([](Backward& b) { b.result(0, RunPointwise(b.m, {"mul"}, {b.grad(), b.saved(0)})); });
}

void EnactConvert(Machine& m, const Call& call, Outputs& out) {
  out[0] = m.NewLike(call.node.op, *call.input(0), call.output().dtype);
}

}  // namespace

std::span<const OpRow> QuantizeOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"dequantize", EnactConvert},
      {"fake_quantize", EnactFakeQuantize},
      {"quantize", EnactConvert},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
