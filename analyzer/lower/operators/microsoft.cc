// com.microsoft: operators that onnxruntime's optimizer fused. The framework ran the parts.
#include <numeric>
#include <utility>

#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

// x + bias where there is one.
TensorId AddBias(Site& s, TensorId x, size_t slot) {
  if (!s.Has(slot)) return x;
  const Dims dims = s.draft().tensor(x).shape.dims;
  return s.EmitTemp("add", {x, s.Materialized(slot)}, dims, s.draft().tensor(x).dtype);
}

void EmitNorm(Site& s, TensorId x, std::initializer_list<size_t> affine, bool rms) {
  TensorIds inputs = {x};
  for (size_t slot : affine) {
    if (s.Has(slot)) inputs.push_back(s.Materialized(slot));
  }
  const auto rank = static_cast<int64_t>(s.draft().tensor(x).shape.rank());
  s.Emit(rms ? "rms_norm" : "layer_norm", std::move(inputs), {s.Out(0)}, {{"axis", rank - 1}});
}

// x.transpose(-1, -2), a view.
TensorId LastTwoSwapped(Site& s, TensorId x) {
  const Tensor tensor = s.draft().tensor(x);
  Dims dims = tensor.shape.dims;
  const size_t rank = dims.size();
  if (rank < 2) return x;
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::swap(perm[rank - 1], perm[rank - 2]);
  std::swap(dims[rank - 1], dims[rank - 2]);
  return s.EmitTemp("permute", {x}, dims, tensor.dtype, {{"perm", perm}});
}

struct FusedActivation {
  std::string_view onnx, framework;
};
constexpr FusedActivation kFusedActivations[] = {
    {"Relu", "relu"},
    {"Tanh", "tanh"},
    {"Sigmoid", "sigmoid"},
    {"LeakyRelu", "leaky_relu"},
    {"HardSigmoid", "hardsigmoid"},
    {"Clip", "clamp"},
    {"HardSwish", "hardswish"},
};

// The activation of a fused operator, by its ONNX name.
void EmitActivation(Site& s, TensorId x, const std::string& activation) {
  std::string_view op = "relu";
  for (const FusedActivation& row : kFusedActivations) {
    if (row.onnx == activation) op = row.framework;
  }
  s.Emit(op, {x}, {s.Out(0)});
}

}  // namespace

void LowerBiasGelu(Site& s) {
  s.Emit("gelu", {AddBias(s, s.Materialized(0), 1)}, {s.Out(0)}, {{"approximate", std::string("none")}});
}

void LowerFastGelu(Site& s) {
  s.Emit("gelu", {AddBias(s, s.Materialized(0), 1)}, {s.Out(0)}, {{"approximate", std::string("tanh")}});
}

// x * sigmoid(1.702 x), as CLIP writes it.
void LowerQuickGelu(Site& s) {
  const TensorId x = s.Materialized(0);
  const Dims dims = s.OutShape().dims;
  const TensorId scaled = s.EmitTemp("mul_scalar", {x}, dims, s.OutType(), {{"scalar", s.Float("alpha", 1.702)}});
  const TensorId gate = s.EmitTemp("sigmoid", {scaled}, dims, s.OutType());
  s.Emit("mul", {x, gate}, {s.Out(0)});
}

// SkipLayerNormalization: input, skip, gamma, beta?, bias?; SkipSimplified...: input, skip, gamma, bias?.
void LowerSkipNorm(Site& s) {
  const bool rms = s.framework() == "rms_norm";
  TensorId x = AddBias(s, s.Materialized(0), rms ? 3 : 4);
  const TensorId sum = s.OutUsed(3) ? s.Out(3) : s.Temp(s.InShape(0).dims, s.OutType());
  s.Emit("add", {x, s.Materialized(1)}, {sum});
  if (rms) return EmitNorm(s, sum, {2}, true);
  EmitNorm(s, sum, {2, 3}, false);
}

// input_ids, segment_ids?, word, position, segment tables, gamma, beta.
void LowerEmbedLayerNorm(Site& s) {
  const Dims dims = s.OutShape().dims;
  const DType dtype = s.OutType();
  const TensorId ids = s.Materialized(0);
  TensorId sum = s.EmitTemp("embedding", {s.Materialized(2), ids}, dims, dtype);
  const Dims id_dims = s.InShape(0).dims;
  const TensorId positions = s.EmitTemp("arange", {}, id_dims, DType::kInt64);
  const TensorId position = s.EmitTemp("embedding", {s.Materialized(3), positions}, dims, dtype);
  sum = s.EmitTemp("add", {sum, position}, dims, dtype);
  if (s.Has(1) && s.Has(4)) {
    const TensorId segment = s.EmitTemp("embedding", {s.Materialized(4), s.Materialized(1)}, dims, dtype);
    sum = s.EmitTemp("add", {sum, segment}, dims, dtype);
  }
  EmitNorm(s, sum, {5, 6}, false);
}

// Conv with an activation on top; input 3 (Z) is added before it.
void LowerFusedConv(Site& s) {
  const Dims dims = s.OutShape().dims;
  TensorIds inputs = {s.Materialized(0), s.Materialized(1)};
  if (s.Has(2)) inputs.push_back(s.Materialized(2));
  TensorId x = s.EmitTemp("conv", std::move(inputs), dims, s.OutType(),
                          {{"stride", s.IntList("strides")},
                           {"pad", s.IntList("pads")},
                           {"dilation", s.IntList("dilations")},
                           {"group", s.Int("group", 1)}});
  x = AddBias(s, x, 3);
  EmitActivation(s, x, s.String("activation", "Relu"));
}

// The optimizer fused Transposes, which were views, and a factor. With transB on a stored matrix it was nn.Linear.
void LowerFusedMatMul(Site& s) {
  if (s.Int("transBatchA", 0) != 0 || s.Int("transBatchB", 0) != 0) return s.Assume();
  const double alpha = s.Float("alpha", 1.0);
  const TensorId result = alpha == 1.0 ? s.Out(0) : s.Temp(s.OutShape().dims, s.OutType());
  const bool trans_b = s.Int("transB", 0) != 0;
  const TensorId weight = s.Stored(1);
  const TensorId x = s.Int("transA", 0) != 0 ? LastTwoSwapped(s, s.Materialized(0)) : s.Materialized(0);
  if (trans_b && weight.valid() && s.draft().tensor(weight).shape.rank() == 2 && weight == s.In(1)) {
    s.Emit("linear", {x, weight}, {result}, {{"transposed", int64_t{0}}});
  } else {
    s.Emit("matmul", {x, trans_b ? LastTwoSwapped(s, s.Materialized(1)) : s.Materialized(1)}, {result});
  }
  if (alpha != 1.0) s.Emit("mul_scalar", {result}, {s.Out(0)}, {{"scalar", alpha}});
}

void LowerFusedGemm(Site& s) {
  TensorIds inputs = {s.Materialized(0), s.Materialized(1)};
  if (s.Has(2)) inputs.push_back(s.Materialized(2));
  const TensorId x = s.EmitTemp("addmm", std::move(inputs), s.OutShape().dims, s.OutType(),
                                {{"trans_a", s.Int("transA", 0)}, {"trans_b", s.Int("transB", 0)}});
  EmitActivation(s, x, s.String("activation", "Relu"));
}

// x, gamma, beta; Skip...: skip, bias? are added first. activation 1 is SiLU.
void LowerMicrosoftGroupNorm(Site& s) {
  const Dims dims = s.InShape(0).dims;
  TensorId x = s.Materialized(0);
  if (s.Has(3)) {
    x = AddBias(s, x, 4);
    const TensorId sum = s.OutUsed(1) ? s.Out(1) : s.Temp(dims, s.OutType());
    s.Emit("add", {x, s.Materialized(3)}, {sum});
    x = sum;
  }
  const bool silu = s.Int("activation", 0) == 1;
  const TensorId norm = silu ? s.Temp(dims, s.OutType()) : s.Out(0);
  s.Emit("group_norm", {x, s.Materialized(1), s.Materialized(2)}, {norm}, {{"groups", s.Int("groups", 1)}});
  if (silu) s.Emit("silu", {norm}, {s.Out(0)});
}

void LowerGemmFastGelu(Site& s) {
  const TensorId product = s.EmitTemp("matmul", {s.Materialized(0), s.Materialized(1)}, s.OutShape().dims, s.OutType());
  s.Emit("gelu", {AddBias(s, product, 2)}, {s.Out(0)}, {{"approximate", std::string("tanh")}});
}

// x, mask: the attention's scores with its mask.
void LowerBiasSoftmax(Site& s) {
  const int64_t axis = s.Axis("axis", 1);
  s.Emit("softmax", {AddBias(s, s.Materialized(0), 1)}, {s.Out(0)}, {{"axis", axis}});
}

// x, bias, residual?, ratio?, training?
void LowerBiasDropout(Site& s) {
  const Dims dims = s.InShape(0).dims;
  TensorId x = AddBias(s, s.Materialized(0), 1);
  const double p = s.Has(3) ? s.Number(3).value_or(0.5) : 0.5;
  const bool drops = s.run().training && p > 0.0 && s.Number(4).value_or(0.0) != 0.0;
  if (drops) {
    const TensorId kept = s.Has(2) ? s.Temp(dims, s.OutType()) : s.Out(0);
    s.Emit("dropout", {x}, {kept}, {{"p", p}});
    x = kept;
  }
  if (s.Has(2)) {
    s.Emit("add", {x, s.Materialized(2)}, {s.Out(0)});
  } else if (!drops) {
    s.Alias(0, x);
  }
}

// x + bias; the first half times gelu of the second, as diffusion models' GEGLU writes it.
void LowerBiasSplitGelu(Site& s) {
  const Dims dims = s.OutShape().dims;
  if (dims.empty()) return s.Assume();
  const int64_t axis = static_cast<int64_t>(dims.size()) - 1;
  const TensorId x = AddBias(s, s.Materialized(0), 1);
  const TensorId value = s.Temp(dims, s.OutType()), gate = s.Temp(dims, s.OutType());
  s.Emit("split", {x}, {value, gate}, {{"axis", axis}, {"sizes", std::vector<int64_t>{dims.back(), dims.back()}}});
  const TensorId open = s.EmitTemp("gelu", {gate}, dims, s.OutType(), {{"approximate", std::string("none")}});
  s.Emit("mul", {value, open}, {s.Out(0)});
}

void LowerBiasAdd(Site& s) {
  const TensorId x = AddBias(s, s.Materialized(0), 1);
  s.Emit("add", {x, s.Materialized(2)}, {s.Out(0)});
}

}  // namespace onnx_mem
