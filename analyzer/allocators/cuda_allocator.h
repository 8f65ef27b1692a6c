// What both settings of PyTorch's CUDA allocator share: rounding, the two pools, splitting, and what happens on a
// miss. Single stream, one device. Source: c10/cuda/CUDACachingAllocator.cpp and c10/core/AllocatorConfig.h
// (pytorch/pytorch).
//
//   1. 0 bytes take no block; otherwise round up to 512 bytes (or to roundup_power2_divisions).
//   2. Up to 1 MiB: the small pool, else the large pool. Blocks never change pools.
//   3. The smallest free block of the pool that is large enough, with two exceptions for max_split_size.
//   4. None: memory from the device. If that fails: give back oversize blocks (with max_split_size), try again; give
//      back everything that is free as a whole, try again; then it is out of memory.
//   5. Cut the block if what remains is worth it (ShouldSplit). An uncut block counts whole as allocated.
//   6. A freed block merges with free neighbours and stays.
//
// Not modelled: garbage_collection_threshold, several streams, private pools of CUDA graphs.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_CUDA_ALLOCATOR_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_CUDA_ALLOCATOR_H_

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/allocators/allocator.h"
#include "analyzer/allocators/block_heap.h"

namespace onnx_mem {

inline constexpr int64_t kCudaMinBlockBytes = 512;
inline constexpr int64_t kCudaSmallBytes = int64_t{1} << 20;  // largest request of the small pool
inline constexpr int64_t kCudaPageBytes = int64_t{2} << 20;   // what is taken from the device is a multiple of this

// Bytes of the block that a request of `bytes` (> 0) gets: rule 1.
int64_t RoundForCuda(int64_t bytes, const CudaAllocatorOptions& options);

class CudaAllocator : public Allocator {
 public:
  explicit CudaAllocator(const AllocatorOptions& options)
      : options_(options.cuda), capacity_bytes_(options.capacity_bytes) {}

  bool Alloc(int64_t id, int64_t bytes) final;
  void Free(int64_t id) final;
  void EmptyCache() final;
  AllocatorState State() const final;
  std::optional<BlockPlace> PlaceOf(int64_t id) const final;

 protected:
  struct Pool {
    bool small = false;
    BlockHeap heap;
  };

  // Rule 3 without the exceptions; invalid if there is none.
  virtual BlockId FindFree(const Pool& pool, int64_t bytes) const = 0;
  // A free block of at least `bytes` from the device; invalid if the device has not enough left.
  virtual BlockId TakeFromDevice(Pool& pool, int64_t bytes) = 0;
  virtual bool ShouldSplit(const Pool& pool, int64_t block_bytes, int64_t bytes) const = 0;
  // Gives back what is free in `pool`.
  virtual void ReleaseFree(Pool& pool) = 0;

  bool DeviceHas(int64_t bytes) const;
  void CountDeviceAllocation() { ++device_allocations_; }
  bool MaySplit(int64_t bytes) const {
    return !options_.max_split_size_bytes || bytes < *options_.max_split_size_bytes;
  }
  const CudaAllocatorOptions& options() const { return options_; }

 private:
  struct Allocation {
    bool there = false;
    bool small = false;
    BlockId block;  // invalid: of 0 bytes
  };

  Pool& PoolFor(int64_t bytes);
  BlockId FindAllowedFree(const Pool& pool, int64_t bytes) const;
  BlockId FindOrTake(Pool& pool, int64_t bytes);
  bool ReleaseOversize(Pool& pool, int64_t bytes);

  CudaAllocatorOptions options_;
  std::optional<int64_t> capacity_bytes_;
  Pool small_pool_ = {.small = true, .heap = {}};
  Pool large_pool_ = {.small = false, .heap = {}};
  std::vector<Allocation> allocations_;  // by id
  int64_t device_allocations_ = 0;
  int64_t retries_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_CUDA_ALLOCATOR_H_
