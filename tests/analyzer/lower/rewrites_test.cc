// One case per form that exporters write, and one that looks like it and is not.
#include "analyzer/prepare/rewrites.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

TEST(Rewrites, HaveNamesAndDescriptions) {
  std::set<std::string_view> names;
  for (const Rewrite& rewrite : AllRewrites()) {
    EXPECT_TRUE(names.insert(rewrite.name).second) << rewrite.name;
    EXPECT_FALSE(rewrite.description.empty()) << rewrite.name;
  }
}

constexpr std::string_view kErfGelu = R"(
    input x float32 2x8
    const sqrt2 float32 scalar = 1.4142135
    const one float32 scalar = 1
    const half float32 scalar = 0.5
    /act/Div = Div(x, sqrt2) -> d float32 2x8
    /act/Erf = Erf(d) -> e float32 2x8
    /act/Add = Add(e, one) -> a float32 2x8
    /act/Mul = Mul(x, a) -> m float32 2x8
    /act/Mul_1 = Mul(m, half) -> y float32 2x8
    output y
)";

TEST(Gelu, ErfForm) { EXPECT_EQ(LowerText(kErfGelu), "gelu(x) -> y [act]\n"); }

TEST(Gelu, StaysAsWrittenWhenSwitchedOff) {
  EXPECT_EQ(LowerText(kErfGelu, Without("gelu")),
            "div_scalar(x) -> d [act]\nerf(d) -> e [act]\nadd_scalar(e) -> a [act]\nmul(x, a) -> m [act]\n"
            "mul_scalar(m) -> y [act]\n");
}

TEST(Gelu, AnotherConstantIsNoGelu) {
  std::string text(kErfGelu);
  text.replace(text.find("1.4142135"), 9, "2.0000000");
  EXPECT_EQ(LowerText(text).find("gelu"), std::string::npos);
}

TEST(Gelu, AnIntermediateThatIsReadElsewhereStays) {
  std::string text(kErfGelu);
  text += "output e\n";
  EXPECT_EQ(LowerText(text).find("gelu"), std::string::npos);
}

TEST(GatedActivations, SiluHardswishMish) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x8
    /a/Sigmoid = Sigmoid(x) -> s float32 2x8
    /a/Mul = Mul(x, s) -> y float32 2x8
    /b/HardSigmoid = HardSigmoid(y) -> h float32 2x8 {alpha: 0.16666667}
    /b/Mul = Mul(y, h) -> z float32 2x8
    /c/Softplus = Softplus(z) -> p float32 2x8
    /c/Tanh = Tanh(p) -> t float32 2x8
    /c/Mul = Mul(z, t) -> u float32 2x8
    output u
  )"),
            "silu(x) -> y [a]\nhardswish(y) -> z [b]\nmish(z) -> u [c]\n");
}

const Diagnostic* Said(const Lowered& lowered, std::string_view code) {
  const auto it = std::find_if(lowered.diagnostics.begin(), lowered.diagnostics.end(),
                               [&](const Diagnostic& d) { return CodeOf(d) == code; });
  return it == lowered.diagnostics.end() ? nullptr : &*it;
}

// nn.SiLU and a Swish class are alike in a TorchScript export; a module called twice is as likely nn.SiLU as one called
// once.
TEST(GatedActivations, AModuleOfItsOwnIsTakenForTheFrameworksAndSaidToBe) {
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(R"(
    input x float32 2x8
    /act/Sigmoid = Sigmoid(x) -> s float32 2x8
    /act/Mul = Mul(x, s) -> y float32 2x8
    /act_1/Sigmoid = Sigmoid(y) -> t float32 2x8
    /act_1/Mul = Mul(y, t) -> z float32 2x8
    output z
  )"),
                                                {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const Diagnostic* said = Said(*lowered, "silu-assumed");
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(said->count, 2);
  EXPECT_EQ(said->bytes, 2 * 2 * 8 * 4);
  EXPECT_EQ(said->severity, Severity::kNote);
}

TEST(GatedActivations, InTheCodeOfALargerModuleItIsEither) {
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(R"(
    input x float32 2x8
    /conv/Sigmoid = Sigmoid(x) -> s float32 2x8
    /conv/Mul = Mul(x, s) -> y float32 2x8
    /conv/Sin = Sin(y) -> z float32 2x8
    output z
  )"),
                                                {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const Diagnostic* said = Said(*lowered, "silu-assumed");
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(said->severity, Severity::kWarning);
}

// No exporter writes nn.SiLU with the sigmoid ahead.
TEST(GatedActivations, ASigmoidTimesItsArgumentIsCode) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x8
    /act/Sigmoid = Sigmoid(x) -> s float32 2x8
    /act/Mul = Mul(s, x) -> y float32 2x8
    output y
  )"),
            "sigmoid(x) -> s [act]\nmul(s, x) -> y [act]\n");
}

TEST(GatedActivations, WhatTheExporterNamesIsCertain) {
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(R"(
    input x float32 2x8
    node_sigmoid = Sigmoid(x) -> s float32 2x8
    @ namespace : Net/act: torch.nn.modules.activation.SiLU/silu: aten.silu.default
    node_mul = Mul(x, s) -> y float32 2x8
    @ namespace : Net/act: torch.nn.modules.activation.SiLU/silu: aten.silu.default
    output y
  )"),
                                                {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(DumpLowered(*lowered), "silu(x) -> y [act]\n");
  EXPECT_EQ(Said(*lowered, "silu-assumed"), nullptr);
}

// A window of 2 x 2: four positions, nine offsets.
constexpr std::string_view kFoldedBias = R"(
    input q float32 2x3x4x8
    input k float32 2x3x8x4
    weight onnx::Add_9 float32 1x3x4x4
    /attn/MatMul = MatMul(q, k) -> s float32 2x3x4x4
    /attn/Add = Add(s, onnx::Add_9) -> y float32 2x3x4x4
    output y
)";

TEST(RelativeBias, IsComputedFromItsTable) {
  EXPECT_EQ(LowerText(kFoldedBias),
            "matmul(q, k) -> s [attn]\n"
            "index(onnx::Add_9/table, onnx::Add_9/positions) -> onnx::Add_9/index [attn]\n"
            "reshape(onnx::Add_9/index) -> onnx::Add_9/reshape [attn]\n"
            "permute(onnx::Add_9/reshape) -> onnx::Add_9/permute [attn]\n"
            "contiguous(onnx::Add_9/permute) -> onnx::Add_9/contiguous [attn]\n"
            "unsqueeze(onnx::Add_9/contiguous) -> onnx::Add_9/unsqueeze [attn]\n"
            "add(s, onnx::Add_9/unsqueeze) -> y [attn]\n"
            "parameter onnx::Add_9/table\n"
            "buffer onnx::Add_9/positions\n");
}

TEST(RelativeBias, AMaskOverHeadsThatAreNotItsOwnStays) {
  std::string text(kFoldedBias);
  for (size_t at = text.find("1x3x4x4"); at != std::string::npos; at = text.find("1x3x4x4"))
    text.replace(at, 7, "1x1x4x4");
  EXPECT_EQ(LowerText(text).find("index("), std::string::npos);
}

TEST(Addcmul, IsKnownByItsProductByOne) {
  const auto text = [](std::string_view scale) {
    return absl::StrCat(R"(
    input x float32 2x8
    weight w float32 8
    weight b float32 8
    const scale float32 scalar = )",
                        std::string(scale), R"(
    /a/Mul = Mul(w, x) -> p float32 2x8
    /a/Mul_1 = Mul(p, scale) -> s float32 2x8
    /a/Add = Add(b, s) -> y float32 2x8
    output y
  )");
  };
  EXPECT_TRUE(absl::StartsWith(LowerText(text("1")), "addcmul(b, w, x) -> y [a]\n"));
  EXPECT_TRUE(
      absl::StartsWith(LowerText(text("2")), "mul(w, x) -> p [a]\nmul_scalar(p) -> s [a]\nadd(b, s) -> y [a]\n"));
}

constexpr std::string_view kGlu = R"(
    input x float32 2x8
    const parts int64 2 = 4 4
    /Split = Split(x, parts) -> a float32 2x4, b float32 2x4 {axis: 1}
    /Sigmoid = Sigmoid(b) -> s float32 2x4
    /Mul = Mul(a, s) -> y float32 2x4
    output y
)";

TEST(Glu, HalvesGatedByTheSigmoidOfTheOther) { EXPECT_EQ(LowerText(kGlu), "glu(x) -> y\n"); }

TEST(Glu, AGateThatIsAModuleOfItsOwnIsWrittenByHand) {
  std::string text(kGlu);
  text.replace(text.find("/Sigmoid ="), 10, "/gate/Sigmoid =");
  EXPECT_EQ(LowerText(text), "split(x) -> a, b\nsigmoid(b) -> s [gate]\nmul(a, s) -> y\n");
}

constexpr std::string_view kWeightNorm = R"(
    input x float32 2x16x32
    weight conv.weight_g float32 1x1x8
    weight conv.weight_v float32 24x16x8
    /conv/ReduceL2 = ReduceL2(conv.weight_v) -> n float32 1x1x8 {axes: [0 1], keepdims: 1}
    /conv/Div = Div(conv.weight_v, n) -> u float32 24x16x8
    /conv/Mul = Mul(u, conv.weight_g) -> w float32 24x16x8
    /conv/Conv = Conv(x, w) -> y float32 2x24x25
    output y
)";

TEST(WeightNorm, DirectionOverItsNormTimesLength) {
  const std::string text = LowerText(kWeightNorm);
  EXPECT_NE(text.find("weight_norm(conv.weight_v, conv.weight_g) -> w [conv]\nconv(x, w) -> y [conv]\n"),
            std::string::npos)
      << text;
}

// As dynamo's exporter takes the operator apart.
TEST(WeightNorm, DirectionTimesLengthOverItsNorm) {
  std::string text(kWeightNorm);
  text.replace(text.find("Div(conv.weight_v, n) -> u float32 24x16x8"), 42, "Div(conv.weight_g, n) -> u float32 1x1x8");
  text.replace(text.find("Mul(u, conv.weight_g)"), 21, "Mul(conv.weight_v, u)");
  EXPECT_NE(LowerText(text).find("weight_norm(conv.weight_v, conv.weight_g) -> w [conv]\n"), std::string::npos)
      << LowerText(text);
}

TEST(WeightNorm, ANormOverAMiddleDimensionIsComposed) {
  std::string text(kWeightNorm);
  text.replace(text.find("axes: [0 1]"), 11, "axes: [0 2]");
  text.replace(text.find("1x1x8"), 5, "1x16x1");
  text.replace(text.find("n float32 1x1x8"), 15, "n float32 1x16x1");
  EXPECT_EQ(LowerText(text).find("weight_norm("), std::string::npos);
}

TEST(GatedActivations, AGateOfAnotherTensorIsAProduct) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x8
    input g float32 2x8
    /Sigmoid = Sigmoid(g) -> s float32 2x8
    /Mul = Mul(x, s) -> y float32 2x8
    output y
  )"),
            "sigmoid(g) -> s\nmul(x, s) -> y\n");
}

constexpr std::string_view kSpelledOutLayerNorm = R"(
    input x float32 2x3x8
    weight ln.weight float32 8
    weight ln.bias float32 8
    const two float32 scalar = 2
    const eps float32 scalar = 0.00001
    /ln/ReduceMean = ReduceMean(x) -> m float32 2x3x1 {axes: [-1]}
    /ln/Sub = Sub(x, m) -> c float32 2x3x8
    /ln/Pow = Pow(c, two) -> q float32 2x3x8
    /ln/ReduceMean_1 = ReduceMean(q) -> v float32 2x3x1 {axes: [-1]}
    /ln/Add = Add(v, eps) -> ve float32 2x3x1
    /ln/Sqrt = Sqrt(ve) -> s float32 2x3x1
    /ln/Div = Div(c, s) -> n float32 2x3x8
    /ln/Mul = Mul(n, ln.weight) -> w float32 2x3x8
    /ln/Add_1 = Add(w, ln.bias) -> y float32 2x3x8
    output y
  )";

TEST(LayerNorm, SpelledOut) {
  EXPECT_EQ(LowerText(kSpelledOutLayerNorm),
            "layer_norm(x, ln.weight, ln.bias) -> y [ln]\nparameter ln.weight\nparameter ln.bias\n");
}

// DeBERTa's own LayerNorm: from opset 17 on, exporters have LayerNormalization for torch's.
TEST(LayerNorm, SpelledOutInAnOpsetThatHasItRunsAsWritten) {
  Graph graph = ParseGraph(kSpelledOutLayerNorm);
  graph.opset = 17;
  for (Node& node : graph.nodes) node.since_version = 13;
  const absl::StatusOr<Lowered> lowered = Lower(graph, {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(DumpLowered(*lowered),
            "mean(x) -> m [ln]\nsub(x, m) -> c [ln]\npow_scalar(c) -> q [ln]\nmean(q) -> v [ln]\n"
            "sub(x, m) -> c again [ln]\nadd_scalar(v) -> ve [ln]\nsqrt(ve) -> s [ln]\ndiv(c again, s) -> n [ln]\n"
            "mul(n, ln.weight) -> w [ln]\nadd(w, ln.bias) -> y [ln]\nparameter ln.weight\nparameter ln.bias\n")
      << "as its code has it: (x - u) for the variance and (x - u) / sqrt(s + eps)";
}

TEST(Attention, OneOperatorForTheChosenKernel) {
  for (AttentionKernel kernel : {AttentionKernel::kEfficient, AttentionKernel::kFlash}) {
    onnx_mem::Run run;
    run.attention = kernel;
    EXPECT_EQ(LowerText(kAttention, run), "sdpa(q, k, v) -> y\n");
  }
}

TEST(Attention, AsTheNodesSayWhereThatIsRequested) {
  onnx_mem::Run run;
  run.attention = AttentionKernel::kEager;
  EXPECT_NE(LowerText(kAttention, run).find("softmax(s) -> p"), std::string::npos);
}

TEST(Attention, ProbabilitiesThatAreReadElsewhereKeepItAsItIs) {
  onnx_mem::Run run;
  run.attention = AttentionKernel::kEfficient;
  std::string text(kAttention);
  text.append("output p\n");
  const std::string dump = LowerText(text, run);
  EXPECT_NE(dump.find("softmax(s) -> p"), std::string::npos) << dump;
}

// One scale on the scores: attention written by hand, which ran as the nodes say whatever kernel there is.
TEST(Attention, WrittenByHandStays) {
  onnx_mem::Run run;
  run.attention = AttentionKernel::kEfficient;
  EXPECT_NE(LowerText(R"(
    input q float32 2x4x16x8
    input k float32 2x4x16x8
    input v float32 2x4x16x8
    const scale float32 scalar = 0.35355339
    /Transpose = Transpose(k) -> kt float32 2x4x8x16 {perm: [0 1 3 2]}
    /MatMul = MatMul(q, kt) -> s float32 2x4x16x16
    /Mul = Mul(s, scale) -> ss float32 2x4x16x16
    /Softmax = Softmax(ss) -> p float32 2x4x16x16 {axis: -1}
    /MatMul_1 = MatMul(p, v) -> y float32 2x4x16x8
    output y
  )",
                      run)
                .find("softmax(ss) -> p"),
            std::string::npos);
}

// x.reshape(B, H, W, -1).permute(0, 3, 1, 2).contiguous(): the copy is in no file.
constexpr std::string_view kTokenMap = R"(
    input x float32 2x16x8
    const shape int64 4 = 2 4 4 8
    weight conv.weight float32 4x8x2x2
    /Reshape = Reshape(x, shape) -> r float32 2x4x4x8
    /Transpose = Transpose(r) -> t float32 2x8x4x4 {perm: [0 3 1 2]}
    /conv/Conv = Conv(t, conv.weight) -> y float32 2x4x3x3
    output y
)";

TEST(TokenMap, IsCopiedIntoTheLayoutOfImages) {
  EXPECT_EQ(LowerText(kTokenMap),
            "reshape(x) -> r\npermute(r) -> t\ncontiguous(t) -> t/contiguous\n"
            "conv(t/contiguous, conv.weight) -> y [conv]\nparameter conv.weight\n");
}

TEST(TokenMap, AMapThatWasNeverTokensStaysAView) {
  std::string text(kTokenMap);
  text.replace(text.find("x float32 2x16x8"), 16, "x float32 2x2x8x8");
  EXPECT_EQ(LowerText(text).find("contiguous"), std::string::npos);
}

TEST(TokenMap, HeadsOfAnAttentionAreTokensToo) {
  std::string text(kTokenMap);
  text.replace(text.find("x float32 2x16x8"), 16, "x float32 2x16x2x4");
  EXPECT_NE(LowerText(text).find("contiguous(t) -> t/contiguous"), std::string::npos) << LowerText(text);
}

// dynamo's exporter names each call; the copy is in none of them.
TEST(TokenMap, IsIdentifiedByTheModuleItIsMadeIn) {
  std::string text(kTokenMap);
  text.replace(text.find("    /Transpose"), 0, "    @ namespace : Net/view: aten.view.default\n");
  text.replace(text.find("    /conv/Conv"), 0, "    @ namespace : Net/permute: aten.permute.default\n");
  EXPECT_NE(LowerText(text).find("contiguous(t) -> t/contiguous"), std::string::npos) << LowerText(text);
}

// The bias is the module's own: not a BatchNorm was folded, but a weight computed.
TEST(FoldedWeight, IsComputedInEveryStep) {
  const std::string text = LowerText(R"(
    input x float32 2x16x32
    weight onnx::Conv_12 float32 24x16x8
    weight conv.bias float32 24
    /conv/Conv = Conv(x, onnx::Conv_12, conv.bias) -> y float32 2x24x25
    output y
  )");
  EXPECT_EQ(text.find("batch_norm"), std::string::npos) << text;
  EXPECT_NE(text.find("weight_norm(onnx::Conv_12, onnx::Conv_12/length) -> onnx::Conv_12/computed"), std::string::npos)
      << text;
  EXPECT_NE(text.find("conv(x, onnx::Conv_12/computed, conv.bias) -> y"), std::string::npos) << text;
}

TEST(FoldedBatchNorm, ComesBackForTraining) {
  const std::string text = R"(
    input x float32 2x3x8x8
    weight onnx::Conv_12 float32 4x3x3x3
    weight onnx::Conv_13 float32 4
    /conv1/Conv = Conv(x, onnx::Conv_12, onnx::Conv_13) -> c float32 2x4x6x6
    /relu/Relu = Relu(c) -> y float32 2x4x6x6
    output y
  )";
  const std::string unfolded = LowerText(text);
  EXPECT_NE(unfolded.find("batch_norm"), std::string::npos) << unfolded;
  onnx_mem::Run as_is;
  as_is.batch_norm = BatchNormMode::kAsIs;
  EXPECT_EQ(LowerText(text, as_is).find("batch_norm"), std::string::npos);
}

// A bias of one element is a number of the code; a folded norm of one channel is one all the same.
TEST(FoldedBatchNorm, OfOneChannelComesBackToo) {
  EXPECT_NE(LowerText(R"(
    input x float32 2x3x8x8
    weight onnx::Conv_12 float32 1x3x3x3
    const onnx::Conv_13 float32 1 = 0.25
    /conv1/Conv = Conv(x, onnx::Conv_12, onnx::Conv_13) -> c float32 2x1x6x6
    output c
  )")
                .find("batch_norm"),
            std::string::npos);
}

// mid = conv and bn, where bn calls its activation: timm's BatchNormAct2d.
TEST(FoldedBatchNorm, RunsInTheModuleThatActivatesItsResult) {
  const Graph graph = ParseGraph(R"(
    input x float32 2x3x8x8
    weight onnx::Conv_12 float32 4x3x3x3
    weight onnx::Conv_13 float32 4
    /mid/conv/Conv = Conv(x, onnx::Conv_12, onnx::Conv_13) -> c float32 2x4x6x6
    /mid/bn/act/Sigmoid = Sigmoid(c) -> y float32 2x4x6x6
    output y
  )");
  const absl::StatusOr<Lowered> lowered = Lower(graph, onnx_mem::Run());
  ASSERT_TRUE(lowered.ok());
  const auto norm = std::find_if(lowered->graph.nodes.begin(), lowered->graph.nodes.end(),
                                 [](const FrameworkNode& node) { return node.op == "batch_norm"; });
  ASSERT_NE(norm, lowered->graph.nodes.end());
  EXPECT_EQ(norm->calls, (std::vector<std::string>{"mid", "mid.bn"}));
}

// nn.Sequential(Conv, BatchNorm, ReLU): the number that nobody has is the norm's.
TEST(FoldedBatchNorm, HasTheNumberThatIsMissingInItsSequential) {
  const Graph graph = ParseGraph(R"(
    input x float32 2x3x8x8
    weight onnx::Conv_12 float32 4x3x3x3
    weight onnx::Conv_13 float32 4
    /d/d.0/Conv = Conv(x, onnx::Conv_12, onnx::Conv_13) -> c float32 2x4x6x6
    /d/d.2/Relu = Relu(c) -> y float32 2x4x6x6
    output y
  )");
  const absl::StatusOr<Lowered> lowered = Lower(graph, onnx_mem::Run());
  ASSERT_TRUE(lowered.ok());
  const auto norm = std::find_if(lowered->graph.nodes.begin(), lowered->graph.nodes.end(),
                                 [](const FrameworkNode& node) { return node.op == "batch_norm"; });
  ASSERT_NE(norm, lowered->graph.nodes.end());
  EXPECT_EQ(norm->module, "d.1");
}

// Two branches that begin with the same activation of the same value.
constexpr std::string_view kMergedBranches = R"(
    input x float32 2x4x16
    weight blocks.0.conv.weight float32 4x4x1
    weight blocks.1.conv.weight float32 4x4x1
    /blocks.0/LeakyRelu = LeakyRelu(x) -> a float32 2x4x16
    /blocks.0/conv/Conv = Conv(a, blocks.0.conv.weight) -> b float32 2x4x16
    /blocks.1/conv/Conv = Conv(a, blocks.1.conv.weight) -> c float32 2x4x16
    /Add = Add(b, c) -> y float32 2x4x16
    output y
)";

TEST(MergedExpressions, RunInEachModule) {
  const std::string text = LowerText(kMergedBranches);
  EXPECT_NE(text.find("leaky_relu(x) -> a in blocks.1 [blocks.1]\nconv(a in blocks.1, blocks.1.conv.weight) -> c"),
            std::string::npos)
      << text;
  EXPECT_EQ(LowerText(kMergedBranches, Without("merged-expressions")).find("a in blocks.1"), std::string::npos);
}

// T5's first block makes its position bias from a table of its own and hands it on.
TEST(MergedExpressions, AValueMadeOfWhatTheModuleHoldsIsHandedOn) {
  const std::string text = LowerText(R"(
    input x float32 4x4
    weight blocks.0.table float32 4x4
    /blocks.0/Mul = Mul(x, blocks.0.table) -> t float32 4x4
    /blocks.0/Add = Add(x, t) -> bias float32 4x4
    /blocks.0/Add_1 = Add(x, bias) -> b float32 4x4
    /blocks.1/Add_1 = Add(b, bias) -> y float32 4x4
    output y
  )");
  EXPECT_EQ(text.find(" in blocks.1"), std::string::npos) << text;
}

// An activation of its own module that two branches read: they were given it.
TEST(MergedExpressions, WhatBothBranchesAreGivenRunsOnce) {
  const std::string text = LowerText(R"(
    input x float32 2x4x16
    weight blocks.0.conv.weight float32 4x4x1
    weight blocks.1.conv.weight float32 4x4x1
    /relu/Relu = Relu(x) -> a float32 2x4x16
    /blocks.0/conv/Conv = Conv(a, blocks.0.conv.weight) -> b float32 2x4x16
    /blocks.1/conv/Conv = Conv(a, blocks.1.conv.weight) -> c float32 2x4x16
    /Add = Add(b, c) -> y float32 2x4x16
    output y
  )");
  EXPECT_EQ(text.find(" in blocks"), std::string::npos) << text;
}

// weights = softmax(scores, dtype=torch.float32).to(query.dtype) over keys that two heads share, which only half
// precision shows.
constexpr std::string_view kGroupedAttention = R"(
    input q float32 1x2x16x8
    input x float32 1x1x16x8
    const heads int64 4 = 1 2 16 8
    const scale float32 scalar = 0.35
    /attention/Expand = Expand(x, heads) -> k float32 1x2x16x8
    /attention/Transpose = Transpose(k) -> kt float32 1x2x8x16 {perm: [0 1 3 2]}
    /attention/MatMul = MatMul(q, kt) -> s float32 1x2x16x16
    /attention/Mul = Mul(s, scale) -> m float32 1x2x16x16
    /attention/Softmax = Softmax(m) -> a float32 1x2x16x16 {axis: -1}
    /attention/MatMul_1 = MatMul(a, q) -> y float32 1x2x16x8
    output y
)";

bool CastsBack(std::string_view text, const Run& run) {
  return absl::StrContains(LowerText(text, run, "cast_back"), "cast_back");
}

TEST(WideSoftmax, OverSharedKeysInHalfPrecision) {
  onnx_mem::Run amp;
  amp.autocast = DType::kBFloat16;
  amp.attention = AttentionKernel::kEager;
  EXPECT_TRUE(CastsBack(kGroupedAttention, amp)) << LowerText(kGroupedAttention, amp, "cast_back");
  onnx_mem::Run full = amp;
  full.autocast = std::nullopt;
  EXPECT_FALSE(CastsBack(kGroupedAttention, full));
}

// torch.where(causal_mask, scores, mask_value), as GPT-Neo masks: the number is no tensor that anything makes.
TEST(WideSoftmax, ScoresMaskedByANumber) {
  onnx_mem::Run amp;
  amp.autocast = DType::kFloat16;
  amp.attention = AttentionKernel::kEager;
  std::string text(kGroupedAttention);
  text.replace(text.find("    /attention/Softmax = Softmax(m)"), 35, R"(    input mask bool 1x2x16x16
    const lowest float32 scalar = -1e9
    /attention/Where = Where(mask, m, lowest) -> masked float32 1x2x16x16
    /attention/Softmax = Softmax(masked))");
  EXPECT_TRUE(CastsBack(text, amp)) << LowerText(text, amp, "cast_back");
}

TEST(WideSoftmax, ScaledQueriesAreNoSuchFunction) {
  onnx_mem::Run amp;
  amp.autocast = DType::kFloat16;
  amp.attention = AttentionKernel::kEager;
  std::string text(kGroupedAttention);
  text.replace(text.find("Softmax(m)"), 10, "Softmax(s)");
  EXPECT_FALSE(CastsBack(text, amp));
}

}  // namespace
}  // namespace onnx_mem
