#include "analyzer/graph/shape.h"

#include <limits>

#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(ShapeTest, KnownNeedsRankAndEveryDim) {
  EXPECT_TRUE(Shape(Dims{8, 3}).known());
  EXPECT_TRUE(Shape::Scalar().known());
  EXPECT_FALSE(Shape().known());
  EXPECT_FALSE(Shape(Dims{kUnknownDim, 3}).known());
}

TEST(ShapeTest, UnknownRankIsNotAScalar) { EXPECT_NE(Shape(), Shape::Scalar()); }

TEST(ShapeTest, PrintsAsTheReportDoes) {
  EXPECT_EQ(ToString(Shape(Dims{64, 3, 224, 224})), "64x3x224x224");
  EXPECT_EQ(ToString(Shape(Dims{kUnknownDim, 10})), "?x10");
  EXPECT_EQ(ToString(Shape(Dims{0})), "0");
  EXPECT_EQ(ToString(Shape::Scalar()), "scalar");
  EXPECT_EQ(ToString(Shape()), "?");
}

TEST(NumElementsTest, MultipliesDims) {
  EXPECT_EQ(NumElements(Shape(Dims{2, 3, 4})), 24);
  EXPECT_EQ(NumElements(Shape::Scalar()), 1);
  EXPECT_EQ(NumElements(Shape(Dims{2, kUnknownDim})), std::nullopt);
  EXPECT_EQ(NumElements(Shape()), std::nullopt);
}

TEST(NumElementsTest, ZeroDimEmptiesATensorWhoseOtherDimsOverflow) {
  EXPECT_EQ(NumElements(Shape(Dims{kMax, kMax, 0})), 0);
  EXPECT_EQ(NumElements(Shape(Dims{kMax, 2})), std::nullopt);
  EXPECT_EQ(NumElements(Shape(Dims{kMax, 1})), kMax);
}

TEST(NumBytesTest, FollowsTheElementType) {
  const Shape shape(Dims{2, 5});
  EXPECT_EQ(NumBytes(shape, DType::kFloat32), 40);
  EXPECT_EQ(NumBytes(shape, DType::kBFloat16), 20);
  EXPECT_EQ(NumBytes(shape, DType::kInt64), 80);
  EXPECT_EQ(NumBytes(shape, DType::kBool), 10);
  EXPECT_EQ(NumBytes(shape, DType::kComplex128), 160);
  EXPECT_EQ(NumBytes(shape, DType::kString), 0);
}

TEST(NumBytesTest, PacksNarrowTypesAndRoundsUp) {
  EXPECT_EQ(NumBytes(Shape(Dims{10}), DType::kInt4), 5);
  EXPECT_EQ(NumBytes(Shape(Dims{11}), DType::kUInt4), 6);
  EXPECT_EQ(NumBytes(Shape(Dims{9}), DType::kInt2), 3);
  EXPECT_EQ(NumBytes(Shape(Dims{kMax}), DType::kInt4), kMax / 2 + 1);
}

TEST(NumBytesTest, ReportsOverflowOfBytesThoughElementsFit) {
  EXPECT_EQ(NumBytes(Shape(Dims{kMax / 2}), DType::kFloat32), std::nullopt);
  EXPECT_EQ(NumBytes(Shape(Dims{kMax}), DType::kInt8), kMax);
}

TEST(CheckedArithmeticTest, NulloptExactlyPastTheLimit) {
  EXPECT_EQ(CheckedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedMul(kMax, 1), kMax);
  EXPECT_EQ(CheckedMul(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(CheckedMul(int64_t{1} << 32, int64_t{1} << 30), int64_t{1} << 62);
}

}  // namespace
}  // namespace onnx_mem
