// Offsets: no two buffers that are alive together overlap, and heights are near the least that small cases need.
#include "analyzer/allocators/offset_packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

namespace onnx_mem {
namespace {

void ExpectLegal(std::span<const LiveRange> ranges, const Packing& packing) {
  ASSERT_EQ(packing.offset_bytes.size(), ranges.size());
  EXPECT_GE(packing.height_bytes, packing.lower_bound_bytes);
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_GE(packing.offset_bytes[i], 0);
    EXPECT_LE(packing.offset_bytes[i] + ranges[i].bytes, packing.height_bytes);
    for (size_t j = 0; j < i; ++j) {
      if (!Overlap(ranges[i], ranges[j])) continue;
      EXPECT_TRUE(packing.offset_bytes[i] + ranges[i].bytes <= packing.offset_bytes[j] ||
                  packing.offset_bytes[j] + ranges[j].bytes <= packing.offset_bytes[i])
          << "buffers " << i << " and " << j;
    }
  }
}

// Least height over all orders of placement at the lowest free offset: exact, since some order makes each canonical
// packing.
int64_t LeastHeight(std::span<const LiveRange> ranges) {
  std::vector<size_t> order(ranges.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  int64_t least = INT64_MAX;
  do {
    std::vector<int64_t> offsets(ranges.size(), 0);
    std::vector<size_t> placed;
    int64_t height = 0;
    for (size_t i : order) {
      std::sort(placed.begin(), placed.end(), [&](size_t a, size_t b) { return offsets[a] < offsets[b]; });
      int64_t top = 0;
      for (size_t j : placed) {
        if (!Overlap(ranges[i], ranges[j])) continue;
        if (offsets[j] - top >= ranges[i].bytes) break;
        top = std::max(top, offsets[j] + ranges[j].bytes);
      }
      offsets[i] = top;
      placed.push_back(i);
      height = std::max(height, top + ranges[i].bytes);
    }
    least = std::min(least, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(PackOffsets, TheExampleOfTheHeader) {
  const std::vector<LiveRange> ranges = {{0, 2, 4}, {1, 3, 2}, {2, 4, 4}};
  const Packing packing = PackOffsets(ranges);
  ExpectLegal(ranges, packing);
  EXPECT_EQ(packing.height_bytes, 6);
  EXPECT_EQ(packing.lower_bound_bytes, 6);
}

TEST(PackOffsets, NothingToPack) {
  const Packing packing = PackOffsets({});
  EXPECT_EQ(packing.height_bytes, 0);
  EXPECT_TRUE(packing.offset_bytes.empty());
}

TEST(PackOffsets, SizesAreRoundedToTheAlignment) {
  const std::vector<LiveRange> ranges = {{0, 2, 1}, {0, 2, 300}};
  const Packing packing = PackOffsets(ranges, 256);
  EXPECT_EQ(packing.height_bytes, 256 + 512);
}

TEST(PackOffsets, IsNearTheLeastHeightOfSmallRandomCases) {
  std::mt19937 random(7);
  int least = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<LiveRange> ranges;
    for (int b = 0; b < 7; ++b) {
      const int64_t begin = std::uniform_int_distribution<int64_t>(0, 6)(random);
      ranges.push_back({begin, begin + std::uniform_int_distribution<int64_t>(1, 4)(random),
                        std::uniform_int_distribution<int64_t>(1, 6)(random)});
    }
    const Packing packing = PackOffsets(ranges);
    ExpectLegal(ranges, packing);
    EXPECT_LE(packing.height_bytes, LeastHeight(ranges) * 5 / 4) << "case " << i;
    if (packing.height_bytes == LeastHeight(ranges)) ++least;
  }
  EXPECT_GE(least, 270);
}

}  // namespace
}  // namespace onnx_mem
