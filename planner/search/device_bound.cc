#include "planner/search/device_bound.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "analyzer/allocators/allocator.h"
#include "analyzer/allocators/cuda_allocator.h"

namespace onnx_mem {
namespace {

constexpr int64_t kLargePageBytes = int64_t{20} << 20;  // of expandable segments
constexpr int64_t kAnySize = std::numeric_limits<int64_t>::max();
constexpr size_t kMostGaps = 4;  // of different sizes that have a line

int64_t RoundUp(int64_t bytes, int64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

// What is there before the first step and stays: allocators/replay.h.
bool ComesFirst(const MemoryProgram& program, const Buffer& buffer) {
  const bool throughout = buffer.begin.value() == 0 && !program.steps.contains(buffer.end);
  return throughout && (buffer.category == Category::kParameters || buffer.category == Category::kBuffers ||
                        buffer.category == Category::kInputs);
}

// Blocks of more than `above` and at most `up_to` bytes.
BytesOf BlocksBetween(int64_t above, int64_t up_to, bool first_ones) {
  return [=](const MemoryProgram& program, const Buffer& buffer) -> int64_t {
    if (buffer.bytes == 0 || (!first_ones && ComesFirst(program, buffer))) return 0;
    const int64_t block = RoundForCuda(buffer.bytes, {});
    return block > above && block <= up_to ? block : 0;
  };
}

// What the parameters alone take of the large pool: segments, and the gaps that their blocks leave, largest first.
struct FirstSegments {
  int64_t reserved_bytes = 0;
  std::vector<int64_t> gaps;
};

FirstSegments LayOutParameters(const MemoryProgram& steady, std::string_view allocator_name) {
  const std::unique_ptr<Allocator> allocator = (*FindAllocator(allocator_name))->make({});
  int64_t id = 0;
  for (const Buffer& buffer : steady.buffers) {
    if (ComesFirst(steady, buffer) && RoundForCuda(buffer.bytes, {}) > kCudaSmallBytes)
      allocator->Alloc(id++, buffer.bytes);
  }
  FirstSegments segments{.reserved_bytes = allocator->State().reserved_bytes, .gaps = {}};
  // A block as large as the largest gap is placed there.
  for (int64_t gap; (gap = allocator->State().largest_free_bytes) > kCudaSmallBytes;) {
    segments.gaps.push_back(gap);
    allocator->Alloc(id++, gap);
  }
  return segments;
}

}  // namespace

std::optional<DeviceBound> DeviceBound::Create(const Accountant& accountant, const Prover& prover,
                                               const std::vector<Candidate>& candidates) {
  const std::string& allocator = accountant.workload().allocator;
  const bool expandable = allocator == "pytorch-expandable";
  if (!expandable && allocator != "pytorch") return std::nullopt;
  DeviceBound device;
  device.context_bytes_ = accountant.LeastDeviceBytes(0);
  Pool &small = device.pools_[0], &large = device.pools_[1];
  small.grain_bytes = kCudaPageBytes;
  large.grain_bytes = expandable ? kLargePageBytes : kCudaPageBytes;
  std::vector<BytesOf> counts = {BlocksBetween(0, kCudaSmallBytes, true),
                                 BlocksBetween(kCudaSmallBytes, kAnySize, true)};
  std::vector<int64_t> constants = {0, 0};
  if (!expandable) {  // its one segment grows wherever a gap ends
    const FirstSegments first = LayOutParameters(*accountant.baseline_figures().program, allocator);
    size_t lines = 0;
    int64_t larger_bytes = 0;  // of gaps that blocks above `*gap` fit into
    for (auto gap = first.gaps.begin(); gap != first.gaps.end() && lines < kMostGaps; ++lines) {
      counts.push_back(BlocksBetween(*gap, kAnySize, false));
      constants.push_back(first.reserved_bytes - larger_bytes);
      for (const int64_t size = *gap; gap != first.gaps.end() && *gap == size; ++gap) larger_bytes += size;
    }
  }
  std::optional<std::vector<SegmentLimits>> limits = prover.LimitSegments(candidates, counts);
  if (!limits) return std::nullopt;
  for (size_t i = 0; i < limits->size(); ++i) {
    (i == 0 ? small : large).lines.push_back({SegmentBound(std::move((*limits)[i])), constants[i]});
  }
  return device;
}

int64_t DeviceBound::FloorOf(const Pool& pool) {
  int64_t floor = 0;
  for (const Line& line : pool.lines) floor = std::max(floor, line.bound.Floor() + line.constant_bytes);
  return RoundUp(floor, pool.grain_bytes);
}

std::optional<int64_t> DeviceBound::LeastCost(int64_t device_bytes) const {
  int64_t cost = 0;
  for (const bool large : {false, true}) {
    const Pool& pool = pools_[large];
    const int64_t rest = device_bytes - context_bytes_ - FloorOf(pools_[!large]);
    if (rest < 0) return std::nullopt;
    const int64_t allowed = rest / pool.grain_bytes * pool.grain_bytes;
    for (const Line& line : pool.lines) {
      const std::optional<int64_t> least = line.bound.LeastCost(allowed - line.constant_bytes);
      if (!least) return std::nullopt;
      cost = std::max(cost, *least);
    }
  }
  return cost;
}

}  // namespace onnx_mem
