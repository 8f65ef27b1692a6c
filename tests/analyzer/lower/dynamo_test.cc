// What dynamo's exporter and its optimizer leave of a model: names after ATen calls, folded results, calls that lost
// some of their nodes.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// A table that the exporter computed (a rotary embedding's cosine) is no parameter: its factor needs no gradient, and
// the other operand is not saved for it. A scale that it reshaped still is one, and so is a root parameter.
TEST(Dynamo, ResultsThatItFoldedAreNoParameters) {
  const std::string text = LowerText(R"(
    input x float32 2x6x16x8
    weight unsqueeze_14 float32 1x1x16x8
    weight val_23 float32 6x1x1
    weight pos_embed float32 1x1x16x8
    node_mul = Mul(x, unsqueeze_14) -> mul float32 2x6x16x8
    node_mul_1 = Mul(mul, val_23) -> mul_1 float32 2x6x16x8
    node_add = Add(mul_1, pos_embed) -> y float32 2x6x16x8
    output y
  )");
  EXPECT_NE(text.find("mul(x, unsqueeze_14/computed)"), std::string::npos) << text;
  EXPECT_EQ(text.find("parameter unsqueeze_14"), std::string::npos) << text;
  EXPECT_NE(text.find("parameter val_23\n"), std::string::npos) << text;
  EXPECT_NE(text.find("parameter pos_embed\n"), std::string::npos) << text;
}

TEST(Dynamo, AFoldedWeightOfALayerIsAParameter) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    weight val_34 float32 8x16
    node_linear = MatMul(x, val_34) -> y float32 2x16
    output y
  )");
  EXPECT_NE(text.find("parameter val_34\n"), std::string::npos) << text;
}

// scale=1.0: the optimizer took the products with it out.
constexpr std::string_view kUnscaledAttention = R"(
    input q float32 2x4x16x8
    input k float32 2x4x16x8
    input v float32 2x4x16x8
    node_Transpose = Transpose(k) -> kt float32 2x4x8x16 {perm: [0 1 3 2]}
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_MatMul = MatMul(q, kt) -> s float32 2x4x16x16
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Softmax = Softmax(s) -> p float32 2x4x16x16 {axis: -1}
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_MatMul_1 = MatMul(p, v) -> y float32 2x4x16x8
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    output y
)";

TEST(Dynamo, AttentionWithoutScaleIsKnownByItsCall) {
  onnx_mem::Run run;
  run.attention = AttentionKernel::kEfficient;
  EXPECT_EQ(LowerText(kUnscaledAttention, run), "sdpa(q, k, v) -> y\n");
}

// nn.MultiheadAttention: the optimizer merges the reshape into batches and heads with the transpose of k behind it.
TEST(Dynamo, KeysHaveTheShapeOfTheQueriesAgain) {
  std::string text = R"(
    input q float32 2x4x16x8
    input k float32 8x16x8
    input v float32 2x4x16x8
    node_Transpose = Transpose(k) -> kt float32 8x8x16 {perm: [0 2 1]}
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    const parts int64 4 = 2 4 8 16
    node_Reshape = Reshape(kt, parts) -> ks float32 2x4x8x16
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_MatMul = MatMul(q, ks) -> s float32 2x4x16x16
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Softmax = Softmax(s) -> p float32 2x4x16x16 {axis: -1}
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_MatMul_1 = MatMul(p, v) -> y float32 2x4x16x8
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    output y
  )";
  onnx_mem::Run run;
  run.attention = AttentionKernel::kEfficient;
  EXPECT_EQ(LowerText(text, run), "reshape(k) -> k/heads\nsdpa(q, k/heads, v) -> y\n");
}

// Two layers with one bool mask: the optimizer shares its float form, which both attentions made.
TEST(Dynamo, AMaskThatTwoAttentionsShareIsTheBoolMaskOfBoth) {
  const std::string text = LowerText(R"(
    input q float32 2x4x16x8
    input k float32 2x4x16x8
    input v float32 2x4x16x8
    input m bool 16x16
    const zero float32 scalar = 0
    const low float32 scalar = -1000
    const root float32 scalar = 0.59460355
    node_Where = Where(m, zero, low) -> w float32 16x16
    @ namespace : Net/a: Attn/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Transpose = Transpose(k) -> kt float32 2x4x8x16 {perm: [0 1 3 2]}
    @ namespace : Net/a: Attn/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Mul = Mul(q, root) -> qs float32 2x4x16x8
    @ namespace : Net/a: Attn/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Mul_1 = Mul(kt, root) -> ks float32 2x4x8x16
    @ namespace : Net/a: Attn/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_MatMul = MatMul(qs, ks) -> s float32 2x4x16x16
    @ namespace : Net/a: Attn/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Add = Add(s, w) -> t float32 2x4x16x16
    @ namespace : Net/a: Attn/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Softmax = Softmax(t) -> p float32 2x4x16x16 {axis: -1}
    @ namespace : Net/a: Attn/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_MatMul_1 = MatMul(p, v) -> y float32 2x4x16x8
    @ namespace : Net/a: Attn/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Transpose_1 = Transpose(y) -> yt float32 2x4x8x16 {perm: [0 1 3 2]}
    @ namespace : Net/b: Attn/scaled_dot_product_attention_1: aten.scaled_dot_product_attention.default
    node_Mul_2 = Mul(y, root) -> ys float32 2x4x16x8
    @ namespace : Net/b: Attn/scaled_dot_product_attention_1: aten.scaled_dot_product_attention.default
    node_Mul_3 = Mul(yt, root) -> yu float32 2x4x8x16
    @ namespace : Net/b: Attn/scaled_dot_product_attention_1: aten.scaled_dot_product_attention.default
    node_MatMul_2 = MatMul(ys, yu) -> s2 float32 2x4x16x16
    @ namespace : Net/b: Attn/scaled_dot_product_attention_1: aten.scaled_dot_product_attention.default
    node_Add_1 = Add(s2, w) -> t2 float32 2x4x16x16
    @ namespace : Net/b: Attn/scaled_dot_product_attention_1: aten.scaled_dot_product_attention.default
    node_Softmax_1 = Softmax(t2) -> p2 float32 2x4x16x16 {axis: -1}
    @ namespace : Net/b: Attn/scaled_dot_product_attention_1: aten.scaled_dot_product_attention.default
    node_MatMul_3 = MatMul(p2, y) -> z float32 2x4x16x8
    @ namespace : Net/b: Attn/scaled_dot_product_attention_1: aten.scaled_dot_product_attention.default
    output z
  )",
                                     [] {
                                       onnx_mem::Run run;
                                       run.attention = AttentionKernel::kEfficient;
                                       return run;
                                     }());
  EXPECT_EQ(text, "sdpa(q, k, v, m) -> y [a]\nsdpa(y, y, y, m) -> z [b]\n");
}

TEST(Dynamo, ProductsWithoutScaleThatBelongToNoCallStay) {
  std::string text(kUnscaledAttention);
  for (size_t at = text.find("scaled_dot_product_attention"); at != std::string::npos;
       at = text.find("scaled_dot_product_attention", at)) {
    text.replace(at, 28, "matmul");
  }
  onnx_mem::Run run;
  run.attention = AttentionKernel::kEfficient;
  EXPECT_NE(LowerText(text, run).find("softmax(s) -> p"), std::string::npos);
}

TEST(Dynamo, BatchNormThatItFoldedIntoALinearLayerComesBack) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    weight mlp.0.weight float32 16x8
    weight mlp.0.bias float32 16
    node_Gemm = Gemm(x, mlp.0.weight, mlp.0.bias) -> y float32 2x16 {transB: 1}
    @ namespace : Net/mlp.1: torch.nn.BatchNorm1d/batch_norm_2: aten._native_batch_norm_legit_no_training.default
    output y
  )");
  EXPECT_NE(text.find("linear(x, mlp.0.weight, mlp.0.bias)"), std::string::npos) << text;
  EXPECT_NE(text.find("batch_norm("), std::string::npos) << text;
}

// masked_fill is written as a where, which reads the mask first. The triangle is only compared: no parameter.
TEST(Dynamo, AMaskedFillFillsTheScores) {
  const std::string text = LowerText(R"(
    input x float32 2x4x4
    weight attn.bias float32 4x4
    const zero float32 scalar = 0
    const inf float32 scalar = -1e9
    node_eq = Equal(attn.bias, zero) -> eq bool 4x4
    @ namespace : Net/eq: aten.eq.Scalar
    node_Where = Where(eq, inf, x) -> y float32 2x4x4
    @ namespace : Net/masked_fill: aten.masked_fill.Scalar
    output y
  )");
  EXPECT_NE(text.find("masked_fill(x, eq) -> y"), std::string::npos) << text;
  EXPECT_NE(text.find("buffer attn.bias\n"), std::string::npos) << text;
}

// An index that was computed in floating point, by a call whose name a module may have.
TEST(Dynamo, WhatIsMadeIntegersIsNoParameter) {
  const std::string text = LowerText(R"(
    input x float32 4x8
    weight conv1d_1 float32 8
    node_cast = Cast(conv1d_1) -> idx int64 8
    node_gather = Gather(x, idx) -> y float32 4x8 {axis: 1}
    output y
  )");
  EXPECT_NE(text.find("buffer conv1d_1\n"), std::string::npos) << text;
}

// Frequencies of a sinusoidal position encoding: a vector, and no parameter.
TEST(Dynamo, APowerIsNoParameter) {
  const std::string text = LowerText(R"(
    input x float32 2x32
    weight pow_1 float32 32
    node_div = Div(x, pow_1) -> y float32 2x32
    output y
  )");
  EXPECT_NE(text.find("div(x, pow_1/computed) -> y"), std::string::npos) << text;
  EXPECT_EQ(text.find("parameter"), std::string::npos) << text;
}

TEST(Dynamo, AGroupNormKeepsItsScaleAndShift) {
  const std::string text = LowerText(R"(
    input x float32 2x8x4
    const folded int64 3 = 0 2 -1
    const shape int64 3 = 2 8 4
    weight val_15 float32 2
    weight val_18 float32 2
    weight val_28 float32 8x1
    weight val_30 float32 8x1
    node_Reshape = Reshape(x, folded) -> r float32 2x2x16
    @ namespace : Net/norm: torch.nn.GroupNorm/group_norm: aten.group_norm.default
    node_InstanceNormalization = InstanceNormalization(r, val_15, val_18) -> n float32 2x2x16
    @ namespace : Net/norm: torch.nn.GroupNorm/group_norm: aten.group_norm.default
    node_Reshape_1 = Reshape(n, shape) -> b float32 2x8x4
    @ namespace : Net/norm: torch.nn.GroupNorm/group_norm: aten.group_norm.default
    node_Mul = Mul(b, val_28) -> m float32 2x8x4
    @ namespace : Net/norm: torch.nn.GroupNorm/group_norm: aten.group_norm.default
    node_Add = Add(m, val_30) -> y float32 2x8x4
    @ namespace : Net/norm: torch.nn.GroupNorm/group_norm: aten.group_norm.default
    output y
  )");
  EXPECT_EQ(text.find("group_norm(x, val_28, val_30) -> y"), 0u) << text;
}

// Memory tokens of an attention, of which the file has a view: torch.cat([tokens[None].expand(batch, ...), keys]).
TEST(Dynamo, AViewOfALostParameterIsTheParameter) {
  const std::string text = R"(
    input q float32 2x4x9
    const all int64 3 = 2 4 9
    weight unsqueeze_2 float32 1x4x9
    node_expand = Expand(unsqueeze_2, all) -> expand float32 2x4x9
    @ lost_parameter attn.tokens
    node_add = Add(q, expand) -> y float32 2x4x9
    output y
  )";
  EXPECT_NE(LowerText(text).find("parameter unsqueeze_2\n"), std::string::npos) << LowerText(text);
  EXPECT_EQ(LowerText(absl::StrReplaceAll(text, {{"    @ lost_parameter attn.tokens\n", ""}})).find("parameter"),
            std::string::npos);
}

// dynamo's exporter before its optimizer has run.
TEST(Dynamo, PiecesOfASequenceAreASplit) {
  const std::string text = LowerText(R"(
    input x float32 2x5x24
    const size int64 scalar = 8
    const zero int64 scalar = 0
    const one int64 scalar = 1
    node_Relu = Relu(x) -> y float32 2x5x24
    node_Split = SplitToSequence(y, size) -> split float32 ?x?x? {axis: 2}
    node_At = SequenceAt(split, zero) -> a float32 2x5x8
    node_At_1 = SequenceAt(split, one) -> b float32 2x5x8
    node_Add = Add(a, b) -> z float32 2x5x8
    output z
  )");
  EXPECT_NE(text.find("split(y) -> a, b, split/0\n"), std::string::npos) << text;  // the third is made as well
  EXPECT_EQ(text.find("assumed"), std::string::npos) << text;
}

TEST(Dynamo, ASequenceOfMorePiecesThanAProgramTakesIsAssumed) {
  const std::string text = LowerText(R"(
    input x float32 2x4000000000000
    const size int64 scalar = 1
    const zero int64 scalar = 0
    node_Split = SplitToSequence(x, size) -> split float32 ?x? {axis: 1}
    node_At = SequenceAt(split, zero) -> y float32 2x1
    output y
  )");
  EXPECT_NE(text.find("assumed(x) -> split"), std::string::npos) << text;
}

// transformers spells a causal mask out only while it is traced.
constexpr std::string_view kHeads = R"(
    input k float32 2x4x16x8
    input v float32 2x4x16x8)";

// k[:, :, None].expand(2, 2, 2, 16, 8).reshape(2, 4, 16, 8)
constexpr std::string_view kRepeatedHeads = R"(
    input k_heads float32 2x2x16x8
    input v_heads float32 2x2x16x8
    const axis int64 1 = 2
    const groups int64 5 = 2 2 2 16 8
    const shape int64 4 = 2 4 16 8
    node_u = Unsqueeze(k_heads, axis) -> ku float32 2x2x1x16x8
    node_e = Expand(ku, groups) -> ke float32 2x2x2x16x8
    node_r = Reshape(ke, shape) -> k float32 2x4x16x8
    node_u1 = Unsqueeze(v_heads, axis) -> vu float32 2x2x1x16x8
    node_e1 = Expand(vu, groups) -> ve float32 2x2x2x16x8
    node_r1 = Reshape(ve, shape) -> v float32 2x4x16x8)";

// scaled_dot_product_attention(`call`) with a mask that a line of source makes; what it is lowered to.
std::string MaskedBy(const std::string& function, std::string_view heads = kHeads, const std::string& call = "",
                     std::string_view attributes = "causal gqa_groups") {
  constexpr char kText[] = R"(
    input q float32 2x4x16x8
    HEADS
    weight positions float32 1x1x1x16
    weight others float32 1x1x16x1
    node_Cos = Cos(positions) -> moving float32 1x1x1x16
    node_le = LessOrEqual(moving, others) -> mask bool 1x1x16x16
    @ namespace : Net/le: aten.le.Tensor
    @ pkg.torch.onnx.stack_trace File "site-packages/transformers/models/m/modeling_m.py", line 9, in forward\n    FUNCTION
    const zero float32 scalar = 0
    const low float32 scalar = -10000
    const s float32 scalar = 0.6
    node_Transpose = Transpose(k) -> kt float32 2x4x8x16 {perm: [0 1 3 2]}
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Mul = Mul(q, s) -> qs float32 2x4x16x8
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Mul_1 = Mul(kt, s) -> kts float32 2x4x8x16
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Where = Where(mask, zero, low) -> bias float32 1x1x16x16
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_MatMul = MatMul(qs, kts) -> scores float32 2x4x16x16
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Add = Add(scores, bias) -> masked float32 2x4x16x16
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_Softmax = Softmax(masked) -> p float32 2x4x16x16
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    node_MatMul_1 = MatMul(p, v) -> y float32 2x4x16x8
    @ namespace : Net/scaled_dot_product_attention: aten.scaled_dot_product_attention.default
    @ pkg.torch.onnx.fx_node %a : [num_users=1] = call_function[target=aten.scaled_dot_product_attention.default]CALL
    output y
  )";
  const std::string text =
      absl::StrReplaceAll(kText, {{"FUNCTION", function}, {"HEADS", std::string(heads)}, {"CALL", call}});
  return LowerText(text, {}, attributes);
}

TEST(Dynamo, MasksThatOnlyTracingMakesAreLeftOut) {
  const std::string traced = MaskedBy("causal_mask = create_causal_mask(");
  EXPECT_NE(traced.find("sdpa(q, k, v) -> y"), std::string::npos) << traced;
  const std::string own = MaskedBy("causal_mask = positions <= others");
  EXPECT_NE(own.find("sdpa(q, k, v, mask) -> y"), std::string::npos) << own;
}

// F.scaled_dot_product_attention(q, k, v, mask, 0.1) of a training export: the file has no Dropout, the call's text
// has.
TEST(Dynamo, TheCallTellsOfAnAttentionsDropout) {
  const auto called = [&](const std::string& call) {
    return MaskedBy("causal_mask = create_causal_mask(", kHeads, call, "dropout");
  };
  const std::string third = called("(args = (%q, %k, %v, None, 0.1), kwargs = {})");
  EXPECT_TRUE(Has(third, "sdpa(q, k, v) -> y dropout=0.1\n")) << third;
  const std::string named = called("(args = (%q, %k, %v), kwargs = {dropout_p: 0.25})");
  EXPECT_TRUE(Has(named, "sdpa(q, k, v) -> y dropout=0.25\n")) << named;
  const std::string none = called("(args = (%q, %k, %v), kwargs = {scale: 0.25})");
  EXPECT_TRUE(Has(none, "sdpa(q, k, v) -> y dropout=0\n")) << none;
}

// Code that repeats heads for a mask hands them on ungrouped where there is none.
TEST(Dynamo, HeadsThatOnlyTracingRepeatsAreGroups) {
  const std::string traced = MaskedBy("causal_mask = create_causal_mask(", kRepeatedHeads);
  EXPECT_TRUE(Has(traced, "sdpa(q, k_heads, v_heads) -> y causal=1 gqa_groups=2")) << traced;
  const std::string own = MaskedBy("causal_mask = positions <= others", kRepeatedHeads);
  EXPECT_TRUE(Has(own, "sdpa(q, k, v, mask) -> y causal=0 gqa_groups=1")) << own;
}

// table[index]: the index passes through a view first, and is no parameter; LeViT's 9 distances in a window of 3 x 3.
TEST(Dynamo, APickedTableIsTheParameterAndComesFirst) {
  const std::string text = LowerText(R"(
    input x float32 2x4x81
    weight val_7 float32 9x4
    weight attn.index int64 81
    const last int64 1 = -1
    node_Unsqueeze = Unsqueeze(attn.index, last) -> val_8 int64 81x1
    @ namespace : Net/index: aten.index.Tensor
    node_GatherND = GatherND(val_7, val_8) -> index float32 81x4
    @ namespace : Net/index: aten.index.Tensor
    node_permute = Transpose(index) -> p float32 4x81 {perm: [1 0]}
    node_add = Add(x, p) -> y float32 2x4x81
    output y
  )");
  EXPECT_NE(text.find("index(val_7, val_8) -> index"), std::string::npos) << text;
  EXPECT_NE(text.find("parameter val_7\n"), std::string::npos) << text;
}

// x[:, [-2]]: the index is made of a number of the code, within the call. The nodes stay, with their index.
TEST(Dynamo, AnIndexOfNumbersIsKept) {
  const std::string text = LowerText(R"(
    input x float32 8x2x16
    const last int64 1x1 = -2
    node_GatherND = GatherND(x, last) -> picked float32 1x2x16
    @ namespace : Net/index: aten.index.Tensor
    node_Transpose = Transpose(picked) -> index float32 2x1x16 {perm: [1 0 2]}
    @ namespace : Net/index: aten.index.Tensor
    node_Relu = Relu(index) -> y float32 2x1x16
    output y
  )");
  EXPECT_NE(text.find("index(x, "), std::string::npos) << text;
}

// table.repeat_interleave(2, 0) of one row copies it (aten/src/ATen/native/Repeat.cpp: clone), though its reshape could
// be a view.
TEST(Dynamo, ARepeatedRowIsCopied) {
  const std::string text = LowerText(R"(
    input x float32 2x3x4
    weight table float32 1x3x4
    const one int64 1 = 1
    const sizes int64 4 = 1 2 3 4
    const flat int64 3 = 2 3 4
    node_Unsqueeze = Unsqueeze(table, one) -> val_1 float32 1x1x3x4
    @ namespace : Net/repeat_interleave: aten.repeat_interleave.self_int
    node_Expand = Expand(val_1, sizes) -> val_2 float32 1x2x3x4
    @ namespace : Net/repeat_interleave: aten.repeat_interleave.self_int
    node_Reshape = Reshape(val_2, flat) -> repeat_interleave float32 2x3x4
    @ namespace : Net/repeat_interleave: aten.repeat_interleave.self_int
    node_add = Add(x, repeat_interleave) -> y float32 2x3x4
    output y
  )");
  EXPECT_TRUE(Has(text, "repeat(table) -> repeat_interleave\n")) << text;
}

// torch.std(x, 1) over frames: one operator along that axis, not along the last one as well.
std::string LoweredDeviation(const std::string& mean) {
  return LowerText(absl::StrCat(R"(
    input x float32 2x5x3
    const axes int64 1 = 1
    const count float32 scalar = 5
    const less float32 scalar = 4
    )",
                                mean, R"(
    node_Sub = Sub(x, u) -> d float32 2x5x3
    @ namespace : Net/var: prims.var.default
    node_Mul = Mul(d, d) -> s float32 2x5x3
    @ namespace : Net/var: prims.var.default
    node_ReduceMean_1 = ReduceMean(s, axes) -> m float32 2x3 {keepdims: 0}
    @ namespace : Net/var: prims.var.default
    node_Mul_1 = Mul(m, count) -> n float32 2x3
    @ namespace : Net/var: prims.var.default
    node_var = Div(n, less) -> var float32 2x3
    @ namespace : Net/var: prims.var.default
    node_sqrt = Sqrt(var) -> y float32 2x3
    @ namespace : Net/sqrt: aten.sqrt.default
    output y
  )"),
                   {}, "axes axis");
}

TEST(Dynamo, AVarianceKeepsItsAxis) {
  const std::string text = LoweredDeviation(R"(node_ReduceMean = ReduceMean(x, axes) -> u float32 2x1x3 {keepdims: 1}
    @ namespace : Net/var: prims.var.default)");
  EXPECT_NE(text.find("var(x) -> var axes=[1]\n"), std::string::npos) << text;
}

// torch.mean(x, 1, keepdim=True) beside it, which the optimizer made one with the variance's.
TEST(Dynamo, AVarianceIsOneOperatorBesideAMeanOfTheCode) {
  const std::string text = LoweredDeviation(R"(node_ReduceMean = ReduceMean(x, axes) -> u float32 2x1x3 {keepdims: 1}
    @ namespace : Net/mean: aten.mean.dim
    node_Relu = Relu(u) -> r float32 2x1x3
    @ namespace : Net/relu: aten.relu.default
    output r)");
  EXPECT_NE(text.find("var(x) -> var axes=[1]\n"), std::string::npos) << text;
}

// (x - mean) for the variance and once more for the result: the optimizer left one, and a gap in the numbers.
constexpr std::string_view kCentered = R"(
    input x float32 2x8
    const axes int64 1 = -1
    const two float32 scalar = 2
    const eps float32 scalar = 0.00001
    node_mean = ReduceMean(x, axes) -> mean float32 2x1 {keepdims: 1}
    @ namespace : Net/mean: aten.mean.dim
    node_sub = Sub(x, mean) -> sub float32 2x8
    @ namespace : Net/sub: aten.sub.Tensor
    node_pow = Pow(sub, two) -> pow_1 float32 2x8
    @ namespace : Net/pow_1: aten.pow.Tensor_Scalar
    node_mean_1 = ReduceMean(pow_1, axes) -> mean_1 float32 2x1 {keepdims: 1}
    @ namespace : Net/mean_1: aten.mean.dim
    node_add = Add(mean_1, eps) -> add float32 2x1
    @ namespace : Net/add: aten.add.Tensor
    node_sqrt = Sqrt(add) -> sqrt float32 2x1
    @ namespace : Net/sqrt: aten.sqrt.default
    node_div = Div(sub, sqrt) -> div float32 2x8
    @ namespace : Net/div: aten.div.Tensor
    node_sub_2 = Sub(div, mean) -> sub_NEXT float32 2x8
    @ namespace : Net/sub_NEXT: aten.sub.Tensor
    output sub_NEXT
)";

TEST(Dynamo, AGapInTheNumbersTellsOfAMergedDifference) {
  const std::string merged = LowerText(absl::StrReplaceAll(std::string(kCentered), {{"NEXT", "2"}}));
  EXPECT_NE(merged.find("div(sub again, sqrt) -> div"), std::string::npos) << merged;
  const std::string written_once = LowerText(absl::StrReplaceAll(std::string(kCentered), {{"NEXT", "1"}}));
  EXPECT_NE(written_once.find("div(sub, sqrt) -> div"), std::string::npos) << written_once;
}

// torch.export lifts tensors that a module keeps without registering them (a cache); they are not trained.
TEST(Dynamo, LiftedTensorsAreNoParameters) {
  const std::string text = LowerText(R"(
    input x float32 2x4x4
    weight attn.lifted_tensor_0 float32 2x4x4
    node_add = Add(x, attn.lifted_tensor_0) -> y float32 2x4x4
    output y
  )");
  EXPECT_NE(text.find("buffer attn.lifted_tensor_0"), std::string::npos) << text;
}

}  // namespace
}  // namespace onnx_mem
