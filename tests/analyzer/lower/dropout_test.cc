// The dropouts that an evaluation export has lost: where they come back, and when without being requested.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

const Diagnostic* Find(const Lowered& lowered, Code code) {
  const auto it = std::find_if(lowered.diagnostics.begin(), lowered.diagnostics.end(),
                               [&](const Diagnostic& d) { return d.code == code; });
  return it == lowered.diagnostics.end() ? nullptr : &*it;
}

int Dropouts(const std::string& text, const Run& run = Run()) { return Count(LowerText(text, run), "dropout("); }

constexpr std::string_view kResidualLinear = R"(
    input x float32 2x8
    weight fc.weight float32 8x8
    weight out.weight float32 8x8
    /fc/Gemm = Gemm(x, fc.weight) -> h float32 2x8 {transB: 1}
    /out/Gemm = Gemm(h, out.weight) -> o float32 2x8 {transB: 1}
    /Add = Add(h, o) -> y float32 2x8
    output y
)";

TEST(Dropout, ComesBackOnTheResidualBranchWhereItIsRequested) {
  EXPECT_EQ(LowerText(kResidualLinear).find("dropout"), std::string::npos);
  onnx_mem::Run run;
  run.dropout = 0.1;
  EXPECT_EQ(LowerText(kResidualLinear, run),
            "linear(x, fc.weight) -> h [fc]\n"
            "linear(h, out.weight) -> o [out]\n"
            "dropout(o) -> o/dropout [out]\n"
            "add(h, o/dropout) -> y\n"
            "parameter fc.weight\n"
            "parameter out.weight\n");
}

// Each sum doubles the ways back to the embedding; the search for the last one must not take them all.
TEST(Rewrites, ALongChainOfSumsOfAnEmbeddingHasOneDropout) {
  std::string text =
      "input ids int64 2x8\nweight table.weight float32 10x4\n"
      "/e/Gather = Gather(table.weight, ids) -> s0 float32 2x8x4\n";
  constexpr int kSums = 60;
  for (int i = 0; i < kSums; ++i) {
    absl::StrAppend(&text, "/Add_", i, " = Add(s", i, ", s", i, ") -> s", i + 1, " float32 2x8x4\n");
  }
  absl::StrAppend(&text, "output s", kSums, "\n");
  onnx_mem::Run run;
  run.dropout = 0.1;
  const std::string lowered = LowerText(text, run);
  const size_t first = lowered.find("dropout(");
  EXPECT_EQ(lowered.find("dropout(", first + 1), std::string::npos) << lowered;
}

// T5: no biases, a dropout behind the relu.
TEST(Dropout, ComesBackInFeedForwardLayersWithoutBiases) {
  onnx_mem::Run run;
  run.dropout = 0.1;
  const std::string text = LowerText(R"(
    input x float32 2x4x8
    weight onnx::MatMul_12 float32 8x16
    weight onnx::MatMul_13 float32 16x8
    /wi/MatMul = MatMul(x, onnx::MatMul_12) -> h float32 2x4x16
    /act/Relu = Relu(h) -> r float32 2x4x16
    /wo/MatMul = MatMul(r, onnx::MatMul_13) -> y float32 2x4x8
    output y
  )",
                                     run);
  EXPECT_NE(text.find("dropout(r) -> r/dropout"), std::string::npos) << text;
}

// Between linear layers, and ahead of the last one.
constexpr std::string_view kClassifier = R"(
    input x float32 2x8
    weight a.weight float32 64x8
    weight b.weight float32 64x64
    weight c.weight float32 4x64
    /a/Gemm = Gemm(x, a.weight) -> h float32 2x64 {transB: 1}
    /r/Relu = Relu(h) -> r float32 2x64
    /b/Gemm = Gemm(r, b.weight) -> i float32 2x64 {transB: 1}
    /s/Relu = Relu(i) -> s float32 2x64
    /c/Gemm = Gemm(s, c.weight) -> y float32 2x4 {transB: 1}
    output y
)";

TEST(Dropout, ComesBackInAClassifierWhereItIsRequested) {
  onnx_mem::Run run;
  run.dropout = 0.5;
  const std::string text = LowerText(kClassifier, run);
  EXPECT_NE(text.find("linear(r/dropout, b.weight) -> i"), std::string::npos) << text;
  EXPECT_NE(text.find("linear(s/dropout, c.weight) -> y"), std::string::npos) << text;
}

// Two results of 2 x 64: a mask of 1 byte and a dropped result of 4 each. That a model without attention drops is not
// known, so a note says it.
TEST(Dropout, AModelWithoutAttentionMayHaveLostSome) {
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(kClassifier), onnx_mem::Run());
  ASSERT_TRUE(lowered.ok());
  const auto it = std::find_if(lowered->diagnostics.begin(), lowered->diagnostics.end(),
                               [](const Diagnostic& d) { return d.code == Code::kEvalDropout; });
  ASSERT_NE(it, lowered->diagnostics.end());
  EXPECT_EQ(it->severity, Severity::kNote);
  EXPECT_EQ(it->bytes, 2 * 2 * 64 * 5);
}

// A block of norms ahead of their convolutions drops between these, not the sum that it begins with.
TEST(Dropout, AStreamIsNotDroppedWhereABlockNormalizesIt) {
  onnx_mem::Run run;
  run.dropout = 0.3;
  run.dropout_everywhere = true;
  const std::string text = LowerText(R"(
    input x float32 2x8x4x4
    input z float32 2x8x4x4
    weight n.w float32 8
    weight n.b float32 8
    weight n.m float32 8
    weight n.v float32 8
    weight c.w float32 8x8x1x1
    weight d.w float32 8x8x1x1
    /Add = Add(x, z) -> s float32 2x8x4x4
    /n1/Norm = BatchNormalization(s, n.w, n.b, n.m, n.v) -> a float32 2x8x4x4
    /Relu = Relu(a) -> b float32 2x8x4x4
    /c/Conv = Conv(b, c.w) -> c float32 2x8x4x4
    /n2/Norm = BatchNormalization(c, n.w, n.b, n.m, n.v) -> d float32 2x8x4x4
    /Relu_1 = Relu(d) -> e float32 2x8x4x4
    /d/Conv = Conv(e, d.w) -> y float32 2x8x4x4
    output y
  )",
                                     run);
  EXPECT_EQ(text.find("b/dropout"), std::string::npos) << text;
  EXPECT_NE(text.find("e/dropout"), std::string::npos) << text;
}

// 2 x 4 heads x 16 x 16 weights: a mask of 1 byte and a dropped result of 4 each.
TEST(Dropout, WhatIsNotCountedIsSaidInBytes) {
  std::string text(kAttention);
  onnx_mem::Run run;
  run.training = true;
  run.attention = AttentionKernel::kEager;
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(text), run);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const auto lost = std::find_if(lowered->diagnostics.begin(), lowered->diagnostics.end(),
                                 [](const Diagnostic& d) { return d.code == Code::kEvalDropout; });
  ASSERT_NE(lost, lowered->diagnostics.end());
  EXPECT_EQ(lost->bytes, 2 * 4 * 16 * 16 * 5);
}

// One block: attention weights p of normed or plain x, a linear into the residual sum, a norm, a feed-forward layer
// with this activation, a second sum and norm.
std::string Block(int number, bool post_norm, std::string_view activation, std::string_view shared = "") {
  const std::string n = absl::StrCat("l", number, "."), w = shared.empty() ? n : std::string(shared);
  const std::string x = absl::StrCat("x", number), y = absl::StrCat("x", number + 1);
  const auto linear = [&](std::string_view name, std::string_view from) {
    return absl::StrCat("/", n, std::string(name), "/MatMul = MatMul(", std::string(from), ", onnx::MatMul_", w,
                        std::string(name), ") -> ", n, std::string(name), " float32 2x4x8\n");
  };
  const auto norm = [&](std::string_view name, std::string_view from, std::string_view to) {
    return absl::StrCat("/", n, std::string(name), "/LayerNormalization = LayerNormalization(", std::string(from),
                        ", ln.w, ln.b) -> ", std::string(to), " float32 2x4x8 {axis: -1}\n");
  };
  std::string text;
  const std::string in = post_norm ? x : n + "h";
  if (!post_norm) text += norm("n1", x, in);
  for (const char* name : {"q", "k", "v"}) text += linear(name, in);
  absl::StrAppend(&text, "/", n, "T = Transpose(", n, "k) -> ", n, "kt float32 2x8x4 {perm: [0 2 1]}\n");
  absl::StrAppend(&text, "/", n, "S = MatMul(", n, "q, ", n, "kt) -> ", n, "s float32 2x4x4\n");
  absl::StrAppend(&text, "/", n, "Softmax = Softmax(", n, "s) -> ", n, "p float32 2x4x4 {axis: -1}\n");
  absl::StrAppend(&text, "/", n, "C = MatMul(", n, "p, ", n, "v) -> ", n, "c float32 2x4x8\n");
  text += linear("o", n + "c");
  absl::StrAppend(&text, "/", n, "Add = Add(", x, ", ", n, "o) -> ", n, "a float32 2x4x8\n");
  text += norm("n2", n + "a", n + "b");
  text += linear("f", n + "b");
  absl::StrAppend(&text, "/", n, "Act = ", std::string(activation), "(", n, "f) -> ", n, "g float32 2x4x8\n");
  absl::StrAppend(&text, "/", n, "u/MatMul = MatMul(", n, "g, onnx::MatMul_", w, "u) -> ", n, "u float32 2x4x8\n");
  absl::StrAppend(&text, "/", n, "Add_1 = Add(", post_norm ? n + "b" : n + "a", ", ", n, "u) -> ",
                  post_norm ? n + "e" : y, " float32 2x4x8\n");
  if (post_norm) text += norm("n3", n + "e", y);
  return text;
}

std::string Weights(std::string_view prefix) {
  std::string text;
  for (const char* name : {"q", "k", "v", "o", "f", "u"}) {
    absl::StrAppend(&text, "weight onnx::MatMul_", std::string(prefix), name, " float32 8x8\n");
  }
  return text;
}

std::string Transformer(bool post_norm, std::string_view activation, bool shared = false) {
  std::string text =
      "input i float32 2x4x8\n/Relu = Relu(i) -> x0 float32 2x4x8\nweight ln.w float32 8\nweight ln.b float32 8\n";
  absl::StrAppend(&text, Weights(shared ? "s." : "l0."), shared ? "" : Weights("l1."));
  absl::StrAppend(&text, Block(0, post_norm, activation, shared ? "s." : ""),
                  Block(1, post_norm, activation, shared ? "s." : ""));
  return text + "output x2\n";
}

Run Eager() {
  Run run;
  run.attention = AttentionKernel::kEager;
  return run;
}

// Of each layer: attention weights, what attention and feed-forward layer add to the stream.
TEST(DropoutRecipe, APostNormTransformerHasItsOwn) {
  EXPECT_EQ(Dropouts(Transformer(true, "Gelu"), Eager()), 6);
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(Transformer(true, "Gelu")), Eager());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const Diagnostic* assumed = Find(*lowered, Code::kDropoutAssumed);
  ASSERT_NE(assumed, nullptr);
  EXPECT_EQ(assumed->severity, Severity::kWarning);
  EXPECT_EQ(assumed->count, 6);
  EXPECT_EQ(Find(*lowered, Code::kEvalDropout), nullptr);
}

TEST(DropoutRecipe, AReluInAPostNormTransformerIsThatOfTheFrameworksOwnLayer) {
  EXPECT_EQ(Dropouts(Transformer(true, "Relu"), Eager()), 8);
}

TEST(DropoutRecipe, AsInTheFileWhereThatIsRequested) {
  onnx_mem::Run run = Eager();
  run.dropout = 0.0;
  EXPECT_EQ(Dropouts(Transformer(true, "Gelu"), run), 0);
}

TEST(DropoutRecipe, OfNormsAheadOfTheirLayersNothingIsKnown) {
  EXPECT_EQ(Dropouts(Transformer(false, "Gelu"), Eager()), 0);
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(Transformer(false, "Gelu")), Eager());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_NE(Find(*lowered, Code::kEvalDropout), nullptr);
}

// The names of a transformer's modules, where its norms do not tell: /l0.f becomes /l0.linear1.
std::string Named(std::string_view first, std::string_view second) {
  return absl::StrReplaceAll(Transformer(false, "Gelu"), {{"/l0.f/", absl::StrCat("/l0.", std::string(first), "/")},
                                                          {"/l1.f/", absl::StrCat("/l1.", std::string(first), "/")},
                                                          {"/l0.u/", absl::StrCat("/l0.", std::string(second), "/")},
                                                          {"/l1.u/", absl::StrCat("/l1.", std::string(second), "/")}});
}

// The layers as children of nn.TransformerEncoderLayer are called, whose attention multiplies with its weights itself.
std::string AsTorchLayers(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const char* layer : {"/l0.", "/l1."}) {
    for (const char* part : {"q", "k", "v", "o"})
      names.emplace_back(absl::StrCat(layer, part, "/"), absl::StrCat(layer, "self_attn/"));
    names.emplace_back(absl::StrCat(layer, "n1/"), absl::StrCat(layer, "norm1/"));
    names.emplace_back(absl::StrCat(layer, "n2/"), absl::StrCat(layer, "norm2/"));
  }
  return absl::StrReplaceAll(text, names);
}

TEST(DropoutRecipe, TheFrameworksOwnLayersDropWhereverTheirNormsAre) {  // norm_first=True
  EXPECT_EQ(Dropouts(AsTorchLayers(Named("linear1", "linear2")), Eager()), 8);
  EXPECT_EQ(Dropouts(AsTorchLayers(Named("fc1", "fc2")), Eager()), 0);
}

// MONAI's MLP blocks have children of those names too, in layers of another build.
TEST(DropoutRecipe, TwoLinearsCalledAsTheFrameworksAreNoProof) {
  const std::string alone = Named("linear1", "linear2");
  EXPECT_EQ(Dropouts(alone, Eager()), 0);
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(alone), Eager());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_NE(Find(*lowered, Code::kEvalDropout), nullptr);
  const std::string other_attention = absl::StrReplaceAll(
      AsTorchLayers(alone), {{"/l0.self_attn/", "/l0.self_attn.proj/"}, {"/l1.self_attn/", "/l1.self_attn.proj/"}});
  EXPECT_EQ(Dropouts(other_attention, Eager()), 0) << "nn.MultiheadAttention calls no modules";
}

TEST(DropoutRecipe, OneSetOfWeightsInEveryLayerTrainsWithout) {
  EXPECT_EQ(Dropouts(Transformer(true, "Gelu", true), Eager()), 0);
}

TEST(DropoutRecipe, ANumberMissingInASequentialIsADropout) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    weight head.1.weight float32 64x8
    weight head.4.weight float32 4x64
    /Relu = Relu(x) -> r float32 2x8
    /head/head.1/Gemm = Gemm(r, head.1.weight) -> h float32 2x64 {transB: 1}
    /head/head.2/Relu = Relu(h) -> s float32 2x64
    /head/head.4/Gemm = Gemm(s, head.4.weight) -> y float32 2x4 {transB: 1}
    output y
  )");
  EXPECT_NE(text.find("linear(r/dropout, head.1.weight)"), std::string::npos) << text;
  EXPECT_NE(text.find("linear(s/dropout, head.4.weight)"), std::string::npos) << text;
}

// head.1 is a BatchNorm in the convolution; two numbers missing in a row may be anything.
TEST(DropoutRecipe, AGapBehindAConvolutionIsAFoldedNorm) {
  EXPECT_EQ(Dropouts(R"(
    input x float32 2x3x8x8
    weight head.0.weight float32 4x3x3x3
    weight head.5.weight float32 4x4x3x3
    /head/head.0/Conv = Conv(x, head.0.weight) -> h float32 2x4x6x6
    /head/head.2/Relu = Relu(h) -> s float32 2x4x6x6
    /head/head.5/Conv = Conv(s, head.5.weight) -> y float32 2x4x4x4
    output y
  )"),
            0);
}

TEST(DropoutRecipe, ConvolutionsCutToCausalOnesDropBehindTheirActivations) {
  EXPECT_EQ(Dropouts(R"(
    input x float32 2x4x16
    weight a.weight float32 4x4x3
    weight b.weight float32 4x4x3
    const from int64 1 = 0
    const to int64 1 = -2
    const axis int64 1 = 2
    /a/Conv = Conv(x, a.weight) -> a float32 2x4x18 {pads: [2 2]}
    /Slice = Slice(a, from, to, axis) -> c float32 2x4x16
    /Relu = Relu(c) -> r float32 2x4x16
    /b/Conv = Conv(r, b.weight) -> b float32 2x4x18 {pads: [2 2]}
    /Slice_1 = Slice(b, from, to, axis) -> d float32 2x4x16
    /Relu_1 = Relu(d) -> s float32 2x4x16
    /Add = Add(s, x) -> y float32 2x4x16
    output y
  )"),
            2);
}

// Children 2 and 3 of an nn.Sequential run in a row: there is no dropout between them, whatever the layer looks like.
TEST(DropoutRecipe, NeighboursInASequentialHaveNoneBetweenThem) {
  std::string text = Transformer(true, "Relu");
  for (const char* layer : {"l0", "l1"}) {
    text = absl::StrReplaceAll(
        text, {{absl::StrCat("/", layer, ".Act = "), absl::StrCat("/", layer, "/ff/ff.1/Relu = ")},
               {absl::StrCat("/", layer, ".u/MatMul = "), absl::StrCat("/", layer, "/ff/ff.2/MatMul = ")}});
  }
  EXPECT_EQ(Dropouts(text, Eager()), 6) << LowerText(text, Eager());
  EXPECT_EQ(Dropouts(absl::StrReplaceAll(text, {{"ff.2", "ff.3"}}), Eager()), 8);
}

// A softmax over what a linear gives makes the kernels of a dynamic convolution.
TEST(Dropout, KernelsOfADynamicConvolutionAreNoAttentionWeights) {
  onnx_mem::Run run = Eager();
  run.dropout = 0.1;
  EXPECT_EQ(LowerText(R"(
    input x float32 2x4x8
    weight k.weight float32 3x8
    weight onnx::MatMul_5 float32 8x3
    input v float32 2x3x8
    /k/MatMul = MatMul(x, onnx::MatMul_5) -> k float32 2x4x3
    /Softmax = Softmax(k) -> p float32 2x4x3 {axis: -1}
    /MatMul = MatMul(p, v) -> y float32 2x4x8
    output y
  )",
                      run)
                .find("dropout"),
            std::string::npos);
}

// Their product with the values may be an einsum, each head's may be scaled first, or batch and heads be joined.
TEST(Dropout, AttentionWeightsAreKnownByWhatTheyWeigh) {
  constexpr std::string_view kAttention = R"(
    input s float32 2x4x8x8
    input v float32 2x4x8x3
    input w float32 8x8x3
    const joined int64 3 = 8 8 8
    weight scale float32 1x4x1x1
    /Softmax = Softmax(s) -> p float32 2x4x8x8 {axis: -1}
    )";
  onnx_mem::Run run = Eager();
  run.dropout = 0.1;
  for (const std::string_view rest :
       {"/E = Einsum(p, v) -> y float32 2x4x8x3 {equation: \"bhij,bhjd->bhid\"}",
        "/M = Mul(p, scale) -> m float32 2x4x8x8\n/E = MatMul(m, v) -> y float32 2x4x8x3",
        "/R = Reshape(p, joined) -> r float32 8x8x8\n/E = MatMul(r, w) -> y float32 8x8x3"}) {
    const std::string text = std::string(kAttention).append(rest).append("\noutput y\n");
    EXPECT_NE(LowerText(text, run).find("dropout(p)"), std::string::npos) << LowerText(text, run);
  }
}

// SqueezeBERT: layers of convolutions over [B, C, T], norms between two permutes.
TEST(DropoutRecipe, ConvolutionsOfOnePositionAreLayersToo) {
  const std::string text = R"(
    input i float32 2x4x8
    weight ln.w float32 8
    weight ln.b float32 8
    weight a.weight float32 8x8x1
    weight b.weight float32 8x8x1
    /norm/LayerNormalization = LayerNormalization(i, ln.w, ln.b) -> n0 float32 2x4x8 {axis: -1}
    /T0 = Transpose(n0) -> x0 float32 2x8x4 {perm: [0 2 1]}
    /T1 = Transpose(x0) -> xt float32 2x4x8 {perm: [0 2 1]}
    /S = MatMul(xt, x0) -> s float32 2x4x4
    /Softmax = Softmax(s) -> p float32 2x4x4 {axis: -1}
    /C = MatMul(x0, p) -> c float32 2x8x4
    /a/Conv = Conv(c, a.weight) -> a float32 2x8x4
    /Add = Add(x0, a) -> e float32 2x8x4
    /T2 = Transpose(e) -> et float32 2x4x8 {perm: [0 2 1]}
    /norm1/LayerNormalization = LayerNormalization(et, ln.w, ln.b) -> n1 float32 2x4x8 {axis: -1}
    /T3 = Transpose(n1) -> x1 float32 2x8x4 {perm: [0 2 1]}
    /b/Conv = Conv(x1, b.weight) -> b float32 2x8x4
    /Add_1 = Add(x1, b) -> f float32 2x8x4
    /T4 = Transpose(f) -> ft float32 2x4x8 {perm: [0 2 1]}
    /norm2/LayerNormalization = LayerNormalization(ft, ln.w, ln.b) -> y float32 2x4x8 {axis: -1}
    output y
  )";
  EXPECT_EQ(Dropouts(text, Eager()), 3) << LowerText(text, Eager());
}

TEST(Dropout, ComesBackBehindWhatIsNamed) {
  onnx_mem::Run run;
  run.dropout = 0.3;
  run.dropout_behind = "^r$";
  const std::string text = LowerText(kClassifier, run);
  EXPECT_NE(text.find("linear(r/dropout, b.weight) -> i"), std::string::npos) << text;
  EXPECT_NE(text.find("linear(s, c.weight) -> y"), std::string::npos) << text;
  run.dropout_behind = "nowhere";
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(kClassifier), run);
  EXPECT_NE(Find(*lowered, Code::kNoMatch), nullptr);
}

// A block of a wide residual network drops behind its activation; a norm stands ahead of it.
TEST(Dropout, WhatDropsBehindNormsIsSaidToo) {
  const std::string text = R"(
    input x float32 2x4x8x8
    weight onnx::Conv_1 float32 4x4x3x3
    weight onnx::Conv_2 float32 4
    weight c.weight float32 4x4x3x3
    /a/Conv = Conv(x, onnx::Conv_1, onnx::Conv_2) -> a float32 2x4x6x6
    /Relu = Relu(a) -> r float32 2x4x6x6
    /c/Conv = Conv(r, c.weight) -> c float32 2x4x4x4
    /Add = Add(c, c) -> y float32 2x4x4x4
    output y
  )";
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(text), onnx_mem::Run());
  const Diagnostic* lost = Find(*lowered, Code::kEvalDropout);
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(lost->severity, Severity::kNote);
  onnx_mem::Run everywhere;
  everywhere.dropout = 0.1;
  everywhere.dropout_everywhere = true;
  EXPECT_EQ(Dropouts(text, everywhere), 1);
}

// Children of an nn.Sequential one after the other: features.2 reads what features.1 gives, and nothing ran between.
TEST(Dropout, NoneIsPossibleWhereTheNextChildReadsAtOnce) {
  onnx_mem::Run everywhere;
  everywhere.dropout = 0.1;
  everywhere.dropout_everywhere = true;
  const auto text = [](int second) {
    return absl::StrCat(R"(
    input x float32 2x4x8x8
    weight features.0.weight float32 4x4x3x3
    weight last.weight float32 4x4x3x3
    weight w.weight float32 4x4x3x3
    /features/features.0/Conv = Conv(x, features.0.weight) -> a float32 2x4x6x6
    /features/features.1/Relu = Relu(a) -> r float32 2x4x6x6
    /features/features.)",
                        second, R"(/Conv = Conv(r, last.weight) -> b float32 2x4x4x4
    /w/Conv = Conv(b, w.weight) -> y float32 2x4x2x2
    output y
  )");
  };
  EXPECT_EQ(LowerText(text(2), everywhere).find("r/dropout"), std::string::npos);
  EXPECT_NE(LowerText(text(3), everywhere).find("r/dropout"), std::string::npos) << "a number is missing";
}

// DeepLab: what the joined convolutions of several dilations are projected to.
TEST(DropoutRecipe, APyramidOfDilatedConvolutionsDropsItsProjection) {
  std::string text = "input x float32 2x4x8x8\nweight p.weight float32 4x12x1x1\nweight q.weight float32 3x4x1x1\n";
  for (int dilation : {1, 2, 3}) {
    absl::StrAppend(&text, "weight w", dilation, " float32 4x4x3x3\n/b", dilation, "/Conv = Conv(x, w", dilation,
                    ") -> c", dilation, " float32 2x4x8x8 {dilations: [", dilation, " ", dilation, "], pads: [",
                    dilation, " ", dilation, " ", dilation, " ", dilation, "]}\n/b", dilation, "/Relu = Relu(c",
                    dilation, ") -> r", dilation, " float32 2x4x8x8\n");
  }
  absl::StrAppend(&text, R"(
    /Concat = Concat(r1, r2, r3) -> j float32 2x12x8x8 {axis: 1}
    /p/Conv = Conv(j, p.weight) -> p float32 2x4x8x8
    /Relu = Relu(p) -> s float32 2x4x8x8
    /q/Conv = Conv(s, q.weight) -> y float32 2x3x8x8
    output y
)");
  const std::string lowered = LowerText(text);
  EXPECT_NE(lowered.find("dropout(s) -> s/dropout"), std::string::npos) << lowered;
  const std::string alike =
      LowerText(absl::StrReplaceAll(text, {{"[2 2], pads: [2 2 2 2]", "[1 1], pads: [1 1 1 1]"}}));
  EXPECT_EQ(alike.find("dropout("), std::string::npos) << alike;
}

// DeBERTa's scores: a number where they are masked, the scores in the last place.
TEST(DropoutRecipe, ScoresMaskedByANumberAreLookedThrough) {
  const std::string plain = Transformer(true, "Gelu");
  const std::string masked =
      absl::StrReplaceAll(plain, {{"/l0.Softmax = Softmax(l0.s)",
                                   "weight hidden bool 2x4x4\nconst low float32 scalar = -10000\n"
                                   "/l0.Where = Where(hidden, low, l0.s) -> l0.m float32 2x4x4\n"
                                   "/l0.Softmax = Softmax(l0.m)"}});
  ASSERT_NE(masked, plain);
  EXPECT_GT(Dropouts(plain, Eager()), 0);
  EXPECT_EQ(Dropouts(masked, Eager()), Dropouts(plain, Eager()));
}

// An attention, whose dropout would be missed, beside something that tells the mode of the export.
bool SaysTraining(const std::string& beside) {
  const std::string attention = absl::StrReplaceAll(std::string(kAttention), {{"    output y\n", ""}});
  const absl::StatusOr<Lowered> lowered =
      Lower(ParseGraph(absl::StrCat(attention, beside, "    output y\n    output z\n")), Eager());
  EXPECT_EQ(Find(*lowered, Code::kEvalDropout) == nullptr, lowered->training_form);
  return lowered->training_form;
}

// Stochastic depth and F.dropout2d of an export in training mode: random numbers below p, divided by p.
std::string Noise(std::string_view divisor) {
  return absl::StrCat(R"(
    input x float32 2x4x8x8
    const like float32 2x4x1x1 = 0 0 0 0 0 0 0 0
    const p float32 scalar = 0.8
    const q float32 scalar = 0.8
    const two float32 scalar = 2
    /RandomUniformLike = RandomUniformLike(like) -> r float32 2x4x1x1
    /Less = Less(r, p) -> l bool 2x4x1x1
    /Cast = Cast(l) -> c float32 2x4x1x1 {to: 1}
    /Div = Div(c, )",
                      std::string(divisor), R"() -> n float32 2x4x1x1
    /Mul = Mul(x, n) -> z float32 2x4x8x8
)");
}

TEST(TrainingForm, ScaledNoiseTellsIt) {
  EXPECT_TRUE(SaysTraining(Noise("p")));
  EXPECT_TRUE(SaysTraining(Noise("q")));
  EXPECT_FALSE(SaysTraining(Noise("two"))) << "numbers that the model draws in either mode";
}

// dynamo folds a BatchNorm into its convolution, which keeps the norm's call.
std::string FoldedNorm(std::string_view call) {
  return absl::StrCat(R"(
    input x float32 2x4x8x8
    weight conv.weight float32 4x4x1x1
    @ pkg.torch.onnx.fx_node %norm : [num_users=1] = call_function[target=torch.ops.aten.)",
                      std::string(call), R"(, kwargs = {})
    /Conv = Conv(x, conv.weight) -> z float32 2x4x8x8
)");
}

TEST(TrainingForm, CallsThatWereFoldedTellIt) {
  const std::string args = "(args = (%conv2d, %p_bn_weight, %p_bn_bias, %b_bn_running_mean, %b_bn_running_var, ";
  EXPECT_TRUE(SaysTraining(
      FoldedNorm(absl::StrCat("_native_batch_norm_legit_functional.default]", args, "True, 0.1, 1e-05)"))));
  EXPECT_FALSE(SaysTraining(
      FoldedNorm(absl::StrCat("_native_batch_norm_legit_functional.default]", args, "False, 0.1, 1e-05)"))));
  EXPECT_FALSE(
      SaysTraining(FoldedNorm(absl::StrCat("_native_batch_norm_legit_no_training.default]", args, "0.1, 1e-05)"))));
}

// An inference draws no noise: what would be multiplied with it is handed on.
TEST(TrainingForm, AnInferenceMultipliesWithNoNoise) {
  onnx_mem::Run run;
  run.training = false;
  const std::string text = absl::StrCat(Noise("p"), "    /Relu = Relu(z) -> y float32 2x4x8x8\n    output y\n");
  EXPECT_TRUE(Has(LowerText(text, run), "relu(x) -> y")) << LowerText(text, run);
  EXPECT_TRUE(Has(LowerText(text), "relu(z) -> y")) << LowerText(text);
}

// sin(30 * x) between two layers is an activation of the code's own; what is added up behind it is none.
TEST(Dropout, MayStandBehindAnActivationThatIsWrittenOut) {
  const auto possible = [](std::string_view next) {
    onnx_mem::Run run;
    run.dropout = 0.1;
    run.dropout_everywhere = true;
    return Dropouts(absl::StrReplaceAll(R"(
    input x float32 2x8
    weight a.weight float32 8x8
    weight b.weight float32 8x8
    weight c.weight float32 8x8
    const w float32 scalar = 30
    /a/Gemm = Gemm(x, a.weight) -> h float32 2x8 {transB: 1}
    /Mul = Mul(h, w) -> m float32 2x8
    /Sin = Sin(m) -> s float32 2x8
    /b/Gemm = NEXT
    /c/Gemm = Gemm(y, c.weight) -> z float32 2x8 {transB: 1}
    output z
)",
                                        {{"NEXT", absl::string_view(next.data(), next.size())}}),
                    run);
  };
  EXPECT_EQ(possible("Gemm(s, b.weight) -> y float32 2x8 {transB: 1}"), 2) << "and one ahead of the last layer";
  EXPECT_EQ(possible("Add(s, x) -> y float32 2x8"), 1);
}

}  // namespace
}  // namespace onnx_mem
