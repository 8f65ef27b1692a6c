#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

const Dims kTwoDims{8, 1000};         // 32,000 bytes in float32; a mask has 8,000
const Dims kTenMatrices{10, 20, 20};  // 16,000 bytes

// Measured with PyTorch 2.15 on fake CUDA tensors: of each allocation its operator and bytes.
TEST(WithResultTest, MagnitudesAndSigns) {
  const std::map<std::string, std::string> backward = {
      {"copysign", "zeros_like:32000 div:32000 eq:8000 mul:32000"},
      {"fmax", "gt:8000 isnan:8000 div:32000 eq:8000 where:32000 gt:8000 isnan:8000 div:32000 eq:8000 where:32000"},
      {"hypot", "mul:32000 div:32000 mul:32000 div:32000"},
      {"ldexp", "mul:32000 mul:32000 pow:32000 mul:32000"}};
  const std::map<std::string, int64_t> saved = {
      {"copysign", 64'000}, {"fmax", 64'000}, {"hypot", 96'000}, {"ldexp", 64'000}};
  for (const auto& [op, allocations] : backward) {
    OperatorRun run;
    const TensorRef y = run.One(op, {run.Static({kTwoDims}), run.Static({kTwoDims})}, kTwoDims);
    EXPECT_EQ(run.SavedBytes(true), saved.at(op)) << op;
    EXPECT_EQ(run.Backward(y), allocations) << op;
  }
}

TEST(WithResultTest, TheSignOfANumberHasNoGradient) {
  OperatorRun run;
  const TensorRef y = run.One("copysign", {run.Static({kTwoDims})}, kTwoDims);
  EXPECT_EQ(run.Backward(y), "div:32000 eq:8000 mul:32000");
}

TEST(WithResultTest, DistancesAreReadTheOtherWayRoundForTheOtherRows) {
  OperatorRun run;
  const TensorRef y = run.One("distances", {run.Static({kTenMatrices}), run.Static({kTenMatrices})}, kTenMatrices);
  EXPECT_EQ(run.SavedBytes(true), 48'000);
  EXPECT_EQ(run.Backward(y), "_cdist_backward:16000 clone:16000 clone:16000 _cdist_backward:16000");
}

TEST(WithResultTest, DistancesByProductsGiveBothGradientsAtOnce) {
  for (const bool both : {true, false}) {
    OperatorRun run;
    const TensorRef y =
        run.One("euclidean_distances", {run.Static({Dims{100, 20}}), run.Static({Dims{50, 20}, both})}, Dims{100, 50});
    EXPECT_EQ(run.SavedBytes(true), 32'000);
    EXPECT_EQ(run.Backward(y), "div:20000 eq:5000 mm:8000 sum:400 mul:8000 sub:8000 mm:4000 sum:200 mul:4000 sub:4000");
  }
}

TEST(WithResultTest, CholeskySavesItsTriangle) {
  OperatorRun run;
  const TensorRef y = run.One("cholesky", {run.Static({kTenMatrices})}, kTenMatrices);
  EXPECT_EQ(run.SavedBytes(true), 16'000);
  EXPECT_EQ(run.Backward(y),
            "bmm:16000 tril:16000 tril:16000 add:16000 mul:16000 linalg_solve_triangular:16000 "
            "linalg_solve_triangular:16000");
}

TEST(LerpTest, WritesOverItsInputInPlace) {
  for (const bool by_tensor : {true, false}) {
    OperatorRun run;
    const TensorRef x = run.Static({kTwoDims, false}), y = run.Static({kTwoDims, false});
    const TensorRef weight = by_tensor ? run.Static({kTwoDims, false}) : nullptr;
    const TensorRef z = run.One("lerp", {x, y, weight}, kTwoDims, {{"inplace", int64_t{1}}});
    EXPECT_EQ(z->storage, x->storage);
    EXPECT_NE(run.One("lerp", {x, y, weight}, kTwoDims)->storage, x->storage);
  }
}

TEST(DiagonalTest, GradientsAreAViewOrZeros) {
  OperatorRun embed;
  const TensorRef y = embed.One("diag_embed", {embed.Static({Dims{10, 20}})}, kTenMatrices,
                                {{"rows", int64_t{1}}, {"columns", int64_t{2}}});
  EXPECT_EQ(embed.Backward(y), "clone:800") << "a leaf keeps no view";
  OperatorRun trace;
  const TensorRef sum = trace.One("trace", {trace.Static({Dims{20, 30}})}, Dims{});
  EXPECT_EQ(trace.Backward(sum), "zeros:2400 arange:160");
}

TEST(CumulativeExtremumTest, SavesItsInputAndThePlaces) {
  OperatorRun run;
  const TensorRef y = run.One("cumulative_extremum", {run.Static({kTwoDims})}, kTwoDims, {{"axis", int64_t{1}}});
  EXPECT_EQ(run.SavedBytes(true), 96'000);
  EXPECT_EQ(run.Backward(y), "zeros:32000");
}

TEST(ScatterReduceTest, CountsWhatMeetsOutOfPlace) {
  const std::map<std::string, std::string> backward = {
      {"mean", "ones_like:32000 ones_like:3200 scatter_add:32000 eq:8000 div:32000 gather:3200 gather:3200 div:3200"},
      {"max",
       "gather:3200 eq:8000 _to_copy:32000 eq:800 _to_copy:3200 scatter_add:32000 div:32000 eq:8000 mul:32000 "
       "gather:3200 eq:800 mul:3200"},
      {"prod",
       "eq:8000 masked_fill:32000 scatter_reduce:32000 mul:32000 div:32000 eq:800 zeros_like:32000 _to_copy:3200 "
       "scatter_add:32000 gather:3200 eq:800 eq:800 masked_fill:3200 scatter_reduce:32000 masked_fill:3200 mul:32000 "
       "gather:3200 div:3200 mul:32000 gather:3200 where:3200"}};
  for (const auto& [reduction, allocations] : backward) {
    OperatorRun run;
    const TensorRef index = run.Static({{8, 100}, false, DType::kInt64});
    const TensorRef y = run.One("scatter_reduce", {run.Static({kTwoDims}), index, run.Static({{8, 100}})}, kTwoDims,
                                {{"reduction", reduction}});
    EXPECT_EQ(run.Backward(y), allocations) << reduction;
  }
}

}  // namespace
}  // namespace onnx_mem::eager
