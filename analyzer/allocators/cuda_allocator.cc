#include "analyzer/allocators/cuda_allocator.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "analyzer/allocators/rounding.h"

namespace onnx_mem {
namespace {}  // namespace

int64_t RoundForCuda(int64_t bytes, const CudaAllocatorOptions& options) {
  if (bytes < kCudaMinBlockBytes) return kCudaMinBlockBytes;
  const auto size = static_cast<uint64_t>(bytes);
  const int interval = std::clamp(static_cast<int>(std::bit_width(size)) - 1 - 20, 0, 15);
  const int64_t divisions = options.roundup_power2_divisions[static_cast<size_t>(interval)];
  if (divisions <= 1 || bytes <= kCudaMinBlockBytes * divisions) return RoundUp(bytes, kCudaMinBlockBytes);
  const auto power = static_cast<int64_t>(std::bit_floor(size));
  const auto step = power / static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(divisions)));
  return RoundUp(bytes, step);
}

CudaAllocator::Pool& CudaAllocator::PoolFor(int64_t bytes) {
  return bytes <= kCudaSmallBytes ? small_pool_ : large_pool_;
}

bool CudaAllocator::DeviceHas(int64_t bytes) const {
  if (!capacity_bytes_) return true;
  return bytes <= *capacity_bytes_ - small_pool_.heap.mapped_bytes() - large_pool_.heap.mapped_bytes();
}

bool CudaAllocator::Alloc(int64_t id, int64_t bytes) {
  assert(id >= 0);
  const auto index = static_cast<size_t>(id);
  if (index >= allocations_.size()) allocations_.resize(index + 1);
  assert(!allocations_[index].there);
  if (bytes == 0) {
    allocations_[index] = {.there = true, .small = false, .block = {}};
    return true;
  }
  if (bytes > kLargestRequestBytes) return false;
  const int64_t rounded = RoundForCuda(bytes, options_);
  Pool& pool = PoolFor(rounded);
  const BlockId block = FindOrTake(pool, rounded);
  if (!block.valid()) return false;
  const int64_t block_bytes = pool.heap[block].bytes;
  pool.heap.Use(block, ShouldSplit(pool, block_bytes, rounded) ? rounded : block_bytes);
  allocations_[index] = {.there = true, .small = pool.small, .block = block};
  return true;
}

BlockId CudaAllocator::FindOrTake(Pool& pool, int64_t bytes) {
  BlockId block = FindAllowedFree(pool, bytes);
  if (!block.valid()) block = TakeFromDevice(pool, bytes);
  if (!block.valid() && ReleaseOversize(pool, bytes)) block = TakeFromDevice(pool, bytes);
  if (!block.valid()) {
    ++retries_;
    EmptyCache();
    block = TakeFromDevice(pool, bytes);
  }
  return block;
}

// An oversize block serves only oversize requests, and those only if it is not much too large.
BlockId CudaAllocator::FindAllowedFree(const Pool& pool, int64_t bytes) const {
  const BlockId block = FindFree(pool, bytes);
  if (!block.valid()) return block;
  const int64_t block_bytes = pool.heap[block].bytes;
  if (MaySplit(bytes) && !MaySplit(block_bytes)) return BlockId();
  if (!MaySplit(bytes) && block_bytes >= bytes + options_.max_non_split_rounding_bytes) return BlockId();
  return block;
}

// Gives back just enough oversize blocks to make room for `bytes`: one that is large enough, else the largest first.
bool CudaAllocator::ReleaseOversize(Pool& pool, int64_t bytes) {
  if (!options_.max_split_size_bytes) return false;
  const int64_t needed = std::max(bytes, *options_.max_split_size_bytes);
  const BlockId fit = pool.heap.BestFit(needed);
  if (fit.valid()) {
    if (!pool.heap.IsWholeSegment(fit)) return false;
    pool.heap.RemoveSegment(fit);
    return true;
  }
  int64_t released_bytes = 0;
  BlockId block = pool.heap.NextSmallerFree(BlockId());
  while (released_bytes < needed && block.valid() && !MaySplit(pool.heap[block].bytes)) {
    const BlockId smaller = pool.heap.NextSmallerFree(block);
    if (pool.heap.IsWholeSegment(block)) {
      released_bytes += pool.heap[block].bytes;
      pool.heap.RemoveSegment(block);
    }
    block = smaller;
  }
  return released_bytes >= needed;
}

void CudaAllocator::Free(int64_t id) {
  assert(allocations_[static_cast<size_t>(id)].there);
  const Allocation allocation = std::exchange(allocations_[static_cast<size_t>(id)], {});
  if (!allocation.block.valid()) return;
  Pool& pool = allocation.small ? small_pool_ : large_pool_;
  pool.heap.SetState(allocation.block, BlockState::kFree);
}

void CudaAllocator::EmptyCache() {
  ReleaseFree(large_pool_);
  ReleaseFree(small_pool_);
}

AllocatorState CudaAllocator::State() const {
  const BlockHeap& small = small_pool_.heap;
  const BlockHeap& large = large_pool_.heap;
  return {.allocated_bytes = small.used_bytes() + large.used_bytes(),
          .reserved_bytes = small.mapped_bytes() + large.mapped_bytes(),
          .largest_free_bytes = std::max(small.largest_free_bytes(), large.largest_free_bytes()),
          .device_allocations = device_allocations_,
          .retries = retries_};
}

std::optional<BlockPlace> CudaAllocator::PlaceOf(int64_t id) const {
  const auto index = static_cast<size_t>(id);
  if (index >= allocations_.size() || !allocations_[index].block.valid()) return std::nullopt;
  const Allocation& allocation = allocations_[index];
  const BlockHeap& heap = allocation.small ? small_pool_.heap : large_pool_.heap;
  return heap.Place(allocation.block, /*pool=*/allocation.small ? 1 : 0);
}

}  // namespace onnx_mem
