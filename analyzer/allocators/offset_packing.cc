#include "analyzer/allocators/offset_packing.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "analyzer/allocators/packing_search.h"
#include "analyzer/allocators/rounding.h"

namespace onnx_mem {
namespace {

// The search keeps a list of overlaps per buffer: beyond this it would take memory that a report is not worth.
constexpr size_t kMostBuffersSearched = 2000;
// Heights tried between the bound and what greedy found, when the bound itself is not reached.
constexpr int kHeightsTried = 4;

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
  std::stable_sort(queue.begin(), queue.end(), [&](size_t a, size_t b) { return order(ranges[a]) > order(ranges[b]); });
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

void Keep(std::vector<int64_t> offsets, std::span<const LiveRange> ranges, Packing& best) {
  const int64_t height = HeightOf(ranges, offsets);
  if (!best.offset_bytes.empty() && height >= best.height_bytes) return;
  best.offset_bytes = std::move(offsets);
  best.height_bytes = height;
}

// The goal first; if that is out of reach, heights in between.
void SearchLower(std::span<const LiveRange> ranges, int64_t goal, int64_t work, Packing& best) {
  int64_t low = goal;
  for (int i = 0; i < kHeightsTried && low < best.height_bytes; ++i) {
    int64_t budget = i == 0 ? work - work / 2 : work / 2 / (kHeightsTried - 1);
    std::optional<std::vector<int64_t>> offsets = SearchPacking(ranges, low, budget);
    if (offsets) {
      Keep(std::move(*offsets), ranges, best);
      return;
    }
    low += (best.height_bytes - low + 1) / 2;
  }
}

}  // namespace

Packing PackOffsets(std::span<const LiveRange> ranges, const PackingOptions& options) {
  std::vector<LiveRange> rounded(ranges.begin(), ranges.end());
  for (LiveRange& range : rounded) range.bytes = RoundUp(range.bytes, options.alignment_bytes);
  Packing best;
  best.lower_bound_bytes = MostAliveAtOnce(rounded);
  const int64_t goal = std::max(best.lower_bound_bytes, options.enough_bytes);
  for (Order order : kOrders) {
    Keep(PlaceGreedily(rounded, order), rounded, best);
    if (best.height_bytes <= goal) return best;
  }
  if (options.work > 0 && rounded.size() <= kMostBuffersSearched) SearchLower(rounded, goal, options.work, best);
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
