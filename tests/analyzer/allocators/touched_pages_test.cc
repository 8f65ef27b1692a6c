#include "analyzer/allocators/touched_pages.h"

#include <gtest/gtest.h>

#include "analyzer/allocators/allocator.h"

namespace onnx_mem {
namespace {

TEST(TouchedPages, CountEachPageOnce) {
  TouchedPages pages;
  pages.Touch(0, 100, 1);
  EXPECT_EQ(pages.bytes(), 4096);
  pages.Touch(0, 4000, 200);  // over the edge
  EXPECT_EQ(pages.bytes(), 2 * 4096);
  pages.Touch(0, 5 * 4096, 4096);
  EXPECT_EQ(pages.bytes(), 3 * 4096);
  pages.Touch(0, 0, 6 * 4096);  // over both and what lies between
  EXPECT_EQ(pages.bytes(), 6 * 4096);
  pages.Touch(1, 0, 1);
  EXPECT_EQ(pages.bytes(), 7 * 4096);
  pages.Drop(0);
  EXPECT_EQ(pages.bytes(), 4096);
}

TEST(TouchedPages, OfAnArenaAreThoseHandedOut) {
  const auto arena = MakeBfcArena({});
  ASSERT_TRUE(arena->Alloc(1, 600 << 10));
  EXPECT_EQ(arena->State().reserved_bytes, 1 << 20);
  EXPECT_EQ(arena->State().touched_bytes, 600 << 10);
  arena->Free(1);
  ASSERT_TRUE(arena->Alloc(2, 100 << 10));  // where the first one was
  EXPECT_EQ(arena->State().touched_bytes, 600 << 10);
  ASSERT_TRUE(arena->Reserve(3, 1000));
  EXPECT_EQ(arena->State().touched_bytes, (600 << 10) + 1000);
}

// Two free regions of one size: the arena takes the lower address, which mmap gave to the later one.
TEST(TouchedPages, LaterRegionsMayLieBelow) {
  for (bool below : {false, true}) {
    AllocatorOptions options;
    options.arena.later_below = below;
    const auto arena = MakeBfcArena(options);
    ASSERT_TRUE(arena->Alloc(1, 3 << 20));  // 4 MiB
    ASSERT_TRUE(arena->Alloc(2, 4 << 20));  // 4 MiB more
    arena->Free(1);
    arena->Free(2);
    ASSERT_TRUE(arena->Alloc(3, 4 << 20));
    EXPECT_EQ(arena->State().touched_bytes, (below ? 7 : 8) << 20);
  }
}

}  // namespace
}  // namespace onnx_mem
