#include "report/parts/figures.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(SizeIn, HasTheDecimalsOfItsColumn) {
  EXPECT_EQ(SizeIn(143'667'240 * 4, ByteUnit::kMiB), "548.0 MiB");
  EXPECT_EQ(SizeIn(66'060'288, ByteUnit::kMB), "66.06 MB");
  // Below one of the unit a decimal one stays decimal.
  EXPECT_EQ(SizeIn(589'824, ByteUnit::kMB), "589.8 KB");
  EXPECT_EQ(SizeIn(512, ByteUnit::kGB), "512 B");
  EXPECT_EQ(SizeIn(589'824, ByteUnit::kMiB), "576 KiB");
  EXPECT_EQ(SizeIn(0, ByteUnit::kMiB), "0.0 MiB");
  EXPECT_EQ(SizeIn(1'048'576, ByteUnit::kB), "1,048,576 B");
}

TEST(SizeIn, ShowsWhatWouldRoundToNothingInItsOwnUnit) { EXPECT_EQ(SizeIn(820, ByteUnit::kMiB), "820 B"); }

TEST(ColumnUnit, FollowsTheLargestValue) {
  EXPECT_EQ(ColumnUnit(5000, ByteUnit::kAuto), ByteUnit::kB);
  EXPECT_EQ(ColumnUnit(50 << 10, ByteUnit::kAuto), ByteUnit::kKiB);
  EXPECT_EQ(ColumnUnit(5000 * kMiB, ByteUnit::kAuto), ByteUnit::kMiB);
  EXPECT_EQ(ColumnUnit(500 * 1024 * kMiB, ByteUnit::kAuto), ByteUnit::kGiB);
  EXPECT_EQ(ColumnUnit(5000, ByteUnit::kGB), ByteUnit::kGB);
}

TEST(ShortCount, HasThreeDigits) {
  EXPECT_EQ(ShortCount(512), "512");
  EXPECT_EQ(ShortCount(25'557'032), "25.6 M");
  EXPECT_EQ(ShortCount(4'089'184'256), "4.09 G");
  EXPECT_EQ(ShortCount(143'667'240), "144 M");
  EXPECT_EQ(ShortCount(999'999), "1.00 M");
}

TEST(Percent, SaysThatLittleIsThere) {
  EXPECT_EQ(Percent(1, 3), "33 %");
  EXPECT_EQ(Percent(1, 1000), "<1 %");
  EXPECT_EQ(Percent(0, 1000), "");
  EXPECT_EQ(Percent(5, 0), "");
}

TEST(CellText, FollowsTheKindOfTheColumn) {
  EXPECT_EQ(CellText(Cell(int64_t{2 * kMiB}), ColumnKind::kBytes, ByteUnit::kMiB), "2.0 MiB");
  EXPECT_EQ(CellText(Cell(int64_t{36864}), ColumnKind::kCount, ByteUnit::kAuto), "36,864");
  EXPECT_EQ(CellText(Cell(Shape({64, kUnknownDim})), ColumnKind::kShape, ByteUnit::kAuto), "64x?");
  EXPECT_EQ(CellText(Cell(std::string("saved_activations")), ColumnKind::kWord, ByteUnit::kAuto), "saved activations");
  EXPECT_EQ(CellText(Cell(), ColumnKind::kBytes, ByteUnit::kAuto), "-");
  EXPECT_EQ(CellRaw(Cell()), "");
  EXPECT_EQ(CellRaw(Cell(int64_t{36864})), "36864");
}

}  // namespace
}  // namespace onnx_mem
