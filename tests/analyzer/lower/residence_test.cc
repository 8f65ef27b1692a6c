#include "analyzer/lower/operators/residence.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

TEST(Residence, ShapeArithmeticBeforeAReshapeCostsNothing) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x3x4
    const zero int64 scalar = 0
    const axes int64 1 = 0
    const rest int64 1 = -1
    /Shape = Shape(x) -> s int64 3 = 2 3 4
    /Gather = Gather(s, zero) -> b int64 scalar = 2
    /Unsqueeze = Unsqueeze(b, axes) -> b1 int64 1 = 2
    /Concat = Concat(b1, rest) -> target int64 2 = 2 -1 {axis: 0}
    /Reshape = Reshape(x, target) -> y float32 2x12
    output y
  )"),
            "reshape(x) -> y\n");
}

// What a small parameter holds is in the file; a number that is picked from it is trained all the same.
TEST(Residence, ANumberOfAParameterIsNoneOfPython) {
  EXPECT_NE(LowerText(R"(
    input x float32 2x3
    weight c float32 4
    const first int64 scalar = 0
    /Gather = Gather(c, first) -> a float32 scalar = 1
    /Mul = Mul(x, a) -> y float32 2x3
    output y
  )")
                .find("parameter c"),
            std::string::npos);
}

TEST(Residence, PositionsOfAnEmbeddingAreMadeOnTheDeviceThoughTheyFold) {
  EXPECT_EQ(LowerText(R"(
    input ids int64 2x3
    weight emb.weight float32 10x4
    weight pos.weight float32 8x4
    const zero int64 scalar = 0
    const one int64 scalar = 1
    /Shape = Shape(ids) -> s int64 2 = 2 3
    /Gather = Gather(s, one) -> t int64 scalar = 3
    /Range = Range(zero, t, one) -> r int64 3 = 0 1 2
    /emb/Gather = Gather(emb.weight, ids) -> e float32 2x3x4
    /pos/Gather = Gather(pos.weight, r) -> p float32 3x4
    /Add = Add(e, p) -> y float32 2x3x4
    output y
  )"),
            "arange() -> r\n"
            "embedding(emb.weight, ids) -> e [emb]\n"
            "embedding(pos.weight, r) -> p [pos]\n"
            "add(e, p) -> y\n"
            "parameter emb.weight\n"
            "parameter pos.weight\n");
}

TEST(Residence, KnownNumbersAreScalars) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x3
    const two float32 scalar = 2
    const three float32 1 = 3
    /Mul = Mul(x, two) -> a float32 2x3
    /Add = Add(three, a) -> b float32 2x3
    /Sub = Sub(two, b) -> c float32 2x3
    /Div = Div(c, two) -> d float32 2x3
    /Pow = Pow(d, two) -> y float32 2x3
    output y
  )",
                      {}, "scalar exponent"),
            "mul_scalar(x) -> a scalar=2\n"
            "add_scalar(a) -> b scalar=3\n"
            "rsub_scalar(b) -> c scalar=2\n"
            "div_scalar(c) -> d scalar=2\n"
            "pow_scalar(d) -> y exponent=2\n");
}

TEST(Residence, ANamedParameterOfOneElementIsNoNumber) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x3
    weight logit_scale float32 scalar = 2
    /Mul = Mul(x, logit_scale) -> y float32 2x3
    output y
  )"),
            "mul(x, logit_scale) -> y\n"
            "parameter logit_scale\n");
}

TEST(Residence, UnreadNodesDoNotRun) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x3
    /Exp = Exp(x) -> unused float32 2x3
    /Relu = Relu(x) -> y float32 2x3
    output y
  )"),
            "relu(x) -> y\n");
}

TEST(Residence, ASizeThatDependsOnDataIsComputedOnTheDevice) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x6
    input n int64 2
    /Neg = Neg(n) -> m int64 2
    /Reshape = Reshape(x, m) -> y float32 3x4
    output y
  )"),
            "neg(n) -> m\n"
            "reshape(x) -> y\n");
}

TEST(Residence, RunningStatisticsTablesAndMasksAreBuffers) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x3x4x4
    weight bn.weight float32 3
    weight bn.bias float32 3
    weight mean_name float32 3
    weight var_name float32 3
    weight block.attn_mask float32 2x3x4x4
    weight block.gamma float32 3x1x1
    /bn/BatchNormalization = BatchNormalization(x, bn.weight, bn.bias, mean_name, var_name) -> a float32 2x3x4x4
    /Add = Add(a, block.attn_mask) -> b float32 2x3x4x4
    /Mul = Mul(b, block.gamma) -> y float32 2x3x4x4
    output y
  )",
                      {}, "training"),
            "batch_norm(x, bn.weight, bn.bias, mean_name, var_name) -> a [bn] training=1\n"
            "add(a, block.attn_mask) -> b\n"
            "mul(b, block.gamma) -> y\n"
            "parameter bn.weight\n"
            "parameter bn.bias\n"
            "buffer mean_name\n"
            "buffer var_name\n"
            "buffer block.attn_mask\n"
            "parameter block.gamma\n"
            "hidden 8\n");
}

// A rotary table's frequencies need no gradient, whatever the model calls them; a linear in front of a sine does.
TEST(Parameters, FrequenciesOfSinesAreABuffer) {
  const std::string text = LowerText(R"(
    input positions float32 16x1
    weight f float32 1x8
    /Mul = Mul(positions, f) -> a float32 16x8
    /Concat = Concat(a, a) -> e float32 16x16 {axis: 1}
    /Cos = Cos(e) -> c float32 16x16
    /Sin = Sin(e) -> s float32 16x16
    output c
    output s
  )");
  EXPECT_NE(text.find("buffer f\n"), std::string::npos) << text;
  const std::string siren = LowerText(R"(
    input x float32 16x2
    weight first.weight float32 2x8
    /MatMul = MatMul(x, first.weight) -> a float32 16x8
    /Sin = Sin(a) -> y float32 16x8
    output y
  )");
  EXPECT_NE(siren.find("parameter first.weight\n"), std::string::npos) << siren;
}

}  // namespace
}  // namespace onnx_mem
