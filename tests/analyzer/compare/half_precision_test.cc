#include "analyzer/compare/half_precision.h"

#include <gtest/gtest.h>

#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// A convolution in float16 round a Resize and a Softmax that stayed float32.
constexpr std::string_view kMixed = R"(mixed (float16[2,4,8,8] x) => (float16[2,4,16,16] y)
    <float16[4,4,3,3] w = ["location": "none"], float[2] bias = ["location": "none"], float[4] scales = {1, 1, 2, 2}>
    { a = Conv <pads = [1,1,1,1]> (x, w)
      b = Cast <to = 1> (a)
      c = Resize (b, , scales)
      d = Softmax (c)
      y = Cast <to = 10> (d) })";

TEST(FindHalfPrecision, ListsWhatStayedInSinglePrecision) {
  const std::optional<HalfPrecision> half = FindHalfPrecision(ParseGraph(kMixed));
  ASSERT_TRUE(half);
  EXPECT_EQ(half->dtype, DType::kFloat16);
  const int64_t large = 2 * 4 * 16 * 16, small = 2 * 4 * 8 * 8;
  EXPECT_EQ(half->kept_fp32, (std::vector<OperatorGroup>{{"Resize", 1, 4 * large}, {"Softmax", 1, 4 * large}}));
  EXPECT_EQ(half->casts,
            (std::vector<OperatorGroup>{{"float32 to float16", 1, 2 * large}, {"float16 to float32", 1, 4 * small}}));
  EXPECT_EQ(half->fp32_weight_bytes, 4 * (2 + 4));
}

TEST(FindHalfPrecision, AFullPrecisionModelHasNone) {
  EXPECT_FALSE(FindHalfPrecision(ParseGraph(
      R"(full (float[2,4] x) => (float[2,4] y) <float[4,4] w = ["location": "none"]> { y = MatMul(x, w) })")));
  EXPECT_FALSE(FindHalfPrecision(ParseGraph(R"(none (float[2,4] x) => (float[2,4] y) { y = Relu(x) })")));
}

TEST(FindHalfPrecision, TellsBFloat16) {
  const auto half = FindHalfPrecision(ParseGraph(
      R"(b (bfloat16[2,4] x) => (bfloat16[2,4] y) <bfloat16[4,4] w = ["location": "none"]> { y = MatMul(x, w) })"));
  ASSERT_TRUE(half);
  EXPECT_EQ(half->dtype, DType::kBFloat16);
  EXPECT_TRUE(half->kept_fp32.empty());
}

}  // namespace
}  // namespace onnx_mem
