// Scaled dot-product attention: the two fused kernels, and the composite that runs where they do not apply.
// Sources: aten/src/ATen/native/transformers/attention.cpp, cuda/attention.cu, sdp_utils_cpp.h,
// torch/utils/flop_counter.py (sdpa_flop_count, sdpa_backward_flop_count).
//
//   efficient  out laid out as [B, T, H, D]; logsumexp float32 [B, H, T rounded up to 32]; saves q, k, v, out, it and
//              the mask
//   flash      out in q's memory order; logsumexp float32 [B, H, T]
//   math       scaled copies of q and k, softmax result and v are saved; halves are computed in float32
#include <algorithm>
#include <array>
#include <string>

#include "analyzer/eager/operators/binary.h"
#include "analyzer/eager/operators/dropout.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/matmul.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/operators/softmax.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

struct Attention {
  TensorRef q, k, v, mask;
  double dropout = 0.0;
  bool causal = false;
  int64_t groups = 1;  // query heads per key head
};

int64_t RoundUp(int64_t n, int64_t multiple) { return Quotient(n + multiple - 1, multiple) * multiple; }

// 2 for each of the products of [T, S] with depth d or dv.
int64_t Flops(const Dims& q, const Dims& k, const Dims& v, int64_t with_d, int64_t with_dv) {
  return Saturated({2, q[0], q[1], q[2], k[2], with_d * q[3] + with_dv * v[3]});
}

// Strides of [B, H, T, D] that is stored as [B, T, H, D].
Dims TokenMajor(const Dims& d) { return Dims{d[1] * d[2] * d[3], d[3], d[1] * d[3], 1}; }

// A boolean mask becomes 0 and -inf in the queries' type.
TensorRef FloatMask(Machine& m, const TensorRef& mask, DType dtype) {
  if (mask == nullptr || mask->dtype != DType::kBool) return mask;
  const TensorRef infinity = m.New("scalar_tensor", Dims{}, dtype);
  const TensorRef zero = m.New("scalar_tensor", Dims{}, dtype);
  return m.NewLike("where", *mask, dtype);
}

// Rows start at multiples of 8 elements (preprocess_mask); else the mask is padded into a copy.
TensorRef AlignedMask(Machine& m, const TensorRef& mask, const Dims& scores) {
  if (mask == nullptr) return mask;
  bool aligned = mask->dims.empty() || mask->strides.back() == 1;
  for (size_t i = 0; i + 1 < mask->dims.size(); ++i) aligned = aligned && mask->strides[i] % 8 == 0;
  TensorRef rows = mask;
  if (!aligned) {
    Dims padded = mask->dims;
    padded.back() += 8 - padded.back() % 8;
    NodeRef node = m.MakeNode("ConstantPadNdBackward0", {mask});
    rows = m.New("constant_pad_nd", padded, mask->dtype);
    node.Output(rows);
    node.Formula([dims = mask->dims](Backward& b) { b.result(0, b.m.New("constant_pad_nd", dims, b.grad()->dtype)); });
    rows = SliceView(m, rows, static_cast<int64_t>(padded.size()) - 1, mask->dims.back(), 1);
  }
  return Expand(m, rows, scores);
}

// Beside the result, to a caller that names them.
void Give(size_t i, const TensorRef& t, Outputs& out) {
  if (i < out.size()) out[i] = t;
}

// Gradients of keys and values for each head of the queries, which are added up over those that share one:
// grad_k_expanded and grad_v_expanded in _efficient_attention_backward, dk_expanded and dv_expanded in mha_bwd.
void TakeGradientsByHead(Machine& m, const TensorMeta& q, const TensorMeta& k, const TensorMeta& v) {
  if (q.dims[1] == k.dims[1]) return;
  const auto by_head = [&](const Dims& d) { return DenseBytes(Dims{d[0], d[2], q.dims[1], d[3]}, q.dtype); };
  m.recorder().KernelTakes({by_head(k.dims), by_head(v.dims)});
}

// `out` says which of the kernel's further results are named, and of what length the logsumexp is.
TensorRef Efficient(Machine& m, const Attention& a, const Call& call, Outputs& outputs) {
  const Dims q = a.q->dims, k = a.k->dims, v = a.v->dims;
  const TensorRef mask = AlignedMask(m, a.mask, Dims{q[0], q[1], q[2], k[2]});
  NodeRef node = m.MakeNode("ScaledDotProductEfficientAttentionBackward0", {a.q, a.k, a.v, mask});
  for (const TensorRef& t : {a.q, a.k, a.v, mask}) node.Save(t);
  const Dims out_dims{q[0], q[1], q[2], v[3]};
  const std::string_view op = "_scaled_dot_product_efficient_attention";
  TensorRef out = m.New(op, out_dims, a.q->dtype, TokenMajor(out_dims), Flops(q, k, v, 1, 1));
  node.Save(out);
  const bool named = outputs.size() > 1 && call.node.outputs[1].valid();
  const Dims sums = named ? call.output_dims(1) : Dims{q[0], q[1], node ? RoundUp(q[2], 32) : 0};
  for (size_t i = 1; i <= 3; ++i) {  // logsumexp, philox seed and offset
    const TensorRef made = m.Allocate(i == 1 ? sums : Dims{}, i == 1 ? DType::kFloat32 : DType::kInt64);
    node.Save(made);
    Give(i, made, outputs);
  }
  node.Output(out);
  node.Formula([q, k, v, dtype = a.q->dtype](Backward& b) {
    b.m.BeginStep("_scaled_dot_product_efficient_attention_backward", Flops(q, k, v, 3, 2));
    TakeGradientsByHead(b.m, {q, dtype}, {k, dtype}, {v, dtype});
    size_t edge = 0;
    for (const Dims& dims : {q, k, v}) b.result(edge++, b.m.Allocate(dims, dtype, TokenMajor(dims)));
    if (!b.needs(3)) return;
    const Dims padded{q[0], q[1], q[2], RoundUp(k[2], 16)};
    b.result(3, SliceView(b.m, b.m.Allocate(padded, dtype), 3, k[2], 1));
  });
  return out;
}

TensorRef Flash(Machine& m, const Attention& a, Outputs& outputs) {
  const Dims q = a.q->dims, k = a.k->dims, v = a.v->dims;
  NodeRef node = m.MakeNode("ScaledDotProductFlashAttentionBackward0", {a.q, a.k, a.v});
  for (const TensorRef& t : {a.q, a.k, a.v}) node.Save(t);
  TensorRef out = m.New("_scaled_dot_product_flash_attention", q, a.q->dtype, LikeStrides(*a.q), Flops(q, k, v, 1, 1));
  node.Save(out);
  const TensorRef sums = m.Allocate(Dims{q[0], q[1], q[2]}, DType::kFloat32);
  m.SetNextOutput(6);                                           // behind the lengths of packed sequences
  const TensorRef state = m.Allocate(Dims{2}, DType::kUInt64);  // of the random generator
  const TensorRef unused = m.Allocate(Dims{}, DType::kUInt64);
  size_t next = 0;
  for (const TensorRef& made : {sums, state, unused}) {
    node.Save(made);
    Give(++next, made, outputs);
  }
  node.Output(out);
  const std::array<TensorMeta, 3> metas{{{q, a.q->dtype}, {k, a.k->dtype}, {v, a.v->dtype}}};
  const std::array<Dims, 3> strides{LikeStrides(*a.q), LikeStrides(*a.k), LikeStrides(*a.v)};
  node.Formula([metas, strides](Backward& b) {
    b.m.BeginStep("_scaled_dot_product_flash_attention_backward",
                  Flops(metas[0].dims, metas[1].dims, metas[2].dims, 3, 2));
    TakeGradientsByHead(b.m, metas[0], metas[1], metas[2]);
    for (size_t i = 0; i < 3; ++i) b.result(i, b.m.Allocate(metas[i].dims, metas[i].dtype, strides[i]));
  });
  return out;
}

// x * number inside the composite: the number is no tensor there.
TensorRef Scale(Machine& m, const TensorRef& x) {
  NodeRef node = m.MakeNode("MulBackward1", {x});
  TensorRef y = m.NewLike("mul", *x);
  node.Output(y);
  node.Formula([](Backward& b) { b.result(0, b.m.NewLike("mul", *b.grad())); });
  return y;
}

// repeat_interleave over the heads.
TensorRef RepeatHeads(Machine& m, const TensorRef& t, int64_t groups) {
  if (groups <= 1) return t;
  Dims one = t->dims;
  one.insert(one.end() - 2, 1);
  Dims many = one;
  many[many.size() - 3] = groups;
  Dims merged = t->dims;
  merged[merged.size() - 3] *= groups;
  return View(m, Clone(m, Expand(m, View(m, t, one, "UnsqueezeBackward0"), many), /*contiguous=*/true), merged);
}

TensorRef CausalMask(Machine& m, int64_t rows, int64_t columns, DType dtype) {
  TensorRef triangle;
  {
    const TensorRef ones = m.New("ones", Dims{rows, columns}, DType::kBool);
    triangle = m.NewLike("tril", *ones);
  }
  return FloatMask(m, triangle, dtype);
}

TensorRef Composite(Machine& m, const Attention& a) {
  const DType original = a.q->dtype;
  const DType wide = IsHalf(original) ? DType::kFloat32 : original;
  const TensorRef q = ToCopy(m, a.q, wide), k_wide = ToCopy(m, a.k, wide), v_wide = ToCopy(m, a.v, wide);
  const TensorRef query = Scale(m, q);
  const auto rank = static_cast<int64_t>(k_wide->dims.size());
  TensorRef mask = a.mask;
  if (a.causal) mask = CausalMask(m, q->dims.end()[-2], k_wide->dims.end()[-2], wide);
  const TensorRef k = RepeatHeads(m, k_wide, a.groups), v = RepeatHeads(m, v_wide, a.groups);
  TensorRef scores = Matmul(m, query, Scale(m, Transpose(m, k, rank - 2, rank - 1)));
  if (mask != nullptr) scores = Add(m, scores, mask, /*in_place=*/!kObserved);
  scores = Softmax(m, "_safe_softmax", scores, wide);
  scores = Dropout(m, scores, a.dropout);
  const TensorRef weights = ToCopy(m, scores, original);  // returned beside the result, and dropped
  return ToCopy(m, Matmul(m, scores, v), original);
}

// Fused kernels read rows of neighbouring elements (check_last_dim_stride_equals_1_dense in sdp_utils_cpp.h).
bool AreRowsDense(const Attention& a) {
  const auto is_dense = [](const TensorRef& t) { return t->strides.back() == 1; };
  const bool operands = (is_dense(a.q) && is_dense(a.k) && is_dense(a.v)) || a.q->dims.back() == 1;
  return operands && (a.mask == nullptr || a.mask->dims.empty() || is_dense(a.mask));
}

// A program that runs such a kernel has made them so: x.transpose(2, 3).contiguous().
void MakeRowsDense(Machine& m, Attention& a) {
  for (TensorRef* t : {&a.q, &a.k, &a.v, &a.mask}) {
    if (*t != nullptr && !(*t)->dims.empty() && (*t)->strides.back() != 1) *t = Clone(m, *t, /*contiguous=*/true);
  }
}

// Inputs: q, k, v, mask.
void EnactAttention(Machine& m, const Call& call, Outputs& out) {
  Attention a;
  a.mask = m.AutocastLow(call.input(3));
  a.v = m.AutocastLow(call.input(2));
  a.k = m.AutocastLow(call.input(1));
  a.q = m.AutocastLow(call.input(0));
  a.dropout = m.run().training ? DropProbability(call.node) : 0.0;
  a.causal = IntAttribute(call.node, "causal", 0) != 0;
  a.groups = IntAttribute(call.node, "gqa_groups", 1);
  a.mask = FloatMask(m, a.mask, a.q->dtype);
  const std::string kernel = StringAttribute(call.node, "kernel", "math");
  const bool by_heads = a.q->dims.size() == 4 && a.k->dims.size() == 4 && a.v->dims.size() == 4;
  const bool groups_fit = a.groups == 1 || m.run().fewer_key_heads.value_or(true);  // supports_gqa in sdp_utils.cpp
  const bool fits = (kernel == "efficient" && groups_fit) || kernel == "flash";
  if (by_heads && fits && IntAttribute(call.node, "made_dense", 0) != 0) MakeRowsDense(m, a);
  const bool fused = by_heads && fits && AreRowsDense(a);
  if (fused && kernel == "flash") {
    out[0] = Flash(m, a, out);
  } else if (fused) {
    out[0] = Efficient(m, a, call, out);
  } else {
    out[0] = Composite(m, a);
  }
}

}  // namespace

namespace {

// Keys and values of [..., S, D]; a mask has no more dimensions than the scores.
bool AreSequences(const CallShape& call) {
  const int64_t rank = std::max(call.rank(1), call.rank(2));
  return call.rank(1) >= 3 && call.rank(2) >= 3 && call.rank(3) <= std::max(call.rank(0), rank);
}

}  // namespace

std::span<const OpRow> AttentionOps() {
  static constexpr auto kRows = std::to_array<OpRow>({{"sdpa", EnactAttention, 3, 3, AreSequences}});
  return kRows;
}

}  // namespace onnx_mem::eager
