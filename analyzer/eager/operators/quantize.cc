// Quantisation. fake_quantize gives the rounded values and a mask of one byte per element, which its backward applies;
// quantize and dequantize between integers and floats have no gradient.
// Source: tools/autograd/derivatives.yaml (fake_quantize_per_tensor_affine_cachemask).
#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/eager/engine/without_grad.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/matmul.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/views/views.h"

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

// Linear layers of bitsandbytes. Sources: bitsandbytes/autograd/_functions.py (MatMul4Bit, MatMul8bitLt),
// backends/default/ops.py, backends/cuda/ops.py. The weight is not trained.

// What the two have in common.
struct PackedLayer {
  explicit PackedLayer(const Call& call)
      : weight{IntAttribute(call.node, "features", 1), IntAttribute(call.node, "depth", 1)},
        scales(IntAttribute(call.node, "packed_scales", 0)),
        half(IntAttribute(call.node, "half", 0) != 0),
        unpacks(IntAttribute(call.node, "unpacks", 0) != 0),
        flops(Saturated({2, NumElements(call.output_dims()), weight[1]})) {}

  Dims weight;     // [out, in]
  int64_t scales;  // that are packed themselves
  bool half;       // what is packed was float16
  bool unpacks;    // as versions before 0.50.0 do
  int64_t flops;
};

// nn/modules.py, Linear4bit.forward: in the layer's own type, and back.
TensorRef InComputeType(Machine& m, const TensorRef& x) { return m.autocast() ? m.AutocastLow(x) : x; }

TensorRef UnpackedScales(Machine& m, const PackedLayer& layer) {
  return layer.scales > 0 ? m.New("dequantize_blockwise", Dims{layer.scales}, DType::kFloat32) : nullptr;
}

// F.dequantize_4bit(B, quant_state).to(A.dtype).
TensorRef UnpackedWeight(Machine& m, const PackedLayer& layer, DType dtype) {
  return ToCopy(m, m.New("dequantize_4bit", layer.weight, layer.half ? DType::kFloat16 : dtype), dtype);
}

// A few rows are multiplied by a kernel that unpacks as it reads, on every card; before 0.50.0 (bitsandbytes#1949) one
// row alone, which wants no gradient (matmul_4bit).
constexpr int64_t kFewRows = 4;  // _GEMM_4BIT_CUSTOM_FLOOR_M

bool UnpacksAsItReads(const PackedLayer& layer, const EagerTensor& x) {
  const int64_t rows = layer.unpacks ? 1 : kFewRows;
  return NumElements(x.dims) <= rows * layer.weight[1] && !(layer.unpacks && x.requires_grad);
}

// The product of the forward, beside an unpacked weight. _dequant_linear_fallback has the scales and their sum with the
// mean to its end; before it was there, dequantize_4bit added in place and returned.
TensorRef UnpackedProduct(Machine& m, const PackedLayer& layer, const TensorRef& x, const TensorRef& bias) {
  TensorRef scales = UnpackedScales(m, layer);
  const TensorRef summed = layer.unpacks ? nullptr : UnpackedScales(m, layer);
  const TensorRef unpacked = UnpackedWeight(m, layer, x->dtype);
  if (layer.unpacks) scales = nullptr;
  return Linear(m, x, Transpose(m, unpacked, 0, 1), bias);
}

// A product with a weight in blocks of four bits, which is unpacked for it, in backward again; what is saved is the
// packed one. Until 0.43.1 the input too was an attribute of the context (ctx.tensors = (A, B); bitsandbytes#1270
// removed it), so it lives to the end of the step.
void EnactPackedLinear(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& given = call.input(0);
  const TensorRef x = InComputeType(m, given);
  const PackedLayer layer(call);
  const bool old = IntAttribute(call.node, "keeps_input", 0) != 0;
  NodeRef node = m.MakeNode("MatMul4BitBackward", {x});
  node.Save(node.needs(0) ? call.input(1) : nullptr);
  TensorRef y;
  {
    const bool reads_packed = UnpacksAsItReads(layer, *x);
    const WithoutGrad inside(m);
    y = reads_packed ? m.New("gemm_4bit", call.output_dims(), x->dtype, layer.flops)
                     : UnpackedProduct(m, layer, x, call.input(2));
  }
  node.Output(y);
  node.Formula([layer, held = old && node.needs(0) ? x : nullptr](Backward& b) {
    if (!b.needs(0)) return;
    TensorRef scales = UnpackedScales(b.m, layer);
    const TensorRef unpacked = UnpackedWeight(b.m, layer, b.grad()->dtype);
    scales = nullptr;  // of dequantize_4bit, which has returned
    b.result(0, Matmul(b.m, b.grad(), unpacked));
  });
  out[0] = ToCopy(m, y, given->dtype);
}

// Rows of x as 8-bit numbers with a scale each (int8_vectorwise_quant). Outliers are looked for with the threshold that
// loaders set; how many there are is not known, and none are counted.
TensorRef QuantizedRows(Machine& m, const TensorRef& rows, TensorRef& scales) {
  const TensorRef half = ToCopy(m, rows, DType::kFloat16);
  scales = m.New("int8_vectorwise_quant", Dims{rows->dims[0]}, DType::kFloat32);
  TensorRef codes = m.Allocate(rows->dims, DType::kInt8);
  const TensorRef outliers = RunPointwise(m, {"abs", "ge"}, {half});
  return codes;
}

// A product with a weight of eight bits: the rows are quantized, the 32-bit product scaled. The rows as they came are
// an attribute of the context, so they live to the end of the step, inside a checkpoint too.
void EnactInt8Linear(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& given = call.input(0);
  const TensorRef x = InComputeType(m, given);
  const PackedLayer layer(call);
  const int64_t depth = layer.weight[1];
  NodeRef node = m.MakeNode("MatMul8bitLtBackward", {x});
  TensorRef rows, y;
  {
    const WithoutGrad inside(m);
    rows = Reshape(m, x, Dims{Quotient(NumElements(x->dims), depth), depth});
    TensorRef scales;
    const TensorRef codes = QuantizedRows(m, rows, scales);
    const Dims product{rows->dims[0], layer.weight[0]};
    const TensorRef whole = m.New("int8_linear_matmul", product, DType::kInt32, layer.flops);
    const TensorRef scaled = m.New("int8_mm_dequant", product, DType::kFloat16);
    y = UnsafeView(m, ToCopy(m, scaled, x->dtype), call.output_dims());
  }
  node.Output(y);
  node.Formula([layer, held = std::move(rows), dims = x->dims](Backward& b) {
    if (!b.needs(0)) return;
    const Dims rows_of_grad{held->dims[0], layer.weight[0]};
    const TensorRef grad = Reshape(b.m, b.grad(), rows_of_grad);
    const TensorRef weight = b.m.New("to", layer.weight, held->dtype);
    { const TensorRef scales = b.m.New("mul", Dims{layer.weight[0], 1}, DType::kFloat32); }
    b.result(0, View(b.m, Matmul(b.m, grad, weight), dims));
  });
  out[0] = ToCopy(m, y, given->dtype);
}

// x [..., depth] -> [..., features].
bool MapsRows(const CallShape& call) {
  const int64_t features = IntAttribute(call.node, "features", 0), depth = IntAttribute(call.node, "depth", 0);
  if (features < 1 || depth < 1 || call.output == nullptr || call.rank(0) < 1) return false;
  Dims mapped = *call.inputs[0];
  if (mapped.back() != depth) return false;
  mapped.back() = features;
  return mapped == *call.output;
}

}  // namespace

std::span<const OpRow> QuantizeOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"dequantize", EnactConvert},
      {"fake_quantize", EnactFakeQuantize},
      {"int8_linear", EnactInt8Linear, 2, 1, MapsRows},
      {"packed_linear", EnactPackedLinear, 2, 1, MapsRows},
      {"quantize", EnactConvert},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
