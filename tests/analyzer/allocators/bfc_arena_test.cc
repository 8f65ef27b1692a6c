#include "analyzer/allocators/allocator.h"
#include "gtest/gtest.h"
#include "tests/analyzer/allocators/units.h"

namespace onnx_mem {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

std::unique_ptr<Allocator> Arena(const AllocatorOptions& options = {}) { return MakeBfcArena(options); }

TEST(BfcArena, RegionsDoubleUnlessTheRequestMadeThemGrow) {
  const auto arena = Arena();
  ASSERT_TRUE(arena->Alloc(1, 1));  // first region: 1 MiB
  EXPECT_EQ(arena->State().allocated_bytes, 256);
  EXPECT_EQ(arena->State().reserved_bytes, kMiB);
  ASSERT_TRUE(arena->Alloc(2, kMiB));  // the next would be 2 MiB, which is enough: the one after it 4 MiB
  EXPECT_EQ(arena->State().reserved_bytes, 3 * kMiB);
  ASSERT_TRUE(arena->Alloc(3, 5 * kMiB));  // 4 are not enough: 8, and the next is 8 again
  EXPECT_EQ(arena->State().reserved_bytes, 11 * kMiB);
  ASSERT_TRUE(arena->Alloc(4, 6 * kMiB));
  EXPECT_EQ(arena->State().reserved_bytes, 19 * kMiB);
  ASSERT_TRUE(arena->Alloc(5, 9 * kMiB));
  EXPECT_EQ(arena->State().reserved_bytes, 35 * kMiB);
  EXPECT_EQ(arena->State().device_allocations, 5);
}

TEST(BfcArena, DoublingStopsAtOneGiB) {
  const auto arena = Arena();
  ASSERT_TRUE(arena->Alloc(1, 3 * kGiB));  // 4 GiB
  EXPECT_EQ(arena->State().reserved_bytes, 4 * kGiB);
  ASSERT_TRUE(arena->Alloc(2, 4 * kGiB));  // still 4, and then back to 1
  EXPECT_EQ(arena->State().reserved_bytes, 8 * kGiB);
  ASSERT_TRUE(arena->Alloc(3, kGiB));  // what the first request left of its region
  EXPECT_EQ(arena->State().reserved_bytes, 8 * kGiB);
  ASSERT_TRUE(arena->Alloc(4, 900 * kMiB));
  EXPECT_EQ(arena->State().reserved_bytes, 9 * kGiB);
}

TEST(BfcArena, CutsChunksThatAreTwiceAsLarge) {
  const auto arena = Arena();
  ASSERT_TRUE(arena->Alloc(1, kMiB / 2 + 256));  // 1 MiB is less than twice that: not cut
  EXPECT_EQ(arena->State().allocated_bytes, kMiB);
  arena->Free(1);
  ASSERT_TRUE(arena->Alloc(2, kMiB / 2));
  EXPECT_EQ(arena->State().allocated_bytes, kMiB / 2);
}

TEST(BfcArena, CutsChunksThatWouldWaste128MiB) {
  const auto arena = Arena();
  ASSERT_TRUE(arena->Alloc(1, 400 * kMiB));  // 512 MiB: 112 wasted
  EXPECT_EQ(arena->State().allocated_bytes, 512 * kMiB);
  arena->Free(1);
  ASSERT_TRUE(arena->Alloc(2, 384 * kMiB));  // 128 wasted
  EXPECT_EQ(arena->State().allocated_bytes, 384 * kMiB);
}

TEST(BfcArena, MergesNeighboursButNotRegions) {
  const auto arena = Arena();
  for (int id = 0; id < 4; ++id) ASSERT_TRUE(arena->Alloc(id, kMiB / 4));
  EXPECT_EQ(arena->State().reserved_bytes, kMiB);
  for (int id : {1, 3, 2, 0}) arena->Free(id);
  EXPECT_EQ(arena->State().largest_free_bytes, kMiB);
  ASSERT_TRUE(arena->Alloc(9, kMiB + 1));
  EXPECT_EQ(arena->State().reserved_bytes, 3 * kMiB);
}

TEST(BfcArena, CanTakeJustWhatIsRequested) {
  AllocatorOptions options;
  options.arena.extend = ArenaOptions::Extend::kSameAsRequested;
  const auto arena = Arena(options);
  ASSERT_TRUE(arena->Alloc(1, 1000));
  EXPECT_EQ(arena->State().reserved_bytes, 1024);
  arena->Free(1);
  arena->EmptyCache();
  EXPECT_EQ(arena->State().reserved_bytes, 0);
}

TEST(BfcArena, ShrinkKeepsTheFirstRegion) {
  const auto arena = Arena();
  ASSERT_TRUE(arena->Alloc(1, 100));
  ASSERT_TRUE(arena->Alloc(2, 10 * kMiB));
  EXPECT_EQ(arena->State().reserved_bytes, 17 * kMiB);
  arena->Free(1);
  arena->Free(2);
  arena->EmptyCache();
  EXPECT_EQ(arena->State().reserved_bytes, kMiB);
  ASSERT_TRUE(arena->Alloc(3, 3 * kMiB / 2));  // growth starts again at 2 MiB
  EXPECT_EQ(arena->State().reserved_bytes, 3 * kMiB);
}

TEST(BfcArena, TakesLessWhereTheDeviceHasLess) {
  AllocatorOptions options;
  options.capacity_bytes = 100 * kMiB;
  const auto arena = Arena(options);
  ASSERT_TRUE(arena->Alloc(1, 80 * kMiB));  // 128, 115.2, 103.7, then 93.3 MiB
  EXPECT_EQ(arena->State().retries, 3);
  EXPECT_GT(arena->State().reserved_bytes, 93 * kMiB);
  EXPECT_LE(arena->State().reserved_bytes, 94 * kMiB);
  EXPECT_FALSE(arena->Alloc(2, 20 * kMiB));
}

TEST(BfcArena, StaysBelowItsOwnLimit) {
  AllocatorOptions options;
  options.arena.memory_limit_bytes = 10 * kMiB;
  const auto arena = Arena(options);
  ASSERT_TRUE(arena->Alloc(1, 9 * kMiB));  // 16 cut down to 10
  EXPECT_EQ(arena->State().reserved_bytes, 10 * kMiB);
  EXPECT_FALSE(arena->Alloc(2, kMiB));
}

TEST(BfcArena, ReservesWeightsBesideTheArena) {
  const auto arena = Arena();
  ASSERT_TRUE(arena->Reserve(1, 1000));
  EXPECT_EQ(arena->State().reserved_bytes, 1000);
  EXPECT_EQ(arena->State().allocated_bytes, 1000);
  ASSERT_TRUE(arena->Alloc(2, 1000));
  EXPECT_EQ(arena->State().reserved_bytes, kMiB + 1000);
  arena->Free(1);
  EXPECT_EQ(arena->State().reserved_bytes, kMiB);
}

}  // namespace
}  // namespace onnx_mem
