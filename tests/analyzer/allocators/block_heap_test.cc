#include "analyzer/allocators/block_heap.h"

#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

TEST(BlockHeap, CutsAndMerges) {
  BlockHeap heap;
  const BlockId a = heap.AddSegment(100, BlockState::kFree);
  const BlockId b = heap.Split(a, 30);
  heap.SetState(a, BlockState::kUsed);
  const BlockId c = heap.Split(b, 20);
  heap.SetState(b, BlockState::kUsed);  // a 30 used | b 20 used | c 50 free
  EXPECT_EQ(heap.used_bytes(), 50);
  EXPECT_EQ(heap.mapped_bytes(), 100);
  EXPECT_EQ(heap.BestFit(50), c);
  EXPECT_FALSE(heap.BestFit(51).valid());
  EXPECT_EQ(heap.SetState(a, BlockState::kFree), a);
  EXPECT_EQ(heap.BestFit(10), a);
  EXPECT_EQ(heap.SetState(b, BlockState::kFree), a);  // all three are one again
  EXPECT_TRUE(heap.IsWholeSegment(a));
  EXPECT_EQ(heap[a].bytes, 100);
  EXPECT_EQ(heap.FreeBlocks(), std::vector<BlockId>{a});
  heap.RemoveSegment(a);
  EXPECT_EQ(heap.mapped_bytes(), 0);
  EXPECT_EQ(heap.largest_free_bytes(), 0);
}

TEST(BlockHeap, PrefersTheLowestAddressAmongEquals) {
  BlockHeap heap;
  const BlockId first = heap.AddSegment(10, BlockState::kFree);
  const BlockId second = heap.AddSegment(10, BlockState::kFree);
  const BlockId large = heap.AddSegment(11, BlockState::kFree);
  EXPECT_EQ(heap.BestFit(10), first);
  EXPECT_EQ(heap.NextLargerFree(first), second);
  EXPECT_EQ(heap.NextLargerFree(large), BlockId());
  EXPECT_EQ(heap.NextSmallerFree(BlockId()), large);
  EXPECT_EQ(heap.NextSmallerFree(first), BlockId());
}

TEST(BlockHeap, KeepsUnmappedSpaceApart) {
  BlockHeap heap;
  const BlockId space = heap.AddSegment(1000, BlockState::kUnmapped);
  EXPECT_EQ(heap.mapped_bytes(), 0);
  EXPECT_FALSE(heap.BestFit(1).valid());
  const BlockId rest = heap.Split(space, 40);
  heap.SetState(space, BlockState::kFree);
  EXPECT_EQ(heap.mapped_bytes(), 40);
  EXPECT_EQ(heap.UnmappedBlocks(), std::vector<BlockId>{rest});
  EXPECT_EQ(heap.SetState(space, BlockState::kUnmapped), space);
  EXPECT_EQ(heap[space].bytes, 1000);
}

}  // namespace
}  // namespace onnx_mem
