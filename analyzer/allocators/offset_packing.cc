#include "analyzer/allocators/offset_packing.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "analyzer/allocators/rounding.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

int64_t MostAliveAtOnce(std::span<const LiveRange> ranges) {
  std::vector<std::pair<int64_t, int64_t>> changes;  // step, bytes; ends sort before begins of the same step
  for (const LiveRange& range : ranges) {
    changes.emplace_back(range.begin, range.bytes);
    changes.emplace_back(range.end, -range.bytes);
  }
  std::sort(changes.begin(), changes.end());
  int64_t alive = 0;
  int64_t most = 0;
  for (const auto& [step, bytes] : changes) most = std::max(most, alive += bytes);
  return most;
}

int64_t HeightOf(std::span<const LiveRange> ranges, const std::vector<int64_t>& offsets) {
  int64_t height = 0;
  for (size_t i = 0; i < ranges.size(); ++i) height = std::max(height, offsets[i] + ranges[i].bytes);
  return height;
}

using Order = double (*)(const LiveRange&);  // larger first
constexpr std::array<Order, 3> kOrders = {
    [](const LiveRange& r) { return static_cast<double>(r.bytes); },
    [](const LiveRange& r) { return static_cast<double>(r.bytes) * static_cast<double>(r.end - r.begin); },
    [](const LiveRange& r) { return static_cast<double>(r.end - r.begin); },
};

// Buffers in the given order, each into the smallest gap that it fits between those placed before it.
std::vector<int64_t> PlaceGreedily(std::span<const LiveRange> ranges, Order order) {
  std::vector<size_t> queue(ranges.size());
  std::iota(queue.begin(), queue.end(), size_t{0});
  StableSort(queue, [&](size_t a, size_t b) { return order(ranges[a]) > order(ranges[b]); });
  std::vector<int64_t> offsets(ranges.size(), 0);
  std::vector<size_t> placed;  // by rising offset
  for (size_t i : queue) {
    int64_t top = 0;
    std::optional<int64_t> best;
    int64_t best_gap = 0;
    for (size_t j : placed) {
      if (!Overlap(ranges[i], ranges[j])) continue;
      const int64_t gap = offsets[j] - top;
      if (gap >= ranges[i].bytes && (!best || gap < best_gap)) {
        best = top;
        best_gap = gap;
      }
      top = std::max(top, offsets[j] + ranges[j].bytes);
    }
    offsets[i] = best.value_or(top);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i, [&](size_t a, size_t b) { return offsets[a] < offsets[b]; }),
        i);
  }
  return offsets;
}

}  // namespace

Packing PackOffsets(std::span<const LiveRange> ranges, int64_t alignment_bytes) {
  std::vector<LiveRange> rounded(ranges.begin(), ranges.end());
  for (LiveRange& range : rounded) range.bytes = RoundUp(range.bytes, alignment_bytes);
  Packing best;
  best.lower_bound_bytes = MostAliveAtOnce(rounded);
  for (Order order : kOrders) {
    std::vector<int64_t> offsets = PlaceGreedily(rounded, order);
    const int64_t height = HeightOf(rounded, offsets);
    if (!best.offset_bytes.empty() && height >= best.height_bytes) continue;
    best.offset_bytes = std::move(offsets);
    best.height_bytes = height;
    if (height == best.lower_bound_bytes) break;
  }
  return best;
}

std::vector<LiveRange> TransientRanges(const MemoryProgram& program) {
  const auto steps = static_cast<int64_t>(program.steps.size());
  std::vector<LiveRange> ranges;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.bytes == 0 || (buffer.begin.value() == 0 && buffer.end.value() == steps)) continue;
    ranges.push_back({buffer.begin.value(), buffer.end.value(), buffer.bytes});
  }
  return ranges;
}

}  // namespace onnx_mem
