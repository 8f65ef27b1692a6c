#include "analyzer/allocators/c_heap.h"

#include <gtest/gtest.h>

#include <vector>

namespace onnx_mem {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kSmall = 64 << 10;

int64_t MiBOf(const CHeap& heap) { return (heap.resident_bytes() + kMiB / 2) / kMiB; }

TEST(CHeap, AMappingIsReturnedWhenItIsFreed) {
  CHeap heap;
  const CHeap::Block block = heap.Malloc(8 * kMiB);
  EXPECT_EQ(MiBOf(heap), 8);
  heap.Free(block);
  EXPECT_EQ(MiBOf(heap), 0);
}

// The threshold of mappings follows what was freed: from then on such a request lies in the heap, and stays there below
// what is still in use.
TEST(CHeap, KeepsWhatWasFreedBelowSomethingInUse) {
  CHeap heap;
  heap.Free(heap.Malloc(8 * kMiB));
  const CHeap::Block first = heap.Malloc(8 * kMiB);
  heap.Malloc(kSmall);
  heap.Free(first);
  EXPECT_EQ(MiBOf(heap), 8);
  heap.Malloc(7 * kMiB);
  EXPECT_EQ(MiBOf(heap), 8) << "there is room for it";
}

TEST(CHeap, GivesItsEndBack) {
  CHeap heap;
  heap.Free(heap.Malloc(2 * kMiB));
  heap.Malloc(kSmall);
  std::vector<CHeap::Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(heap.Malloc(2 * kMiB));
  EXPECT_EQ(MiBOf(heap), 16);
  for (CHeap::Block block : blocks) heap.Free(block);
  EXPECT_LE(MiBOf(heap), 4) << "twice the threshold at most";
}

TEST(CHeap, MoreThan32MiBIsAlwaysMapped) {
  CHeap heap;
  heap.Free(heap.Malloc(40 * kMiB));
  heap.Free(heap.Malloc(40 * kMiB));
  EXPECT_EQ(MiBOf(heap), 0);
}

TEST(CHeap, CountsWhatIsWritten) {
  CHeap heap;
  heap.Aligned(64 * kMiB, 10 * kMiB);
  EXPECT_EQ(MiBOf(heap), 10);
}

// An aligned block is cut out of a larger one. If what is cut off was taken meanwhile, neighbours never become one
// hole.
TEST(CHeap, AlignedNeighboursMergeUnlessPiecesBetweenThemAreTaken) {
  for (const bool taken : {false, true}) {
    CHeap heap;
    heap.Free(heap.Malloc(16 * kMiB));
    heap.Malloc(kSmall);
    heap.SetPiecesAreTaken(taken);
    const CHeap::Block first = heap.Aligned(4 * kMiB), second = heap.Aligned(4 * kMiB);
    heap.Malloc(kSmall);
    heap.Free(first);
    heap.Free(second);
    heap.Aligned(7 * kMiB);
    EXPECT_EQ(MiBOf(heap), taken ? 15 : 8);
  }
}

}  // namespace
}  // namespace onnx_mem
