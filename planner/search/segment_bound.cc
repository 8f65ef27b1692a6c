#include "planner/search/segment_bound.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "planner/measure/index.h"

namespace onnx_mem {
SegmentBound::SegmentBound(SegmentLimits limits) : loss_live_(limits.loss_live), constant_live_(limits.constant_live) {
  std::map<int32_t, size_t> place;
  const auto count = static_cast<int32_t>(limits.node_live.size());
  place[0] = place[count] = 0;
  for (const SegmentLimits::Range& range : limits.ranges) place[range.first] = place[range.last + 1] = 0;
  size_t next = 0;
  for (auto& [node, number] : place) number = next++;
  moves_.resize(place.size() - 1);
  for (auto at = place.begin(), after = std::next(at); after != place.end(); at = after++) {
    Move over{.to = after->second};
    for (int32_t n = at->first; n < after->first; ++n)
      over.live_bytes = std::max(over.live_bytes, limits.node_live[Index(n)]);
    moves_[at->second].push_back(over);
  }
  for (size_t i = 0; i < limits.ranges.size(); ++i) {
    const SegmentLimits::Range& range = limits.ranges[i];
    moves_[place[range.first]].push_back(
        {place[range.last + 1], range.live_bytes, static_cast<int32_t>(i), range.frees_bytes, range.cost});
  }
  int64_t low = constant_live_, high = std::max(constant_live_, loss_live_);
  for (int64_t live : limits.node_live) high = std::max(high, live);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    Reaches(middle) ? high = middle : low = middle + 1;
  }
  floor_ = low;
}

bool SegmentBound::Reaches(int64_t limit) const {
  std::vector<int64_t> need(moves_.size() + 1, std::numeric_limits<int64_t>::max());
  need.back() = loss_live_ - limit;
  for (size_t p = moves_.size(); p-- > 0;) {
    for (const Move& move : moves_[p]) {
      need[p] = std::min(need[p], std::max(need[move.to] - move.frees_bytes, move.live_bytes - limit));
    }
  }
  return limit >= constant_live_ && need.front() <= 0;
}

void SegmentBound::Join(const std::vector<Suffix>& one, const std::vector<Suffix>& behind, const Move& move,
                        std::vector<Suffix>& joined) {
  joined.clear();
  const auto take = [&](const Suffix& suffix) {
    // Of those that cost no less than one whose peak is no higher, none stays.
    if (!joined.empty() && suffix.cost >= joined.back().cost) return;
    if (!joined.empty() && joined.back().peak_bytes == suffix.peak_bytes) joined.pop_back();
    joined.push_back(suffix);
  };
  auto next = one.begin();
  for (const Suffix& suffix : behind) {
    const Suffix moved{std::max(suffix.peak_bytes - move.frees_bytes, move.live_bytes), suffix.cost + move.cost};
    for (; next != one.end() && next->peak_bytes <= moved.peak_bytes; ++next) take(*next);
    take(moved);
  }
  for (; next != one.end(); ++next) take(*next);
}

SegmentBound::Suffixes SegmentBound::MakeSuffixes(bool reached, size_t most) const {
  Suffixes suffixes(moves_.size() + 1);
  suffixes.back() = {{loss_live_, 0}};
  std::vector<Suffix> here, joined;
  for (size_t p = moves_.size(); p-- > 0;) {
    here.clear();
    for (const Move& move : moves_[p]) {
      Join(here, suffixes[move.to], move, joined);
      std::swap(here, joined);
    }
    Thin(here, reached, most);
    suffixes[p] = here;
  }
  return suffixes;
}

const SegmentBound::Suffixes& SegmentBound::AllSuffixes(bool reached, size_t most) const {
  const auto [known, is_new] = suffixes_.try_emplace({reached, most});
  if (is_new) known->second = MakeSuffixes(reached, most);
  return known->second;
}

SegmentBound::Suffix SegmentBound::FiguresOf(const std::vector<int32_t>& ranges) const {
  int64_t peak = constant_live_, freed = 0, cost = 0;
  auto next = ranges.begin();
  for (size_t p = 0; p < moves_.size();) {
    const auto into = std::find_if(moves_[p].begin(), moves_[p].end(),
                                   [&](const Move& move) { return next != ranges.end() && move.range == *next; });
    const Move& move = into != moves_[p].end() ? *into : moves_[p].front();
    if (into != moves_[p].end()) ++next;
    peak = std::max(peak, move.live_bytes - freed);
    freed += move.frees_bytes;
    cost += move.cost;
    p = move.to;
  }
  return {std::max(peak, loss_live_ - freed), cost};
}

void SegmentBound::Thin(std::vector<Suffix>& suffixes, bool reached, size_t most) {
  while (suffixes.size() > most) {
    for (size_t i = 0; i < suffixes.size(); i += 2) {
      const Suffix& next = suffixes[std::min(i + 1, suffixes.size() - 1)];
      suffixes[i / 2] = reached ? suffixes[i] : Suffix{suffixes[i].peak_bytes, next.cost};
    }
    suffixes.resize((suffixes.size() + 1) / 2);
  }
}

std::optional<int64_t> SegmentBound::LeastCost(const std::vector<Suffix>& suffixes, int64_t limit,
                                               int64_t freed_bytes) {
  // The last one that is within the limit: the cheapest of them.
  const auto after = std::partition_point(
      suffixes.begin(), suffixes.end(), [&](const Suffix& suffix) { return suffix.peak_bytes - freed_bytes <= limit; });
  if (after == suffixes.begin()) return std::nullopt;
  return std::prev(after)->cost;
}

std::optional<int64_t> SegmentBound::LeastCost(int64_t limit) const {
  if (limit < constant_live_) return std::nullopt;
  const auto known = suffixes_.find({false, kMostSuffixes});
  // Wanted for one limit alone, the table is not kept: of a large model it is large.
  if (known == suffixes_.end()) return LeastCost(MakeSuffixes(false, kMostSuffixes).front(), limit, 0);
  return LeastCost(known->second.front(), limit, 0);
}

}  // namespace onnx_mem
