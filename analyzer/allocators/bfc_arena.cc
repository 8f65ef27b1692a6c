// onnxruntime's arena ("best fit with coalescing"), on the CPU and on GPUs.
//   1. Sizes are rounded up to 256 bytes.
//   2. The smallest free chunk that is large enough, the lowest address among equals. (The arena sorts its chunks into
//      21 bins by powers of two, which finds that same chunk.)
//   3. It is cut only if it is at least twice as large as requested, or if 128 MiB or more would be wasted.
//   4. None: a new region. kNextPowerOfTwo: the next region's size starts at 1 MiB, doubles until the request fits, and
//      doubles after each region for which it did not have to, up to 1 GiB; kSameAsRequested: the request itself.
//   5. Where the device refuses, the region shrinks by 10 % at a time (down to the request, and not below 8 KiB).
//   6. A freed chunk merges with free neighbours; regions never merge and stay until Shrink.
//   7. Weights are reserved beside the arena, exactly as large as they are.
// Source: onnxruntime/core/framework/bfc_arena.{h,cc} (microsoft/onnxruntime); the bound on doubling is
// max_power_of_two_extend_bytes of OrtArenaCfg.
#include <algorithm>
#include <cassert>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/allocators/block_heap.h"
#include "analyzer/allocators/rounding.h"
#include "analyzer/allocators/touched_pages.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMinAllocationBytes = 256;
constexpr int64_t kLeastRegionBytes = 8 * 1024;

int64_t Rounded(int64_t bytes) { return RoundUp(bytes, kMinAllocationBytes); }

class BfcArena final : public Allocator {
 public:
  explicit BfcArena(const AllocatorOptions& options)
      : options_(options.arena),
        capacity_bytes_(options.capacity_bytes),
        heap_(options.arena.later_below),
        next_region_bytes_(Rounded(std::max(options.arena.initial_chunk_bytes, int64_t{1}))) {}

  bool Alloc(int64_t id, int64_t bytes) override {
    assert(!chunks_.contains(id));
    if (bytes == 0) {
      chunks_[id] = {};
      return true;
    }
    if (bytes > kLargestRequestBytes) return false;
    const int64_t rounded = Rounded(bytes);
    BlockId chunk = heap_.BestFit(rounded);
    if (!chunk.valid()) chunk = Extend(rounded);
    if (!chunk.valid()) return false;
    const int64_t chunk_bytes = heap_[chunk].bytes;
    if (chunk_bytes >= 2 * rounded || chunk_bytes - rounded >= options_.max_dead_bytes_per_chunk) {
      heap_.Split(chunk, rounded);
    }
    heap_.SetState(chunk, BlockState::kUsed);
    touched_.Touch(heap_[chunk].segment, heap_[chunk].offset_bytes, bytes);
    chunks_[id] = {.chunk = chunk};
    return true;
  }

  bool Reserve(int64_t id, int64_t bytes) override {
    assert(!chunks_.contains(id));
    if (bytes > LimitLeft() || bytes > DeviceLeft()) return false;
    reserved_beside_bytes_ += bytes;
    chunks_[id] = {.beside_bytes = bytes};
    ++device_allocations_;
    return true;
  }

  void Free(int64_t id) override {
    const auto entry = chunks_.find(id);
    assert(entry != chunks_.end());
    const Chunk chunk = entry->second;
    chunks_.erase(entry);
    reserved_beside_bytes_ -= chunk.beside_bytes;
    if (chunk.chunk.valid()) heap_.SetState(chunk.chunk, BlockState::kFree);
  }

  // Shrink: every region without a chunk in use is returned, but for the first one when regions double.
  void EmptyCache() override {
    const bool keep_first = options_.extend == ArenaOptions::Extend::kNextPowerOfTwo;
    for (BlockId chunk : heap_.FreeBlocks()) {
      if (!heap_.IsWholeSegment(chunk) || (keep_first && heap_[chunk].segment == 0)) continue;
      touched_.Drop(heap_[chunk].segment);
      regions_.erase(heap_[chunk].segment);
      heap_.RemoveSegment(chunk);
    }
    next_region_bytes_ = options_.initial_growth_chunk_bytes;
  }

  AllocatorState State() const override {
    return {.allocated_bytes = heap_.used_bytes() + reserved_beside_bytes_,
            .reserved_bytes = heap_.mapped_bytes() + reserved_beside_bytes_,
            .largest_free_bytes = heap_.largest_free_bytes(),
            .device_allocations = device_allocations_,
            .retries = retries_,
            .touched_bytes = touched_.bytes() + reserved_beside_bytes_};
  }

  std::vector<RegionUse> Regions() const override {
    std::vector<RegionUse> regions;
    for (const auto& [segment, bytes] : regions_) regions.push_back({bytes, touched_.BytesOf(segment)});
    return regions;
  }

  std::optional<BlockPlace> PlaceOf(int64_t id) const override {
    const auto entry = chunks_.find(id);
    if (entry == chunks_.end() || !entry->second.chunk.valid()) return std::nullopt;
    return heap_.Place(entry->second.chunk, /*pool=*/0);
  }

 private:
  struct Chunk {
    BlockId chunk = {};        // invalid: of 0 bytes, or beside the arena
    int64_t beside_bytes = 0;  // reserved beside the arena
  };

  int64_t Left(const std::optional<int64_t>& limit) const {
    return limit ? *limit - heap_.mapped_bytes() - reserved_beside_bytes_ : kLargestRequestBytes * 2;
  }
  int64_t LimitLeft() const { return Left(options_.memory_limit_bytes); }
  int64_t DeviceLeft() const { return Left(capacity_bytes_); }

  // A free chunk that is a new region of at least `bytes`; invalid if there is no room for it.
  BlockId Extend(int64_t bytes) {
    const int64_t limit_left = LimitLeft() / kMinAllocationBytes * kMinAllocationBytes;
    if (bytes > limit_left) return BlockId();
    int64_t region_bytes = std::min(NextRegionBytes(bytes), limit_left);
    while (region_bytes > DeviceLeft()) {
      ++retries_;
      region_bytes = Rounded(static_cast<int64_t>(static_cast<float>(region_bytes) * 0.9f));
      if (region_bytes < bytes || region_bytes < kLeastRegionBytes) return BlockId();
    }
    ++device_allocations_;
    const BlockId region = heap_.AddSegment(region_bytes, BlockState::kFree);
    regions_[heap_[region].segment] = region_bytes;
    return region;
  }

  int64_t NextRegionBytes(int64_t bytes) {
    if (options_.extend == ArenaOptions::Extend::kSameAsRequested) return bytes;
    if (bytes > next_region_bytes_) {
      while (bytes > next_region_bytes_) next_region_bytes_ *= 2;
      return next_region_bytes_;
    }
    const int64_t region_bytes = next_region_bytes_;
    next_region_bytes_ = std::min(2 * next_region_bytes_, options_.max_power_of_two_extend_bytes);
    return region_bytes;
  }

  ArenaOptions options_;
  std::optional<int64_t> capacity_bytes_;
  BlockHeap heap_;
  int64_t next_region_bytes_;
  TouchedPages touched_;
  std::map<int64_t, int64_t> regions_;  // bytes, by segment
  absl::flat_hash_map<int64_t, Chunk> chunks_;
  int64_t reserved_beside_bytes_ = 0;
  int64_t device_allocations_ = 0;
  int64_t retries_ = 0;
};

}  // namespace

std::unique_ptr<Allocator> MakeBfcArena(const AllocatorOptions& options) { return std::make_unique<BfcArena>(options); }

std::unique_ptr<Allocator> MakeBfcArenaAsRequested(const AllocatorOptions& options) {
  AllocatorOptions as_requested = options;
  as_requested.arena.extend = ArenaOptions::Extend::kSameAsRequested;
  return MakeBfcArena(as_requested);
}

}  // namespace onnx_mem
