// PyTorch's CUDA allocator with expandable_segments:True: each pool has one segment of address space, and memory is
// mapped into it page by page (2 MiB in the small pool, 20 MiB in the large one) where a request needs it.
//
//   +11 MiB    | used 11 | free 9 |                      20 MiB mapped
//   +11 MiB    | used 11 | used 11 | free 18 |           40 MiB: only the 2 MiB that were missing, as one page
//
//   - on a miss, the lowest place where free and unmapped blocks in a row are large enough; the missing part is mapped;
//   - a free block that could grow into unmapped space counts, in the search for the best fit, as large as it could
//     become, so that it is kept for requests that need it;
//   - every block is cut if 512 bytes remain;
//   - whole free pages anywhere in the segment can be given back.
// The segment's address space is taken to be endless (PyTorch makes another segment after 9/8 of the device's memory).
// Source and the shared rules: cuda_allocator.h.
#include <algorithm>

#include "analyzer/allocators/cuda_allocator.h"

namespace onnx_mem {
namespace {

constexpr int64_t kSmallPageBytes = int64_t{2} << 20;
constexpr int64_t kAddressSpaceBytes = int64_t{1} << 62;

class ExpandableAllocator final : public CudaAllocator {
 public:
  using CudaAllocator::CudaAllocator;

 protected:
  BlockId FindFree(const Pool& pool, int64_t bytes) const override {
    BlockId block = pool.heap.BestFit(bytes);
    if (!block.valid()) return block;
    for (BlockId next = pool.heap.NextLargerFree(block);
         next.valid() && BytesIfGrown(pool, next) < BytesIfGrown(pool, block); next = pool.heap.NextLargerFree(next)) {
      block = next;
    }
    return block;
  }

  BlockId TakeFromDevice(Pool& pool, int64_t bytes) override {
    BlockId block = FindRoom(pool, bytes);
    while (pool.heap[block].state == BlockState::kUnmapped || pool.heap[block].bytes < bytes) {
      const bool unmapped = pool.heap[block].state == BlockState::kUnmapped;
      const int64_t missing_bytes = unmapped ? bytes : bytes - pool.heap[block].bytes;
      const BlockId mapped = Map(pool, unmapped ? block : pool.heap[block].next, missing_bytes);
      if (!mapped.valid()) return BlockId();
      block = mapped;
    }
    return block;
  }

  bool ShouldSplit(const Pool&, int64_t block_bytes, int64_t bytes) const override {
    return block_bytes - bytes >= kCudaMinBlockBytes;
  }

  void ReleaseFree(Pool& pool) override {
    const int64_t page_bytes = PageBytes(pool);
    for (BlockId block : pool.heap.FreeBlocks()) {
      const int64_t begin = pool.heap[block].offset_bytes;
      const int64_t end = begin + pool.heap[block].bytes;
      const int64_t first_page = (begin + page_bytes - 1) / page_bytes * page_bytes;
      const int64_t last_page = end / page_bytes * page_bytes;
      if (first_page >= last_page) continue;
      BlockId pages = block;
      if (first_page > begin) pages = pool.heap.Split(block, first_page - begin);
      if (last_page < end) pool.heap.Split(pages, last_page - first_page);
      pool.heap.SetState(pages, BlockState::kUnmapped);
    }
  }

 private:
  int64_t PageBytes(const Pool& pool) const { return pool.small ? kSmallPageBytes : options().large_segment_bytes; }

  static int64_t BytesIfGrown(const Pool& pool, BlockId id) {
    const Block& block = pool.heap[id];
    const bool grows = block.next.valid() && pool.heap[block.next].state == BlockState::kUnmapped;
    return block.bytes + (grows ? pool.heap[block.next].bytes : 0);
  }

  // The first block of the lowest row of free and unmapped blocks, beginning with at most one free block before an
  // unmapped one, that has room for `bytes`.
  static BlockId FindRoom(Pool& pool, int64_t bytes) {
    for (BlockId unmapped : pool.heap.UnmappedBlocks()) {
      const BlockId previous = pool.heap[unmapped].previous;
      const bool starts_free = previous.valid() && pool.heap[previous].state == BlockState::kFree;
      const BlockId first = starts_free ? previous : unmapped;
      int64_t room_bytes = 0;
      for (BlockId block = first; room_bytes < bytes && block.valid() && pool.heap[block].state != BlockState::kUsed;
           block = pool.heap[block].next) {
        room_bytes += pool.heap[block].bytes;
      }
      if (room_bytes >= bytes) return first;
    }
    return pool.heap.AddSegment(kAddressSpaceBytes, BlockState::kUnmapped);
  }

  // Maps whole pages for `bytes` (or all of the block, if smaller) at the start of an unmapped block. Returns the free
  // block that they are part of; invalid if the device has not enough left.
  BlockId Map(Pool& pool, BlockId unmapped, int64_t bytes) {
    const int64_t page_bytes = PageBytes(pool);
    const int64_t wanted = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    const int64_t mapped_bytes = std::min(wanted, pool.heap[unmapped].bytes);
    if (!DeviceHas(mapped_bytes)) return BlockId();
    CountDeviceAllocation();
    if (mapped_bytes < pool.heap[unmapped].bytes) pool.heap.Split(unmapped, mapped_bytes);
    return pool.heap.SetState(unmapped, BlockState::kFree);
  }
};

}  // namespace

std::unique_ptr<Allocator> MakeExpandableAllocator(const AllocatorOptions& options) {
  return std::make_unique<ExpandableAllocator>(options);
}

}  // namespace onnx_mem
