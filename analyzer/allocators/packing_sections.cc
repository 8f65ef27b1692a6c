#include "analyzer/allocators/packing_sections.h"

#include <algorithm>

namespace onnx_mem {
namespace {

// The last begin before an end: all other sets of buffers alive together follow from those.
std::vector<int64_t> StepsOfSections(std::span<const LiveRange> ranges) {
  std::vector<int64_t> begins;
  std::vector<int64_t> ends;
  for (const LiveRange& range : ranges) {
    begins.push_back(range.begin);
    ends.push_back(range.end);
  }
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  std::sort(ends.begin(), ends.end());
  std::vector<int64_t> sections;
  for (size_t i = 0; i < begins.size(); ++i) {
    const auto next_end = std::upper_bound(ends.begin(), ends.end(), begins[i]);
    if (i + 1 == begins.size() || *next_end <= begins[i + 1]) sections.push_back(begins[i]);
  }
  return sections;
}

std::vector<std::vector<int>> FindOverlaps(std::span<const LiveRange> ranges) {
  std::vector<std::vector<int>> overlaps(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (size_t j = 0; j < ranges.size(); ++j) {
      if (i != j && Overlap(ranges[i], ranges[j])) overlaps[i].push_back(static_cast<int>(j));
    }
  }
  return overlaps;
}

}  // namespace

PackingSections FindPackingSections(std::span<const LiveRange> ranges) {
  const std::vector<int64_t> steps = StepsOfSections(ranges);
  const auto index = [&](int64_t step) {
    return static_cast<int>(std::lower_bound(steps.begin(), steps.end(), step) - steps.begin());
  };
  PackingSections sections{{}, FindOverlaps(ranges), std::vector<int64_t>(steps.size(), 0)};
  for (const LiveRange& range : ranges) {
    PackingItem item{.first = index(range.begin), .last = index(range.end), .bytes = range.bytes};
    item.length = static_cast<double>(range.end - range.begin);
    for (int s = item.first; s < item.last; ++s) sections.bytes[static_cast<size_t>(s)] += item.bytes;
    sections.items.push_back(item);
  }
  for (PackingItem& item : sections.items) {
    for (int s = item.first; s < item.last; ++s) {
      item.pressure = std::max(item.pressure, static_cast<double>(sections.bytes[static_cast<size_t>(s)]));
    }
  }
  return sections;
}

}  // namespace onnx_mem
