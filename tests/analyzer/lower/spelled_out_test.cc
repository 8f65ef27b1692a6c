// Operators that exporters spell out, each as the exporter writes it, and one that only looks like it.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "analyzer/lower/draft/patterns.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// TorchScript: x.std(-1, keepdim=True) of 8 elements.
constexpr std::string_view kStd = R"(
    input x float32 2x8
    const n float32 scalar = 8
    const m float32 scalar = 7
    /ReduceMean = ReduceMean(x) -> mean float32 2x1 {axes: [-1]}
    /Sub = Sub(x, mean) -> d float32 2x8
    /Mul = Mul(d, d) -> q float32 2x8
    /ReduceMean_1 = ReduceMean(q) -> v float32 2x1 {axes: [-1]}
    /Mul_1 = Mul(v, n) -> s float32 2x1
    /Div = Div(s, m) -> u float32 2x1
    /Sqrt = Sqrt(u) -> y float32 2x1
    output y
)";

TEST(SpelledOut, StandardDeviation) { EXPECT_EQ(LowerText(kStd, {}, "axes"), "std(x) -> y axes=[1]\n"); }

TEST(SpelledOut, WhatAnotherReadsStays) {
  std::string text(kStd);
  text += "    output d\n";
  EXPECT_EQ(LowerText(text).find("std("), std::string::npos);
}

// torch_lib: max_pool2d(x, 2, return_indices=True), and what reads its two results.
const std::string kPoolOfIndices = R"(
    input x float32 2x3x8x8
    const from int64 2 = 0 0
    const to int64 2 = 1 1
    const axes int64 2 = 2 3
    node_MaxPool = MaxPool(x) -> p float32 2x3x4x4, i int64 2x3x4x4 {kernel_shape: [2 2], strides: [2 2]}
    node_MaxPool_1 = MaxPool(x) -> q float32 2x3x8x8, j int64 2x3x8x8 {kernel_shape: [1 1], strides: [1 1]}
    node_Slice = Slice(j, from, to, axes) -> k int64 2x3x1x1
    node_Sub = Sub(i, k) -> y int64 2x3x4x4
    node_relu = Relu(p) -> z float32 2x3x4x4
    output y
    output z
)";

TEST(SpelledOut, IndicesOfAPoolAreItsOwn) {
  EXPECT_EQ(LowerText(kPoolOfIndices), "max_pool(x) -> p, y\nrelu(p) -> z\n");
  const std::string wide = absl::StrReplaceAll(kPoolOfIndices, {{"[1 1], s", "[3 3], s"}});
  EXPECT_TRUE(Has(LowerText(wide), "sub(i, k) -> y")) << "two pools";
  EXPECT_TRUE(Has(LowerText(absl::StrCat(kPoolOfIndices, "    output i\n")), "sub(i, k) -> y")) << "i is read";
}

TEST(SpelledOut, LogarithmsByTheirBaseAndOrder) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x8
    const one float32 scalar = 1
    const ten float32 scalar = 2.3025851
    const two float32 scalar = 0.6931472
    const other float32 scalar = 1.5
    /Add = Add(one, x) -> a float32 2x8
    /Log = Log(a) -> y float32 2x8
    /Add_1 = Add(x, one) -> b float32 2x8
    /Log_1 = Log(b) -> z float32 2x8
    /Log_2 = Log(x) -> c float32 2x8
    /Div = Div(c, ten) -> u float32 2x8
    /Log_3 = Log(y) -> d float32 2x8
    /Div_1 = Div(d, two) -> v float32 2x8
    /Log_4 = Log(z) -> e float32 2x8
    /Div_2 = Div(e, other) -> w float32 2x8
    output u
    output v
    output w
  )"),
            "log1p(x) -> y\nadd_scalar(x) -> b\nlog(b) -> z\nlog10(x) -> u\nlog2(y) -> v\nlog(z) -> e\n"
            "div_scalar(e) -> w\n");
}

TEST(SpelledOut, LogitAndShrinks) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x8
    const eps float32 scalar = 1e-06
    const top float32 scalar = 0.999999
    const one float32 scalar = 1
    const l float32 scalar = 0.5
    const n float32 scalar = -0.5
    const zero float32 scalar = 0
    /Greater = Greater(top, x) -> g bool 2x8
    /Where = Where(g, x, top) -> v float32 2x8
    /Less = Less(v, eps) -> c bool 2x8
    /Where_1 = Where(c, eps, v) -> w float32 2x8
    /Sub = Sub(one, w) -> r float32 2x8
    /Div = Div(w, r) -> d float32 2x8
    /Log = Log(d) -> y float32 2x8
    /Greater_1 = Greater(y, l) -> g1 bool 2x8
    /Sub_1 = Sub(y, l) -> s1 float32 2x8
    /Where_2 = Where(g1, s1, zero) -> w1 float32 2x8
    /Less_1 = Less(y, n) -> l1 bool 2x8
    /Add_1 = Add(y, l) -> a1 float32 2x8
    /Where_3 = Where(l1, a1, zero) -> w2 float32 2x8
    /Add_2 = Add(w1, w2) -> z float32 2x8
    /Greater_2 = Greater(z, l) -> g2 bool 2x8
    /Less_2 = Less(z, n) -> l2 bool 2x8
    /Or = Or(g2, l2) -> o bool 2x8
    /Where_4 = Where(o, z, zero) -> u float32 2x8
    output u
  )"),
            "logit(x) -> y\nsoftshrink(y) -> z\nhardshrink(z) -> u\n");
}

// torch.lerp by a number and by a tensor, F.pairwise_distance, remainder.
TEST(SpelledOut, CompositesOfTwoTensors) {
  EXPECT_EQ(LowerText(R"(
    input a float32 2x8
    input b float32 2x8
    const yes bool scalar = 1
    const w float32 scalar = 0.3
    const v float32 scalar = 0.7
    const one float32 scalar = 1
    const half float32 scalar = 0.5
    const two float32 scalar = 2
    const root float32 scalar = 0.49999975
    /Sub = Sub(b, a) -> d float32 2x8
    /Mul = Mul(w, d) -> m float32 2x8
    /Add = Add(a, m) -> near float32 2x8
    /Mul_1 = Mul(d, v) -> n float32 2x8
    /Sub_1 = Sub(b, n) -> far float32 2x8
    /Where = Where(yes, near, far) -> y float32 2x8
    /Sub_2 = Sub(y, a) -> e float32 2x8
    /Less = Less(b, half) -> l bool 2x8
    /Mul_2 = Mul(b, e) -> o float32 2x8
    /Add_1 = Add(a, o) -> p float32 2x8
    /Sub_3 = Sub(one, b) -> q float32 2x8
    /Mul_3 = Mul(e, q) -> r float32 2x8
    /Sub_4 = Sub(y, r) -> s float32 2x8
    /Where_1 = Where(l, p, s) -> z float32 2x8
    /Div = Div(z, b) -> f float32 2x8
    /Floor = Floor(f) -> g float32 2x8
    /Mul_4 = Mul(g, b) -> h float32 2x8
    /Sub_5 = Sub(z, h) -> u float32 2x8
    /Sub_6 = Sub(u, a) -> i float32 2x8
    /Pow = Pow(i, two) -> j float32 2x8
    /ReduceSum = ReduceSum(j) -> k float32 2 {axes: [1], keepdims: 0}
    /Pow_1 = Pow(k, root) -> t float32 2
    output t
  )"),
            "lerp(a, b) -> y\nlerp(a, y, b) -> z\nremainder(z, b) -> u\npairwise_distance(u, a) -> t\n");
}

// torch.zeros_like(x).index_add(1, index, x), and the count of truth values, whose cast is none.
TEST(SpelledOut, IndexAddAndCounts) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x8x4
    input idx int64 8
    const zero float32 scalar = 0
    const shape int64 3 = 2 8 4
    const first int64 1 = 0
    const last int64 1 = 2
    const axes int64 1 = -1
    /ConstantOfShape = ConstantOfShape(shape) -> s float32 2x8x4
    /ConstantOfShape_1 = ConstantOfShape(shape) -> t float32 2x8x4
    /Expand = Expand(x, shape) -> e float32 2x8x4
    /Unsqueeze = Unsqueeze(idx, first) -> i float32 1x8
    /Unsqueeze_1 = Unsqueeze(i, last) -> j float32 1x8x1
    /Expand_1 = Expand(j, shape) -> k int64 2x8x4
    /ScatterElements = ScatterElements(t, k, e) -> m float32 2x8x4 {axis: 1}
    /Add = Add(s, m) -> y float32 2x8x4
    /Greater = Greater(y, zero) -> g bool 2x8x4
    /Cast = Cast(g) -> c int64 2x8x4 {to: 7}
    /ReduceSum = ReduceSum(c, axes) -> n int64 2x8x1
    output y
    output n
  )",
                      {}, "axis"),
            "full() -> s\nindex_add(s, idx, x) -> y axis=1 inplace\ncompare(y) -> g\nsum(g) -> n\n");
}

TEST(SpelledOut, PatchesAreUnfolded) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x3x8x8
    input i int64 3x8
    input j int64 3x8
    const pads int64 8 = 0 0 1 1 0 0 1 1
    const shape int64 3 = 2 27 64
    /Pad = Pad(x, pads) -> p float32 2x3x10x10
    /Gather = Gather(p, i) -> a float32 2x3x3x8x10 {axis: 2}
    /Gather_1 = Gather(a, j) -> b float32 2x3x3x8x3x8 {axis: 4}
    /Transpose = Transpose(b) -> t float32 2x3x3x3x8x8 {perm: [0 1 2 4 3 5]}
    /Reshape = Reshape(t, shape) -> y float32 2x27x64
    output y
  )"),
            "im2col(x) -> y\n");
}

// A decomposition adds epsilon by add.Scalar; code that computes the norm itself does not.
TEST(SpelledOut, RmsNormOfADecomposition) {
  const auto text = [](std::string_view overload) {
    return absl::StrCat(R"(
    input x float32 2x8
    weight norm.weight float32 8
    const two float32 scalar = 2
    const eps float32 scalar = 1e-06
    node_Pow = Pow(x, two) -> p float32 2x8
    node_Mean = ReduceMean(p) -> m float32 2x1 {axes: [1]}
    node_Add = Add(m, eps) -> a float32 2x1
    @ namespace : Net/norm: torch.nn.RMSNorm/add_1: aten.)",
                        std::string(overload), R"(
    node_Sqrt = Sqrt(a) -> s float32 2x1
    node_Reciprocal = Reciprocal(s) -> r float32 2x1
    node_Mul = Mul(x, r) -> n float32 2x8
    node_Mul_1 = Mul(n, norm.weight) -> y float32 2x8
    output y
  )");
  };
  const auto in_norm = [&](std::string_view overload) {
    std::string all;
    for (const auto& line : absl::StrSplit(text(overload), '\n')) {
      absl::StrAppend(&all, line, "\n");
      const bool node = absl::StrContains(line, "->") && !absl::StrContains(line, "node_Add");
      if (node) absl::StrAppend(&all, "    @ namespace : Net/norm: torch.nn.RMSNorm/op: aten.op.default\n");
    }
    return all;
  };
  EXPECT_EQ(LowerText(in_norm("add.Scalar")), "rms_norm(x, norm.weight) -> y [norm]\nparameter norm.weight\n");
  EXPECT_EQ(LowerText(in_norm("add.Tensor")).find("rms_norm"), std::string::npos);
}

constexpr std::string_view kLstmCell = R"(
    input x float32 2x3
    input h float32 2x4
    input c float32 2x4
    weight r.weight_ih float32 16x3
    weight r.weight_hh float32 16x4
    weight r.bias_ih float32 16
    weight r.bias_hh float32 16
    /r/Gemm = Gemm(h, r.weight_hh, r.bias_hh) -> a float32 2x16 {transB: 1}
    /r/Gemm_1 = Gemm(x, r.weight_ih, r.bias_ih) -> b float32 2x16 {transB: 1}
    /r/Add = Add(a, b) -> s float32 2x16
    /r/Split = Split(s) -> i float32 2x4, f float32 2x4, g float32 2x4, o float32 2x4 {axis: 1}
    /r/Sigmoid = Sigmoid(i) -> si float32 2x4
    /r/Sigmoid_1 = Sigmoid(f) -> sf float32 2x4
    /r/Tanh = Tanh(g) -> tg float32 2x4
    /r/Sigmoid_2 = Sigmoid(o) -> so float32 2x4
    /r/Mul = Mul(sf, c) -> fc float32 2x4
    /r/Mul_1 = Mul(si, tg) -> ig float32 2x4
    /r/Add_1 = Add(fc, ig) -> c1 float32 2x4
    /r/Tanh_1 = Tanh(c1) -> tc float32 2x4
    /r/Mul_2 = Mul(so, tc) -> h1 float32 2x4
    output h1
    output c1
)";

TEST(Cells, LstmCell) {
  const std::string text = LowerText(kLstmCell);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "lstm_cell(x, h, c, r.weight_ih, r.weight_hh, r.bias_ih, r.bias_hh) -> h1, c1 [r]");
}

// torch.onnx.export(dynamo=True) writes no module at it.
TEST(Cells, ASplitWithoutAModule) {
  std::string text(kLstmCell);
  text.replace(text.find("/r/Split"), 8, "node_Split_4");
  EXPECT_TRUE(LowerText(text).starts_with("lstm_cell(")) << LowerText(text);
}

TEST(Cells, OnesOwnCellIsWhatItSays) {
  std::string text(kLstmCell);
  for (size_t at; (at = text.find("weight_hh")) != std::string::npos;) text.replace(at, 9, "recurrent");
  EXPECT_EQ(LowerText(text).find("lstm_cell"), std::string::npos);
}

TEST(Expression, IsOkAsFarAsItsTextIs) {
  for (const char* text : {"sqrt(add(x,_))", "mul!(S:split{axis=$a}(x),sigmoid(S.1))", "linear|addmm(x,w,b?)",
                           "gelu{approximate='none'}(x)", "permute{perm=[0 2 1]}(x)", "erf((mul(x,0.5)|div(x,-2)))"})
    EXPECT_TRUE(Expression(text).ok()) << text;
  for (const char* text : {"", "sqrt(", "sqrt(x))", "mul(x,", "a{k=}(x)", "a{k=[1 x]}(x)", "(x|", "x.", "D:", "s{",
                           "a{k='t}(x)", "mul(x,1.2.3)", "a|(x)", "mul(x y)", "$"})
    EXPECT_FALSE(Expression(text).ok()) << text;
}

}  // namespace
}  // namespace onnx_mem
