#include "analyzer/lower/inplace.h"

#include <gtest/gtest.h>

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
    input x float32 2x8
    weight f.w float32 8x8
    weight f.b float32 8
    /f/Gemm = Gemm(x, f.w, f.b) -> a float32 2x8
    /act/Relu = Relu(a) -> y float32 2x8
    output y
  )");
  EXPECT_NE(features.find("inplace"), std::string::npos) << features;
}

TEST(InPlace, LeakyReluOnlyAsAModuleOfItsOwn) {
  const std::string text = LowerText(R"(
    input x float32 2x3x4x4
    weight c.weight float32 3x3x1x1
    weight d.weight float32 3x3x1x1
    /c/Conv = Conv(x, c.weight) -> a float32 2x3x4x4
    /act/LeakyRelu = LeakyRelu(a) -> b float32 2x3x4x4
    /d/Conv = Conv(b, d.weight) -> e float32 2x3x4x4
    /LeakyRelu = LeakyRelu(e) -> y float32 2x3x4x4
    output y
  )");
  EXPECT_NE(text.find("leaky_relu(a) -> b [act] inplace\n"), std::string::npos) << text;
  EXPECT_NE(text.find("leaky_relu(e) -> y\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace onnx_mem
