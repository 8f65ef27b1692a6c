// Quantisation. fake_quantize gives the rounded values and a mask of one byte per element, which its backward applies;
// quantize and dequantize between integers and floats have no gradient.
// Source: tools/autograd/derivatives.yaml (fake_quantize_per_tensor_affine_cachemask).
#include <array>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"

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

// A product with a weight that is stored in blocks of a few bits (bitsandbytes/autograd/_functions.py, MatMul4Bit): the
// weight is unpacked for each product, in backward again; what is saved is the packed one. It is not trained.
void EnactPackedLinear(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const int64_t features = IntAttribute(call.node, "features", 1), depth = IntAttribute(call.node, "depth", 1);
  const int64_t flops = Saturated({2, NumElements(call.output_dims()), depth});
  const Dims weight{features, depth};
  NodeRef node = m.MakeNode("MatMul4BitBackward", {x});
  node.Save(node.needs(0) ? call.input(1) : nullptr);
  {
    const TensorRef unpacked = m.New("dequantize", weight, x->dtype);
    out[0] = m.New("mm", call.output_dims(), x->dtype, flops);
  }
  node.Output(out[0]);
  node.Formula([weight, flops, dims = x->dims](Backward& b) {
    const TensorRef unpacked = b.m.New("dequantize", weight, b.grad()->dtype);
    if (b.needs(0)) b.result(0, b.m.New("mm", dims, b.grad()->dtype, flops));
  });
}

}  // namespace

std::span<const OpRow> QuantizeOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"dequantize", EnactConvert},
      {"fake_quantize", EnactFakeQuantize},
      {"packed_linear", EnactPackedLinear},
      {"quantize", EnactConvert},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
