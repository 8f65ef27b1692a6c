#include "analyzer/assume/choices/inplace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kResidual = R"(
    input x float32 2x3x4x4
    weight c.weight float32 3x3x1x1
    weight b.weight float32 3
    weight b.bias float32 3
    weight b.mean float32 3
    weight b.var float32 3
    /c/Conv = Conv(x, c.weight) -> a float32 2x3x4x4
    /b/BatchNormalization = BatchNormalization(a, b.weight, b.bias, b.mean, b.var) -> n float32 2x3x4x4
    /Add = Add(n, x) -> s float32 2x3x4x4
    /relu/Relu = Relu(s) -> y float32 2x3x4x4
    output y
)";

TEST(InPlace, ResidualSumAndItsReluOverwriteTheBatchNorm) {
  const std::string text = LowerText(kResidual);
  EXPECT_NE(text.find("add(n, x) -> s inplace\nrelu(s) -> y [relu] inplace\n"), std::string::npos) << text;
}

// Its result is a view: writing over it costs memory.
TEST(InPlace, AnInstanceNormWithScaleIsNotWrittenOver) {
  const std::string text = LowerText(R"(
    input x float32 2x3x4x4
    weight n.weight float32 3
    weight n.bias float32 3
    /n/InstanceNormalization = InstanceNormalization(x, n.weight, n.bias) -> n float32 2x3x4x4
    /relu/Relu = Relu(n) -> y float32 2x3x4x4
    output y
  )");
  EXPECT_NE(text.find("relu(n) -> y [relu]\n"), std::string::npos) << text;
}

TEST(InPlace, NoneMeansNone) {
  onnx_mem::Run run;
  run.inplace = "none";
  EXPECT_EQ(LowerText(kResidual, run).find("inplace"), std::string::npos);
}

TEST(InPlace, APatternPicksByModuleOrName) {
  onnx_mem::Run run;
  run.inplace = "^relu$";
  const std::string text = LowerText(kResidual, run);
  EXPECT_NE(text.find("relu(s) -> y [relu] inplace\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("-> s inplace"), std::string::npos) << text;
  run.inplace = std::string("(");
  EXPECT_NE(LowerText(kResidual, run).find("is not a regular expression"), std::string::npos);
}

TEST(InPlace, NeverWhatAnotherNodeReadsOrABackwardNeeds) {
  onnx_mem::Run run;
  run.inplace = ".*";
  const std::string text = LowerText(R"(
    input x float32 2x3
    /Relu = Relu(x) -> a float32 2x3
    /Sigmoid = Sigmoid(a) -> b float32 2x3
    /Relu_1 = Relu(b) -> c float32 2x3
    /Neg = Neg(c) -> d float32 2x3
    /Relu_2 = Relu(d) -> e float32 2x3
    /Add = Add(d, e) -> y float32 2x3
    output y
  )",
                                     run);
  EXPECT_EQ(text.find("inplace"), std::string::npos) << "an input, a saved output, a tensor read twice:\n" << text;
}

// Residual blocks build the activation after their sum without `inplace` (timm's act3), layers of Conv, BatchNorm and
// activation with it.
TEST(InPlace, LeakyReluAfterASumIsANewTensor) {
  const std::string text = LowerText(R"(
    input x float32 2x3x4x4
    weight c.weight float32 3x3x1x1
    /c/Conv = Conv(x, c.weight) -> a float32 2x3x4x4
    /Add = Add(a, x) -> b float32 2x3x4x4
    /act3/LeakyRelu = LeakyRelu(b) -> y float32 2x3x4x4
    output y
  )");
  EXPECT_NE(text.find("leaky_relu(b) -> y [act3]\n"), std::string::npos) << text;
}

// Residual blocks end with self.act(x) of act_layer(inplace=True). In training SiLU saves a copy then: no difference.
TEST(InPlace, SiluOfASumOverwritesItInInference) {
  constexpr std::string_view kBlock = R"(
    input x float32 2x3x4x4
    weight c.weight float32 3x3x1x1
    /c/Conv = Conv(x, c.weight) -> a float32 2x3x4x4
    /Add = Add(a, x) -> b float32 2x3x4x4
    /act/Sigmoid = Sigmoid(b) -> s float32 2x3x4x4
    /act/Mul = Mul(b, s) -> y float32 2x3x4x4
    output y
  )";
  onnx_mem::Run inference;
  inference.training = false;
  const std::string text = LowerText(kBlock, inference);
  EXPECT_NE(text.find("silu(b) -> y [act] inplace\n"), std::string::npos) << text;
  EXPECT_EQ(LowerText(kBlock).find("inplace"), std::string::npos);
}

// A transformer's feed-forward layer keeps what its ReLU reads; a classifier's writes over it.
TEST(InPlace, ReluAfterALinearLayerOverTokensIsANewTensor) {
  const std::string tokens = LowerText(R"(
    input x float32 2x5x8
    weight f.w float32 8x8
    /f/Transpose = Transpose(f.w) -> t float32 8x8
    /f/MatMul = MatMul(x, t) -> a float32 2x5x8
    /act/Relu = Relu(a) -> y float32 2x5x8
    output y
  )");
  EXPECT_NE(tokens.find("linear("), std::string::npos) << tokens;
  EXPECT_EQ(tokens.find("inplace"), std::string::npos) << tokens;
  const std::string features = LowerText(R"(
    input x float32 2x8x1x1
    weight c.weight float32 8x8x1x1
    weight f.w float32 8x8
    weight f.b float32 8
    /c/Conv = Conv(x, c.weight) -> c float32 2x8x1x1
    /Flatten = Flatten(c) -> d float32 2x8
    /f/Gemm = Gemm(d, f.w, f.b) -> a float32 2x8
    /act/Relu = Relu(a) -> y float32 2x8
    output y
  )");
  EXPECT_NE(features.find("relu(a) -> y [act] inplace"), std::string::npos) << features;
  const std::string perceptron = LowerText(R"(
    input x float32 2x8
    weight f.w float32 8x8
    weight f.b float32 8
    /f/Gemm = Gemm(x, f.w, f.b) -> a float32 2x8
    /act/Relu = Relu(a) -> y float32 2x8
    output y
  )");
  EXPECT_EQ(perceptron.find("inplace"), std::string::npos) << perceptron;
}

// F.relu(x) makes a new tensor; torchvision's BasicConv2d, a module of one convolution, passes inplace=True.
TEST(InPlace, AFunctionMakesANewTensorUnlessItEndsALayer) {
  constexpr std::string_view kLayer = R"(
    input x float32 2x3x4x4
    weight l.c.weight float32 3x3x1x1
    weight l.b.weight float32 3
    weight l.b.bias float32 3
    weight l.b.mean float32 3
    weight l.b.var float32 3
    /l/c/Conv = Conv(x, l.c.weight) -> a float32 2x3x4x4
    /l/b/BatchNormalization = BatchNormalization(a, l.b.weight, l.b.bias, l.b.mean, l.b.var) -> n float32 2x3x4x4
    /l/Relu = Relu(n) -> y float32 2x3x4x4
    output y
  )";
  EXPECT_NE(LowerText(kLayer).find("relu(n) -> y [l] inplace"), std::string::npos) << LowerText(kLayer);
  std::string block(kLayer);
  block.replace(block.find("output y"), 8,
                "weight l.d.weight float32 3x3x1x1\n"
                "    /l/d/Conv = Conv(y, l.d.weight) -> z float32 2x3x4x4\n    output z");
  EXPECT_EQ(LowerText(block).find("inplace"), std::string::npos) << LowerText(block);
}

// self.act(self.bn1(y) + self.bn2(y)): two branches of what the block itself made.
TEST(InPlace, ASumOfTwoBranchesIsANewTensor) {
  const std::string text = LowerText(R"(
    input x float32 2x3x4x4
    weight m.c.weight float32 3x3x1x1
    weight m.b.weight float32 3
    weight m.b.bias float32 3
    weight m.b.mean float32 3
    weight m.b.var float32 3
    /m/c/Conv = Conv(x, m.c.weight) -> a float32 2x3x4x4
    /m/d/Conv = Conv(a, m.c.weight) -> d float32 2x3x4x4
    /m/b/BatchNormalization = BatchNormalization(d, m.b.weight, m.b.bias, m.b.mean, m.b.var) -> n float32 2x3x4x4
    /m/e/Conv = Conv(a, m.c.weight) -> e float32 2x3x4x4
    /m/Add = Add(n, e) -> s float32 2x3x4x4
    /m/relu/Relu = Relu(s) -> y float32 2x3x4x4
    output y
  )");
  EXPECT_EQ(text.find("-> s [m] inplace"), std::string::npos) << text;
  EXPECT_NE(text.find("relu(s) -> y [m.relu] inplace"), std::string::npos) << text;
}

TEST(InPlace, LeakyReluOnlyAsAModuleOfItsOwn) {
  const std::string text = LowerText(R"(
    input x float32 2x3x4x4
    weight c.weight float32 3x3x1x1
    weight d.weight float32 3x3x1x1
    /c/Conv = Conv(x, c.weight) -> a float32 2x3x4x4
    /act/LeakyRelu = LeakyRelu(a) -> b float32 2x3x4x4 {alpha: 0.2}
    /d/Conv = Conv(b, d.weight) -> e float32 2x3x4x4
    /LeakyRelu = LeakyRelu(e) -> y float32 2x3x4x4 {alpha: 0.2}
    output y
  )");
  EXPECT_NE(text.find("leaky_relu(a) -> b [act] inplace\n"), std::string::npos) << text;
  EXPECT_NE(text.find("leaky_relu(e) -> y\n"), std::string::npos) << text;
}

// nn.LeakyReLU(): who gives no slope gives no inplace=True either. A norm of timm's activates with inplace=True by
// itself.
TEST(InPlace, LeakyReluWithItsDefaultSlopeIsANewTensorUnlessItsNormMadeIt) {
  const std::string text = LowerText(R"(
    input x float32 2x3x4x4
    weight c.weight float32 3x3x1x1
    weight d.weight float32 3x3x1x1
    weight d.bn.weight float32 3
    weight d.bn.bias float32 3
    weight d.bn.running_mean float32 3
    weight d.bn.running_var float32 3
    /c/Conv = Conv(x, c.weight) -> a float32 2x3x4x4
    /act/LeakyRelu = LeakyRelu(a) -> b float32 2x3x4x4 {alpha: 0.01}
    /d/conv/Conv = Conv(b, d.weight) -> e float32 2x3x4x4
    /d/bn/BatchNormalization = BatchNormalization(e, d.bn.weight, d.bn.bias, d.bn.running_mean, d.bn.running_var) -> f float32 2x3x4x4
    /d/bn/act/LeakyRelu = LeakyRelu(f) -> y float32 2x3x4x4 {alpha: 0.01}
    output y
  )");
  EXPECT_NE(text.find("leaky_relu(a) -> b [act]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("leaky_relu(f) -> y [d.bn.act] inplace\n"), std::string::npos) << text;
}

TEST(InPlace, AtTheLeastEverySumAndActivationThatCanWritesOverItsInput) {
  const Graph graph = ParseGraph(R"(
    input x float32 2x3x4x4
    weight c.weight float32 3x3x1x1
    /c/Conv = Conv(x, c.weight) -> a float32 2x3x4x4
    /Add = Add(a, x) -> s float32 2x3x4x4
    /Elu = Elu(s) -> e float32 2x3x4x4
    /Sigmoid = Sigmoid(e) -> g float32 2x3x4x4
    /Tanh = Tanh(x) -> t float32 2x3x4x4
    /Mul = Mul(g, t) -> y float32 2x3x4x4
    output y
  )");
  absl::StatusOr<Lowered> lowered = Lower(graph, onnx_mem::Run{});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(DumpLowered(*lowered).find("inplace"), std::string::npos);
  MarkAllInPlace(lowered->graph);
  const std::string text = DumpLowered(*lowered);
  EXPECT_NE(text.find("add(a, x) -> s inplace\nelu(s) -> e inplace\n"), std::string::npos) << text;
  EXPECT_NE(text.find("sigmoid(e) -> g\n"), std::string::npos) << text << "elu's backward needs its result";
  EXPECT_NE(text.find("tanh(x) -> t\n"), std::string::npos) << text << "an input of the graph";
  const NodeId sum = lowered->graph.tensors[lowered->graph.nodes[NodeId(1)].outputs[0]].producer;
  lowered->graph.nodes[sum].attributes["inplace"] = int64_t{0};
  MarkAllInPlace(lowered->graph);
  EXPECT_EQ(DumpLowered(*lowered).find("-> s inplace"), std::string::npos) << "its source line says so";
}

// nn.Sigmoid and nn.Tanh take no inplace=True.
TEST(InPlace, AtTheLeastNoSigmoidWritesOverWhatItReads) {
  const Graph graph = ParseGraph(R"(
    input x float32 2x3x4x4
    weight c.weight float32 3x3x1x1
    /c/Conv = Conv(x, c.weight) -> a float32 2x3x4x4
    /s/Sigmoid = Sigmoid(a) -> y float32 2x3x4x4
    output y
  )");
  absl::StatusOr<Lowered> lowered = Lower(graph, onnx_mem::Run{});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(MarkAllInPlace(lowered->graph), 0) << DumpLowered(*lowered);
}

// nn.ELU() or nn.ELU(inplace=True): the file does not say, so it is said what it would be.
TEST(InPlace, AnEluBehindANormMayBe) {
  constexpr std::string_view kText = R"(
    input x float32 2x4x8
    weight b.0.weight float32 4x4x1
    weight n.weight float32 4
    weight n.bias float32 4
    weight n.running_mean float32 4
    weight n.running_var float32 4
    /b/b.0/Conv = Conv(x, b.0.weight) -> c float32 2x4x8
    /b/b.1/BatchNormalization = BatchNormalization(c, n.weight, n.bias, n.running_mean, n.running_var) -> d float32 2x4x8
    /b/b.2/Elu = Elu(d) -> e float32 2x4x8
    /last/Sin = Sin(e) -> y float32 2x4x8
    output y
  )";
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(kText), {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const auto said = std::find_if(lowered->diagnostics.begin(), lowered->diagnostics.end(),
                                 [](const Diagnostic& d) { return d.code == Code::kInplacePossible; });
  ASSERT_NE(said, lowered->diagnostics.end());
  EXPECT_EQ(said->bytes, 2 * 4 * 8 * 4);
  onnx_mem::Run all;
  all.inplace = "all";
  EXPECT_NE(LowerText(kText).find("elu(d) -> e [b.2]\n"), std::string::npos) << LowerText(kText);
  EXPECT_NE(LowerText(kText, all).find("elu(d) -> e [b.2] inplace\n"), std::string::npos) << LowerText(kText, all);
}

// `text` with `what` in the place of OP, all in place that may be.
std::string AllInPlace(std::string_view what) {
  onnx_mem::Run all;
  all.inplace = "all";
  const std::string text = absl::StrReplaceAll(R"(
    input x float32 2x4x8
    weight c.weight float32 4x4x1
    /c/Conv = Conv(x, c.weight) -> c float32 2x4x8
    /Add = Add(c, x) -> s float32 2x4x8
    /OP = OP(s) -> e float32 2x4x8
    /last/Sin = Sin(e) -> y float32 2x4x8
    output y
  )",
                                               {{"OP", std::string(what)}});
  return LowerText(text, all);
}

TEST(InPlace, AllMeansEveryActivationThatMay) {
  for (const char* op : {"Relu", "LeakyRelu", "Elu", "Selu", "Celu", "HardSwish", "HardSigmoid", "Mish", "Sigmoid"}) {
    EXPECT_NE(AllInPlace(op).find("(s) -> e inplace\n"), std::string::npos) << AllInPlace(op);
  }
  EXPECT_EQ(AllInPlace("Gelu").find("inplace\n"), std::string::npos) << "gelu has no such form in code";
}

TEST(InPlace, NeverWhereABackwardNeedsWhatIsWrittenOver) {
  onnx_mem::Run all;
  all.inplace = "all";
  const std::string text = LowerText(R"(
    input x float32 2x4x8
    weight c.weight float32 4x4x1
    /c/Conv = Conv(x, c.weight) -> c float32 2x4x8
    /a/Sigmoid = Sigmoid(c) -> s float32 2x4x8
    /Reshape = Flatten(s) -> r float32 2x32 {axis: 1}
    /b/LeakyRelu = LeakyRelu(r) -> e float32 2x32
    /last/Sin = Sin(e) -> y float32 2x32
    output y
  )",
                                     all);
  EXPECT_NE(text.find("-> s [a] inplace\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("-> e [b] inplace\n"), std::string::npos) << text << "it is the sigmoid's result";
}

// nn.LeakyReLU behind a sum: auto takes it to make a new tensor, and says so.
TEST(InPlace, ALeakyReluBehindASumMayBe) {
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(R"(
    input x float32 2x4x8
    weight c.weight float32 4x4x1
    /c/Conv = Conv(x, c.weight) -> c float32 2x4x8
    /Add = Add(c, x) -> s float32 2x4x8
    /act/LeakyRelu = LeakyRelu(s) -> e float32 2x4x8 {alpha: 0.2}
    /last/Sin = Sin(e) -> y float32 2x4x8
    output y
  )"),
                                                {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_TRUE(std::any_of(lowered->diagnostics.begin(), lowered->diagnostics.end(),
                          [](const Diagnostic& d) { return d.code == Code::kInplacePossible; }));
}

}  // namespace
}  // namespace onnx_mem
