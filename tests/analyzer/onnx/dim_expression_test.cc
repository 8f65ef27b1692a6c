#include "analyzer/onnx/sizes/dim_expression.h"

#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

const std::map<std::string, int64_t> kSizes = {{"batch", 8}, {"s77", 5}, {"odd-name", 3}};

TEST(EvaluateDim, FollowsPythonsRules) {
  EXPECT_EQ(EvaluateDim("batch", kSizes), 8);
  EXPECT_EQ(EvaluateDim("2*batch + 1", kSizes), 17);
  EXPECT_EQ(EvaluateDim("2*(batch - s77)", kSizes), 6);
  EXPECT_EQ(EvaluateDim("-s77//2", kSizes), -3);
  EXPECT_EQ(EvaluateDim("max(s77, batch, 3)", kSizes), 8);
  EXPECT_EQ(EvaluateDim("floor(s77/2)", kSizes), 2);
  EXPECT_EQ(EvaluateDim("odd-name", kSizes), 3);
}

TEST(EvaluateDim, RefusesWhatItCannotKnow) {
  for (const char* text : {"seq", "batch + seq", "batch / 0", "batch **2", "f(batch)", "(batch", "", "batch batch",
                           "9999999999999999999", "4611686018427387904 * 4"}) {
    EXPECT_EQ(EvaluateDim(text, kSizes), std::nullopt) << text;
  }
  EXPECT_EQ(EvaluateDim(std::string(100'000, '('), kSizes), std::nullopt);
}

TEST(DimNames, FormulaOrName) {
  EXPECT_EQ(DimNames("past + seq * past"), (std::vector<std::string>{"past", "seq"}));
  EXPECT_EQ(DimNames("Gemm242 dim 0"), std::vector<std::string>{"Gemm242 dim 0"});
}

}  // namespace
}  // namespace onnx_mem
