// The allocator that a bookkeeper would write: a buffer costs its bytes while it lives and nothing afterwards.
// It is the lower bound of all others, and what `--allocator exact` shows.
#include <cassert>

#include "absl/container/flat_hash_map.h"
#include "analyzer/allocators/allocator.h"

namespace onnx_mem {
namespace {

class ExactAllocator final : public Allocator {
 public:
  explicit ExactAllocator(const AllocatorOptions& options) : capacity_bytes_(options.capacity_bytes) {}

  bool Alloc(int64_t id, int64_t bytes) override {
    if (capacity_bytes_ && bytes > *capacity_bytes_ - live_bytes_) return false;
    const bool inserted = bytes_of_.emplace(id, bytes).second;
    assert(inserted);
    (void)inserted;
    live_bytes_ += bytes;
    return true;
  }

  void Free(int64_t id) override {
    const auto entry = bytes_of_.find(id);
    assert(entry != bytes_of_.end());
    live_bytes_ -= entry->second;
    bytes_of_.erase(entry);
  }

  void EmptyCache() override {}

  AllocatorState State() const override { return {.allocated_bytes = live_bytes_, .reserved_bytes = live_bytes_}; }

 private:
  std::optional<int64_t> capacity_bytes_;
  int64_t live_bytes_ = 0;
  absl::flat_hash_map<int64_t, int64_t> bytes_of_;
};

}  // namespace

std::unique_ptr<Allocator> MakeExactAllocator(const AllocatorOptions& options) {
  return std::make_unique<ExactAllocator>(options);
}

}  // namespace onnx_mem
