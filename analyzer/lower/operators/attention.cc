// Attention operators that a file names (ai.onnx 23, com.microsoft): the framework's scaled_dot_product_attention.
#include <array>

#include "analyzer/lower/operators/attention_kernel.h"
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

struct Qkv {
  TensorId q, k, v;  // [batch, heads, tokens, head size]
  Dims q_dims;
  DType dtype = DType::kUnknown;
};

// [batch, tokens, heads * size] as a [batch, heads, tokens, size] view.
TensorId SplitHeads(Site& s, TensorId x, int64_t heads) {
  const Tensor& tensor = s.draft().tensor(x);
  const Dims dims = tensor.shape.dims;
  const DType dtype = tensor.dtype;
  if (dims.size() != 3 || heads <= 0) return x;
  const Dims by_head = {dims[0], dims[1], heads, dims[2] / heads};
  const TensorId split = s.EmitTemp("reshape", {x}, by_head, dtype);
  return s.EmitTemp("permute", {split}, {by_head[0], by_head[2], by_head[1], by_head[3]}, dtype,
                    {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

void EmitSdpa(Site& s, const Qkv& a, TensorId mask, bool causal, double scale, int64_t gqa_groups) {
  const Dims& v_dims = s.draft().tensor(a.v).shape.dims;
  const bool heads_first = s.OutShape().rank() == 4;
  Dims out = a.q_dims;
  if (out.size() == 4 && v_dims.size() == 4) out[3] = v_dims[3];
  const TensorId result = heads_first ? s.Out(0) : s.Temp(out, a.dtype);
  TensorIds inputs = {a.q, a.k, a.v};
  if (mask.valid()) inputs.push_back(mask);
  s.Emit("sdpa", std::move(inputs), {result},
         {{"kernel", ChooseAttentionKernel(s.run(), a.dtype, mask.valid())},
          {"made_dense", MakesRowsDense(s.run())},
          {"causal", static_cast<int64_t>(causal)},
          {"scale", scale},
          {"dropout", 0.0},
          {"gqa_groups", gqa_groups}});
  if (heads_first || out.size() != 4) return;
  const TensorId by_token = s.EmitTemp("permute", {result}, {out[0], out[2], out[1], out[3]}, a.dtype,
                                       {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  s.Emit("reshape", {by_token}, {s.Out(0)});
}

Qkv ReadQkv(Site& s, int64_t q_heads, int64_t kv_heads) {
  Qkv a;
  a.q = SplitHeads(s, s.Materialized(0), q_heads);
  a.k = SplitHeads(s, s.Materialized(1), kv_heads);
  a.v = SplitHeads(s, s.Materialized(2), kv_heads);
  a.q_dims = s.draft().tensor(a.q).shape.dims;
  a.dtype = s.draft().tensor(a.q).dtype;
  return a;
}

// Keys or values of earlier tokens are joined to the new ones; the result is also an output.
TensorId WithPast(Site& s, TensorId now, size_t past_slot, size_t present_output) {
  const TensorId past = s.In(past_slot);
  if (!past.valid() && !s.OutUsed(present_output)) return now;
  if (!past.valid()) {
    s.Alias(present_output, now);
    return now;
  }
  const Dims now_dims = s.draft().tensor(now).shape.dims, past_dims = s.draft().tensor(past).shape.dims;
  if (now_dims.size() != 4 || past_dims.size() != 4) return now;
  Dims joined = now_dims;
  joined[2] += past_dims[2];
  const TensorId result = s.Out(present_output).valid() ? s.Out(present_output) : s.Temp(joined, s.OutType());
  s.Emit("cat", {past, now}, {result}, {{"axis", int64_t{2}}});
  return result;
}

void AddProjectionBias(Site& s, TensorId bias, std::array<TensorId, 3>& projected) {
  std::vector<int64_t> sizes;
  TensorIds parts;
  for (TensorId x : projected) {
    const Tensor tensor = s.draft().tensor(x);
    sizes.push_back(tensor.shape.dims[2]);
    parts.push_back(s.Temp({tensor.shape.dims[2]}, tensor.dtype));
  }
  s.Emit("split", {bias}, parts, {{"axis", int64_t{0}}, {"sizes", sizes}});
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor tensor = s.draft().tensor(projected[i]);
    projected[i] = s.EmitTemp("add", {projected[i], parts[i]}, tensor.shape.dims, tensor.dtype);
  }
}

}  // namespace

// ai.onnx 23: Q, K, V, attn_mask?, past_key?, past_value?; 3-D or 4-D.
void LowerAttention(Site& s) {
  const Shape q = s.InShape(0), k = s.InShape(1);
  for (size_t slot : {0, 1, 2}) {
    if (s.InRank(slot) != 3 && s.InRank(slot) != 4) return s.Assume();
  }
  const int64_t q_heads = q.rank() == 4 ? q.dims[1] : s.Int("q_num_heads", 1);
  const int64_t kv_heads = k.rank() == 4 ? k.dims[1] : s.Int("kv_num_heads", q_heads);
  Qkv a = ReadQkv(s, q_heads, kv_heads);
  a.k = WithPast(s, a.k, 4, 1);
  a.v = WithPast(s, a.v, 5, 2);
  EmitSdpa(s, a, s.In(3), s.Int("is_causal", 0) != 0, s.Float("scale", 0.0), kv_heads > 0 ? q_heads / kv_heads : 1);
}

// x1 * cos - x2 * sin, x1 * sin + x2 * cos on the two halves of each head, joined again.
void LowerRotaryEmbedding(Site& s) {
  const TensorId x = s.Materialized(0);
  const Dims dims = s.InShape(0).dims;
  const DType dtype = s.OutType();
  Dims half = dims;
  if (!half.empty()) half.back() /= 2;
  const TensorId rotated = s.EmitTemp("neg", {x}, half, dtype);
  const TensorId joined = s.EmitTemp("cat", {rotated, rotated}, dims, dtype,
                                     {{"axis", static_cast<int64_t>(dims.empty() ? 0 : dims.size() - 1)}});
  const TensorId cos = s.EmitTemp("mul_scalar", {x}, dims, dtype, {{"scalar", 1.0}});
  const TensorId sin = s.EmitTemp("mul_scalar", {joined}, dims, dtype, {{"scalar", 1.0}});
  s.Emit("add", {cos, sin}, {s.Out(0)});
}

// com.microsoft.Attention: x, weights [in, 3 * hidden], bias, mask_index?, past?, attention_bias?
void LowerMicrosoftAttention(Site& s) {
  const Shape x = s.InShape(0), out = s.OutShape();  // by value: each operator emitted may move the tensors
  const int64_t heads = s.Int("num_heads", 1);
  const TensorId weight = s.Stored(1);
  if (x.rank() != 3 || out.rank() != 3 || !weight.valid()) return s.Assume();
  const DType dtype = s.OutType();
  const Dims weight_dims = s.draft().tensor(weight).shape.dims;
  const int64_t total = weight_dims.size() == 2 ? weight_dims[1] : 3 * out.dims[2];
  TensorIds operands = {s.Materialized(0), weight};
  if (const TensorId bias = s.Stored(2); bias.valid()) operands.push_back(bias);
  const TensorId qkv =
      s.EmitTemp("linear", std::move(operands), {x.dims[0], x.dims[1], total}, dtype, {{"transposed", int64_t{1}}});
  const int64_t v_size = out.dims[2];
  const int64_t q_size = (total - v_size) / 2;
  const Dims q_dims = {x.dims[0], x.dims[1], q_size}, v_dims = {x.dims[0], x.dims[1], v_size};
  const TensorId q = s.Temp(q_dims, dtype), k = s.Temp(q_dims, dtype), v = s.Temp(v_dims, dtype);
  s.Emit("split", {qkv}, {q, k, v}, {{"axis", int64_t{2}}, {"sizes", std::vector<int64_t>{q_size, q_size, v_size}}});
  Qkv a;
  a.q = SplitHeads(s, q, heads);
  a.k = SplitHeads(s, k, heads);
  a.v = SplitHeads(s, v, heads);
  a.q_dims = s.draft().tensor(a.q).shape.dims;
  a.dtype = dtype;
  EmitSdpa(s, a, s.In(5), s.Int("unidirectional", 0) != 0, s.Float("scale", 0.0), 1);
}

// com.microsoft.MultiHeadAttention: query, key?, value?, bias?, key_padding_mask?, attention_bias?
// The bias is that of the three projections, [q; k; v].
void LowerMultiHeadAttention(Site& s) {
  if (!s.Has(1) || !s.Has(2) || s.InRank(0) != 3 || s.InRank(1) != 3 || s.InRank(2) != 3) return s.Assume();
  const int64_t heads = s.Int("num_heads", 1);
  std::array<TensorId, 3> projected = {s.Materialized(0), s.Materialized(1), s.Materialized(2)};
  if (s.Has(3)) AddProjectionBias(s, s.Materialized(3), projected);
  Qkv a{SplitHeads(s, projected[0], heads), SplitHeads(s, projected[1], heads), SplitHeads(s, projected[2], heads), {}};
  a.q_dims = s.draft().tensor(a.q).shape.dims;
  a.dtype = s.draft().tensor(a.q).dtype;
  EmitSdpa(s, a, s.In(5), s.Int("unidirectional", 0) != 0, s.Float("scale", 0.0), 1);
}

// com.microsoft.GroupQueryAttention: query, key, value, past_key?, past_value?, ...
void LowerGroupQueryAttention(Site& s) {
  if (!s.Has(1) || !s.Has(2) || s.InRank(0) != 3) return s.Assume();
  if (s.InRank(1) != 3 || s.InRank(2) != 3) return s.Assume();
  const int64_t heads = s.Int("num_heads", 1), kv_heads = s.Int("kv_num_heads", heads);
  Qkv a = ReadQkv(s, heads, kv_heads);
  a.k = WithPast(s, a.k, 3, 1);
  a.v = WithPast(s, a.v, 4, 2);
  EmitSdpa(s, a, TensorId(), true, s.Float("scale", 0.0), kv_heads > 0 ? heads / kv_heads : 1);
}

}  // namespace onnx_mem
