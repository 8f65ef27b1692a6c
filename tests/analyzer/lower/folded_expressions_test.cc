// What dynamo's exporter computed because all that it is made of is stored, and a training step computes.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

const std::string kLayers = R"(
    input x float32 2x6x16x8
    weight unsqueeze_14 float32 1x1x16x8
    weight unsqueeze_18 float32 1x1x16x8
    node_mul = Mul(x, unsqueeze_14) -> a float32 2x6x16x8
    @ namespace : Net/m: M/m.layers.0: L/m.layers.0.attn: A/mul: aten.mul.Tensor
    node_neg = Neg(a) -> b float32 2x6x16x8
    @ namespace : Net/m: M/m.layers.1: L/m.layers.1.norm: N/neg: aten.neg.default
    node_mul_1 = Mul(b, unsqueeze_18) -> y float32 2x6x16x8
    @ namespace : Net/m: M/m.layers.1: L/m.layers.1.attn: A/mul_1: aten.mul.Tensor
    output y
)";

// A rotary embedding's cosines: computed once, handed to every layer, seen through a view in each.
TEST(FoldedExpressions, ViewsInSiblingsAreOfOneTensor) {
  EXPECT_EQ(LowerText(kLayers),
            "full() -> unsqueeze_14/computed [m]\n"
            "mul(x, unsqueeze_14/computed) -> a [m.layers.0.attn]\n"
            "neg(a) -> b [m.layers.1.norm]\n"
            "mul(b, unsqueeze_14/computed) -> y [m.layers.1.attn]\n");
}

TEST(FoldedExpressions, ResultsThatAreNoViewsAreComputedWhereTheyAreRead) {
  const std::string text = absl::StrReplaceAll(kLayers, {{"unsqueeze_14", "sub"}, {"unsqueeze_18", "sub_1"}});
  EXPECT_EQ(LowerText(text),
            "full() -> sub/computed [m.layers.0.attn]\n"
            "mul(x, sub/computed) -> a [m.layers.0.attn]\n"
            "neg(a) -> b [m.layers.1.norm]\n"
            "full() -> sub_1/computed [m.layers.1.attn]\n"
            "mul(b, sub_1/computed) -> y [m.layers.1.attn]\n");
}

TEST(FoldedExpressions, TensorsOfModulesStay) {
  const std::string text = absl::StrReplaceAll(kLayers, {{"unsqueeze_14", "m.mask_0"}, {"unsqueeze_18", "m.mask_1"}});
  EXPECT_EQ(LowerText(text).find("full"), std::string::npos);
}

const std::string kRelative = R"(
    input q float32 2x9x9
    const first int64 scalar = 0
    weight index_2 float32 4x9x9
    node_select = Gather(index_2, first) -> s float32 9x9 {axis: 0}
    @ lost_parameter attn.biases
    node_add = Add(q, s) -> y float32 2x9x9
    output y
)";

// EfficientViT: biases[:, index], a column for each of the 9 distances in a window of 3 x 3.
TEST(FoldedExpressions, WhatWasPickedFromALostParameterHasATable) {
  const std::string text = LowerText(kRelative);
  EXPECT_NE(text.find("index(index_2/table, "), std::string::npos) << text;
  EXPECT_NE(text.find("select(index_2/index) -> s"), std::string::npos) << text;
  EXPECT_NE(text.find("parameter index_2/table\n"), std::string::npos) << text;
}

TEST(FoldedExpressions, WithoutALostParameterItIsComputed) {
  const std::string text =
      LowerText(absl::StrReplaceAll(kRelative, {{"    @ lost_parameter attn.biases\n", ""}}));
  EXPECT_NE(text.find("full() -> index_2/computed"), std::string::npos) << text;
  EXPECT_EQ(text.find("parameter"), std::string::npos) << text;
}

// T5: embedding of the positions' buckets, [queries, keys, heads], seen as [heads, queries, keys].
TEST(FoldedExpressions, PermutedBiasesAreOfBuckets) {
  const std::string text = LowerText(R"(
    input q float32 2x4x9x7
    const axis int64 1 = 0
    weight permute float32 4x9x7
    node_unsqueeze = Unsqueeze(permute, axis) -> u float32 1x4x9x7
    @ lost_parameter attn.biases
    node_add = Add(q, u) -> y float32 2x4x9x7
    output y
  )");
  EXPECT_NE(text.find("embedding(permute/table, permute/full) -> permute/embedding"), std::string::npos) << text;
  EXPECT_NE(text.find("parameter permute/table\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace onnx_mem
