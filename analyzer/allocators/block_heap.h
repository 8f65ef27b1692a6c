// The blocks that one pool of an allocator cuts its segments into: split, merged with free neighbours, found by best
// fit. Both the CUDA caching allocator and onnxruntime's arena are rules on top of this.
//
//   segment 0  | used 6 MiB | free 6 MiB | used 6 MiB | free 2 MiB |      BestFit(5 MiB) = the 6 MiB block
//   segment 1  | free 40 MiB                                       |      BestFit(7 MiB) = the 40 MiB block
//
// A block is used, free, or unmapped: address space without memory behind it, which only expandable segments have.
// Two neighbours that are both free, or both unmapped, are always one block. Addresses of different segments compare
// in the order in which the segments were made, or against it.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_BLOCK_HEAP_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_BLOCK_HEAP_H_

#include <cstdint>
#include <vector>

#include "absl/container/btree_set.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/allocators/block_ranks.h"
#include "analyzer/graph/ids.h"

namespace onnx_mem {

enum class BlockState : uint8_t { kFree, kUsed, kUnmapped };

struct Block {
  int64_t segment = 0;
  int64_t offset_bytes = 0;  // from the start of the segment
  int64_t bytes = 0;
  BlockState state = BlockState::kFree;
  BlockId previous;  // neighbours in the same segment; invalid at its ends
  BlockId next;
};

class BlockHeap {
 public:
  BlockHeap() = default;
  // `later_below`: a segment that is made later has the lower address.
  explicit BlockHeap(bool later_below) : sign_(later_below ? -1 : 1) {}

  const Block& operator[](BlockId id) const { return blocks_[id]; }

  // A new segment that is one block in `state`.
  BlockId AddSegment(int64_t bytes, BlockState state);
  // `id` must be a free block that is a whole segment. The segment is gone afterwards.
  void RemoveSegment(BlockId id);
  bool IsWholeSegment(BlockId id) const { return !blocks_[id].previous.valid() && !blocks_[id].next.valid(); }

  // Smallest free block of at least `bytes`, the lowest address among equals; invalid if there is none.
  BlockId BestFit(int64_t bytes) const;
  // The free block after `id` in the order of BestFit; invalid after the last.
  BlockId NextLargerFree(BlockId id) const;
  // The free block before `id` in that order; the last of all for an invalid `id`; invalid before the first.
  BlockId NextSmallerFree(BlockId id) const;
  std::vector<BlockId> FreeBlocks() const;      // smallest first
  std::vector<BlockId> UnmappedBlocks() const;  // lowest address first

  // Cuts `id` after `bytes` (less than its size); both parts keep the state. Returns the second part. The parts are
  // to be distinguished by SetState before anything else happens.
  BlockId Split(BlockId id, int64_t bytes);
  // Marks the first `bytes` of the free block `id` as used; the rest, if any, stays a free block.
  void Use(BlockId id, int64_t bytes);
  // Returns the block that `id` is afterwards: a free or unmapped block takes in its neighbours of the same state.
  BlockId SetState(BlockId id, BlockState state);

  // Of a block of this heap, which is pool number `pool` of its allocator.
  BlockPlace Place(BlockId id, int pool) const {
    const Block& block = blocks_[id];
    const int64_t segment_bytes = segment_bytes_[static_cast<size_t>(block.segment)];
    return {pool, block.segment, block.offset_bytes, block.bytes, segment_bytes};
  }

  int64_t used_bytes() const { return used_bytes_; }
  int64_t mapped_bytes() const { return used_bytes_ + free_bytes_; }
  int64_t largest_free_bytes() const { return by_size_.empty() ? 0 : by_size_.Last()->bytes; }

 private:
  BlockRank RankOf(BlockId id) const;
  void Index(BlockId id);
  void Unindex(BlockId id);
  BlockId NewBlock(const Block& block);
  BlockId CutOff(BlockId id, int64_t bytes);  // as Split, neither part being indexed
  void Absorb(BlockId id, BlockId next);      // `next` becomes part of `id`, neither being indexed

  int64_t sign_ = 1;  // of a segment's number, in the order of addresses
  IdVector<BlockId, Block> blocks_;
  std::vector<BlockId> unused_;  // ids of blocks that were absorbed or removed
  BlockRanks by_size_;           // free blocks
  absl::btree_set<BlockRank> unmapped_;
  std::vector<int64_t> segment_bytes_;  // of every segment that ever was
  int64_t used_bytes_ = 0;
  int64_t free_bytes_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_BLOCK_HEAP_H_
