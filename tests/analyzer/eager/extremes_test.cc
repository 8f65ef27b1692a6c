#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

const Dims kRows{8, 1000};  // 32,000 bytes in float32; a mask has 8,000

// Measured with PyTorch 2.15 on fake CUDA tensors: of each allocation its operator and bytes.
TEST(ClampBetweenTest, HalvesTheGradientWhereABoundIsMet) {
  OperatorRun run;
  const TensorRef x = run.Static({kRows}), low = run.Static({kRows}), high = run.Static({kRows});
  const TensorRef y = run.One("clamp_between", {x, low, high}, kRows);
  EXPECT_EQ(run.SavedBytes(true), 96'000);
  EXPECT_EQ(run.Backward(y),
            "lt:8000 eq:8000 le:8000 lt:8000 logical_or:8000 logical_not:8000 div:32000 eq:8000 where:32000 "
            "lt:8000 ge:8000 logical_or:8000 gt:8000 logical_or:8000 logical_not:8000 div:32000 eq:8000 where:32000 "
            "lt:8000 eq:8000 eq:8000 logical_or:8000 lt:8000 gt:8000 logical_or:8000 div:32000 where:32000");
}

TEST(ClampBetweenTest, IsAMaximumWithOneBound) {
  for (const bool low : {true, false}) {
    OperatorRun run;
    const TensorRef x = run.Static({kRows}), bound = run.Static({kRows, false});
    const TensorRef y = run.One("clamp_between", {x, low ? bound : nullptr, low ? nullptr : bound}, kRows);
    EXPECT_EQ(run.SavedBytes(true), 64'000);
    EXPECT_EQ(run.Backward(y), "gt:8000 div:32000 eq:8000 where:32000");
  }
}

TEST(XlogyTest, FillsItsGradientInPlace) {
  OperatorRun run;
  const TensorRef y = run.One("xlogy", {run.Static({kRows}), run.Static({kRows})}, kRows);
  EXPECT_EQ(run.SavedBytes(true), 64'000);
  EXPECT_EQ(run.Backward(y), "mul:32000 div:32000 xlogy:32000 le:8000 eq:8000 logical_and:8000");
}

TEST(IndexFillTest, SavesTheIndexAlone) {
  OperatorRun run;
  const TensorRef index = run.Static({{100}, false, DType::kInt64});
  const TensorRef y = run.One("index_fill", {run.Static({kRows}), index}, kRows);
  EXPECT_EQ(run.SavedBytes(true), 800);
  EXPECT_EQ(run.Backward(y), "index_fill:32000");
}

TEST(SliceScatterTest, SavesNothingAndViewsThePartOfItsGradient) {
  for (const Dims& part : {Dims{8, 100}, Dims{8}}) {
    OperatorRun run;
    const TensorRef y =
        run.One("slice_scatter", {run.Static({kRows}), run.Static({part})}, kRows, {{"axis", int64_t{1}}});
    EXPECT_EQ(run.SavedBytes(true), 0);
    const std::string back = run.Backward(y);
    EXPECT_NE(back.find("slice_scatter:32000"), std::string::npos) << back;
  }
}

}  // namespace
}  // namespace onnx_mem::eager
