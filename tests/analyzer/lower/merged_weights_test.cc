// Initializers of equal contents that TorchScript's exporter made one: which were several parameters.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// The zero shift of the first norm stands for the second's, and for a running mean.
TEST(MergedWeights, EqualNumbersUnderNamesOfModulesAreParametersOfTheirOwn) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    weight a.weight float32 8
    weight a.bias float32 8
    Identity_0 = Identity(a.weight) -> b.weight float32 8
    Identity_1 = Identity(a.bias) -> b.bias float32 8
    /a/LayerNormalization = LayerNormalization(x, a.weight, a.bias) -> h float32 2x8 {axis: -1}
    /b/LayerNormalization = LayerNormalization(h, b.weight, b.bias) -> y float32 2x8 {axis: -1}
    output y
  )");
  EXPECT_TRUE(Has(text, "layer_norm(h, b.weight, b.bias) -> y")) << text;
  EXPECT_TRUE(Has(text, "parameter b.bias")) << text;
}

TEST(MergedWeights, AShiftThatStandsForARunningMeanIsAParameterAllTheSame) {
  const std::string text = LowerText(R"(
    input x float32 2x8x4x4
    weight n.weight float32 8
    weight n.bias float32 8
    weight n.running_var float32 8
    Identity_0 = Identity(n.bias) -> n.running_mean float32 8
    /n/BatchNormalization = BatchNormalization(x, n.weight, n.bias, n.running_mean, n.running_var) -> y float32 2x8x4x4
    output y
  )");
  EXPECT_TRUE(Has(text, "parameter n.bias")) << text;
  EXPECT_TRUE(Has(text, "buffer n.running_mean")) << text;
}

// Two linears without a bias that are copies of one (nn.TransformerEncoder), and a second call of the first.
constexpr std::string_view kLinears = R"(
    input x float32 2x4x8
    weight onnx::MatMul_1 float32 8x8
    Identity_0 = Identity(onnx::MatMul_1) -> onnx::MatMul_3 float32 8x8
    Identity_1 = Identity(onnx::MatMul_1) -> onnx::MatMul_2 float32 8x8
    /a/MatMul = MatMul(x, onnx::MatMul_1) -> h float32 2x4x8
    /b/MatMul = MatMul(h, onnx::MatMul_2) -> g float32 2x4x8
    /a_1/MatMul = MatMul(g, onnx::MatMul_3) -> y float32 2x4x8
    output y
)";

TEST(MergedWeights, ComputedWeightsBelongToTheModuleThatReadsThem) {
  const std::string text = LowerText(kLinears);
  EXPECT_TRUE(Has(text, "linear(h, onnx::MatMul_2) -> g")) << text;
  EXPECT_TRUE(Has(text, "linear(g, onnx::MatMul_1) -> y")) << text;
}

// The bias that folding made equals another module's; of three calls of one convolution it is one bias.
TEST(MergedWeights, AFoldedBiasThatEqualsAnothersShowsItsBatchNorm) {
  const std::string text = LowerText(R"(
    input x float32 2x8x4x4
    weight fc.bias float32 8
    weight onnx::Conv_1 float32 8x8x3x3
    Identity_0 = Identity(fc.bias) -> onnx::Conv_2 float32 8
    Identity_1 = Identity(fc.bias) -> onnx::Conv_4 float32 8
    Identity_2 = Identity(onnx::Conv_1) -> onnx::Conv_3 float32 8x8x3x3
    /c/Conv = Conv(x, onnx::Conv_1, onnx::Conv_2) -> h float32 2x8x4x4 {kernel_shape: [3 3], pads: [1 1 1 1]}
    /c_1/Conv = Conv(h, onnx::Conv_3, onnx::Conv_4) -> g float32 2x8x4x4 {kernel_shape: [3 3], pads: [1 1 1 1]}
    /Add = Add(g, x) -> y float32 2x8x4x4
    output y
  )");
  EXPECT_TRUE(Has(text, "batch_norm(")) << text;
  EXPECT_FALSE(Has(text, "fc.bias")) << text;
}

// A scripted module names a shared table twice.
TEST(MergedWeights, AHeadKeepsTheEmbeddingsTable) {
  const std::string text = LowerText(R"(
    input ids int64 2x8
    weight embed.weight float32 50x16
    Identity_0 = Identity(embed.weight) -> head.weight float32 50x16
    /embed/Gather = Gather(embed.weight, ids) -> e float32 2x8x16
    /head/Transpose = Transpose(head.weight) -> t float32 16x50 {perm: [1 0]}
    /head/MatMul = MatMul(e, t) -> y float32 2x8x50
    output y
  )");
  EXPECT_TRUE(Has(text, "linear(e, embed.weight) -> y")) << text;
}

}  // namespace
}  // namespace onnx_mem
