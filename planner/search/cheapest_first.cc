#include "planner/search/cheapest_first.h"

#include <algorithm>
#include <tuple>

namespace onnx_mem {

bool CheapestFirst::Partial::operator<(const Partial& other) const {
  return std::tuple(-least_cost, place, freed_bytes, before) <
         std::tuple(-other.least_cost, other.place, other.freed_bytes, other.before);
}

CheapestFirst::CheapestFirst(const SegmentBound& bound, int64_t limit)
    : bound_(bound), suffixes_(bound.AllSuffixes()), limit_(limit) {
  if (limit >= bound.constant_live()) Push({});
}

void CheapestFirst::Push(Partial partial) {
  const std::optional<int64_t> rest = SegmentBound::LeastCost(suffixes_[partial.place], limit_, partial.freed_bytes);
  if (!rest) return;
  partial.least_cost = partial.cost + *rest;
  queue_.push(partial);
}

std::optional<int64_t> CheapestFirst::LeastCost() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.top().least_cost;
}

std::optional<CheapestFirst::Set> CheapestFirst::Next(int steps) {
  for (; steps > 0 && !queue_.empty(); --steps) {
    const Partial at = queue_.top();
    queue_.pop();
    if (at.place == bound_.end()) {
      Set set{.ranges = {}, .cost = at.cost};
      for (int32_t t = at.before; t >= 0; t = taken_[static_cast<size_t>(t)].before) {
        set.ranges.push_back(taken_[static_cast<size_t>(t)].range);
      }
      std::reverse(set.ranges.begin(), set.ranges.end());
      return set;
    }
    for (const SegmentBound::Move& move : bound_.MovesFrom(at.place)) {
      if (move.live_bytes - at.freed_bytes > limit_) continue;
      Partial next{.place = move.to,
                   .freed_bytes = at.freed_bytes + move.frees_bytes,
                   .cost = at.cost + move.cost,
                   .before = at.before};
      if (move.range >= 0) {
        next.before = static_cast<int32_t>(taken_.size());
        taken_.push_back({move.range, at.before});
      }
      Push(next);
    }
  }
  return std::nullopt;
}

std::optional<Choice> NearlyCheapest(const SegmentBound& bound, int64_t limit, size_t most) {
  if (limit < bound.constant_live()) return std::nullopt;
  const SegmentBound::Suffixes& suffixes = bound.AllSuffixes(/*reached=*/true, most);
  if (!SegmentBound::LeastCost(suffixes.front(), limit, 0)) return std::nullopt;
  Choice ranges;
  int64_t freed = 0;
  for (size_t place = 0; place != bound.end();) {
    const SegmentBound::Move* best = nullptr;
    int64_t best_cost = 0;
    for (const SegmentBound::Move& move : bound.MovesFrom(place)) {
      if (move.live_bytes - freed > limit) continue;
      const std::optional<int64_t> rest = SegmentBound::LeastCost(suffixes[move.to], limit, freed + move.frees_bytes);
      if (!rest || (best != nullptr && move.cost + *rest >= best_cost)) continue;
      best = &move;
      best_cost = move.cost + *rest;
    }
    if (best == nullptr) return std::nullopt;
    if (best->range >= 0) ranges.push_back(best->range);
    freed += best->frees_bytes;
    place = best->to;
  }
  return ranges;
}

}  // namespace onnx_mem
