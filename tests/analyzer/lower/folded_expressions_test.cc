// What dynamo's exporter computed because all that it is made of is stored, and a training step computes.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "analyzer/assume/choices/loose_parameters.h"
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

TEST(FoldedExpressions, AreComputedWhereTheyAreRead) {
  EXPECT_EQ(LowerText(kLayers),
            "full() -> unsqueeze_14/computed [m.layers.0.attn]\n"
            "mul(x, unsqueeze_14/computed) -> a [m.layers.0.attn]\n"
            "neg(a) -> b [m.layers.1.norm]\n"
            "full() -> unsqueeze_18/computed [m.layers.1.attn]\n"
            "mul(b, unsqueeze_18/computed) -> y [m.layers.1.attn]\n");
}

TEST(FoldedExpressions, TensorsOfModulesStay) {
  const std::string text = absl::StrReplaceAll(kLayers, {{"unsqueeze_14", "m.mask_0"}, {"unsqueeze_18", "m.mask_1"}});
  EXPECT_EQ(LowerText(text).find("full"), std::string::npos);
}

// unsqueeze_14 = unsqueeze(weight): trained as the weight is.
TEST(FoldedExpressions, MayBeOfParametersAndTrained) {
  absl::StatusOr<Lowered> lowered = Lower(ParseGraph(kLayers), onnx_mem::Run());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_TRUE(TrainComputed(*lowered));
  const std::string dump = DumpLowered(*lowered);
  EXPECT_TRUE(Has(dump, "identity(unsqueeze_14) -> unsqueeze_14/computed")) << dump;
  EXPECT_TRUE(Has(dump, "identity(unsqueeze_18) -> unsqueeze_18/computed")) << dump;
  for (TensorId id : lowered->graph.initializers) {
    const bool read = !lowered->graph.tensors[id].consumers.empty();  // what the exporter computed no longer is
    EXPECT_EQ(lowered->kinds[id], read ? TensorKind::kParameter : TensorKind::kHost);
  }
  EXPECT_FALSE(TrainComputed(*lowered)) << "none is left";
}

// cat_4, of pieces of fc.weight: the file has neither fc.weight nor the calls that made cat_4.
const std::string kKernel = R"(
    input x float32 2x8
    weight cat_4 float32 16x8
    node_linear = Gemm(x, cat_4) -> y float32 2x16 {transB: 1}
    @ pkg.torch.onnx.fx_node %y : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %cat_4), kwargs = {})
    @ lost_parameter fc.weight
    output y
)";

TEST(FoldedExpressions, ALayersWeightStandsForParameters) {
  const std::string dump = LowerText(kKernel);
  EXPECT_TRUE(Has(dump, "identity(cat_4) -> cat_4/computed")) << dump;
  EXPECT_TRUE(Has(dump, "linear(x, cat_4/computed) -> y")) << dump;
  EXPECT_TRUE(Has(dump, "parameter cat_4")) << dump;
  for (const auto& [from, to] : {std::pair("cat_4", "t_4"),
                                 {"cat_4", "fc.weight"},
                                 {"@ lost_parameter fc.weight", ""},
                                 {"%cat_4), kw", "%p_w), kw"}}) {
    const std::string other = LowerText(absl::StrReplaceAll(kKernel, {{from, to}}));
    EXPECT_FALSE(Has(other, "/computed")) << from << " is " << to << "\n" << other;
  }
}

// The four blocks of a quaternion's kernel are one parameter with four signs.
TEST(FoldedExpressions, TheParametersOfAWeightMayBeFewer) {
  absl::StatusOr<Lowered> lowered = Lower(ParseGraph(kKernel), onnx_mem::Run());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_TRUE(ShrinkMadeOf(*lowered));
  for (TensorId id : lowered->graph.initializers) {
    if (lowered->kinds[id] == TensorKind::kParameter) {
      EXPECT_EQ(NumElements(lowered->graph.tensors[id].shape), 1);
    }
  }
  EXPECT_FALSE(CopyMadeOf(*lowered)) << "it is made already";
  const std::string product = absl::StrReplaceAll(kKernel, {{"cat_4", "mul_4"}});
  absl::StatusOr<Lowered> masked = Lower(ParseGraph(product), onnx_mem::Run());
  ASSERT_TRUE(masked.ok()) << masked.status();
  EXPECT_TRUE(Has(DumpLowered(*masked), "mul_scalar(mul_4) -> mul_4/computed"));
  EXPECT_FALSE(ShrinkMadeOf(*masked)) << "weight * mask: as many as the weight";
  EXPECT_FALSE(CopyMadeOf(*masked)) << "it is made already";
}

// Expected: one tensor. At the most each step makes it of parameters, and keeps it beside them.
TEST(FoldedExpressions, AWeightMayBeMadeBesideItsParameters) {
  absl::StatusOr<Lowered> lowered = Lower(ParseGraph(kKernel), onnx_mem::Run());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_TRUE(CopyMadeOf(*lowered));
  EXPECT_TRUE(Has(DumpLowered(*lowered), "mul_scalar(cat_4) -> cat_4/computed")) << DumpLowered(*lowered);
  EXPECT_FALSE(CopyMadeOf(*lowered)) << "none is left";
}

}  // namespace
}  // namespace onnx_mem
