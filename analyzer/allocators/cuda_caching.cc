// PyTorch's CUDA caching allocator with its default settings: segments from cudaMalloc that never grow.
//   - a new segment has 2 MiB for the small pool, 20 MiB for requests below 10 MiB, else the request rounded up to
//     2 MiB;
//   - a block is cut if 512 bytes remain (small pool) or more than 1 MiB (large pool, and below max_split_size);
//   - only segments that are free as a whole can be given back.
// Source and the shared rules: cuda_allocator.h.
#include "analyzer/allocators/cuda_allocator.h"

namespace onnx_mem {
namespace {

constexpr int64_t kSmallSegmentBytes = int64_t{2} << 20;
constexpr int64_t kMinLargeAllocBytes = int64_t{10} << 20;
constexpr int64_t kLargeRoundingBytes = int64_t{2} << 20;

class CudaCachingAllocator final : public CudaAllocator {
 public:
  using CudaAllocator::CudaAllocator;

 protected:
  BlockId FindFree(const Pool& pool, int64_t bytes) const override { return pool.heap.BestFit(bytes); }

  BlockId TakeFromDevice(Pool& pool, int64_t bytes) override {
    const int64_t segment_bytes = SegmentBytes(pool, bytes);
    if (!DeviceHas(segment_bytes)) return BlockId();
    CountDeviceAllocation();
    return pool.heap.AddSegment(segment_bytes, BlockState::kFree);
  }

  bool ShouldSplit(const Pool& pool, int64_t block_bytes, int64_t bytes) const override {
    const int64_t rest_bytes = block_bytes - bytes;
    if (pool.small) return rest_bytes >= kCudaMinBlockBytes;
    return MaySplit(bytes) && rest_bytes > kCudaSmallBytes;
  }

  void ReleaseFree(Pool& pool) override {
    for (BlockId block : pool.heap.FreeBlocks()) {
      if (pool.heap.IsWholeSegment(block)) pool.heap.RemoveSegment(block);
    }
  }

 private:
  int64_t SegmentBytes(const Pool& pool, int64_t bytes) const {
    if (pool.small) return kSmallSegmentBytes;
    if (bytes < kMinLargeAllocBytes) return options().large_segment_bytes;
    return (bytes + kLargeRoundingBytes - 1) / kLargeRoundingBytes * kLargeRoundingBytes;
  }
};

}  // namespace

std::unique_ptr<Allocator> MakeCudaCachingAllocator(const AllocatorOptions& options) {
  return std::make_unique<CudaCachingAllocator>(options);
}

}  // namespace onnx_mem
