#include "planner/calls/region_cut.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "analyzer/order/stable_sort.h"
#include "planner/measure/index.h"
#include "solver/bound/min_cut.h"

namespace onnx_mem {
namespace {

using Wide = MinCut::Wide;

constexpr int64_t kInfinite = int64_t{1} << 60;  // more than all that has a price together
constexpr int64_t kMostPriced = int64_t{1} << 59;
// Of the price of bytes: each later call pays so much more, in 2^-16.
constexpr int64_t kPlain = int64_t{1} << 16;
constexpr int64_t kTilt = 1;

struct Corner {
  CutOption option;
  Wide tilted = 0;  // bytes, each with the weight of its call
};

// What one cut proves of every choice: the prices of its cost and of its bytes, as they weigh, add up to `least`.
struct ProvenLine {
  Wide cost_price = 0;
  Wide byte_price = 0;
  Wide least = 0;
};

class Cutter {
 public:
  Cutter(const CutRegion& region, bool one_by_one) : region_(region), weight_(region.bytes.size(), kPlain) {
    maker_.assign(region.bytes.size(), -1);
    for (size_t i = 0; i < region.calls.size(); ++i) {
      for (int32_t value : region.calls[i].makes) {
        maker_[Index(value)] = static_cast<int32_t>(i);
        if (one_by_one) weight_[Index(value)] += kTilt * static_cast<int64_t>(i);
      }
    }
    Build();
  }

  // The cheapest choice where a unit of cost has the one price and a byte the other; nullopt: there is none.
  std::optional<Corner> Cut(Wide cost_price, Wide byte_price) {
    Wide all = 1;
    ForEachPrice(cost_price, byte_price, [&](int, Wide price) { all += price; });
    int shift = 0;
    while ((all >> shift) > kMostPriced) ++shift;
    ForEachPrice(cost_price, byte_price,
                 [&](int arc, Wide price) { cut_.SetCapacity(arc, static_cast<int64_t>(price >> shift)); });
    const Wide least = cut_.Solve();
    if (least >= kInfinite) return std::nullopt;
    lines_.push_back({cost_price, byte_price, least << shift});
    cost_price_ = cost_price;
    byte_price_ = byte_price;
    return Choice();
  }

  // No choice holds less, as the first cut proves where no choice costs more than `most_cost`.
  int64_t LeastBytes(Wide most_cost) const {
    const ProvenLine& line = lines_.front();
    const Wide weighted = (line.least - line.cost_price * most_cost) / line.byte_price;
    return static_cast<int64_t>(std::max<Wide>(weighted, 0) / MostWeight());
  }

  // No choice that holds at most so many bytes costs less.
  int64_t LeastCost(int64_t held_bytes) const {
    Wide least = 0;
    for (const ProvenLine& line : lines_) {
      const Wide rest = line.least - line.byte_price * held_bytes * MostWeight();
      if (rest > 0) least = std::max(least, (rest + line.cost_price - 1) / line.cost_price);
    }
    return static_cast<int64_t>(least);
  }

 private:
  int64_t MostWeight() const { return *std::max_element(weight_.begin(), weight_.end()); }

  void Build() {
    for (size_t v = 0; v < region_.bytes.size(); ++v) value_.push_back(cut_.AddNode());
    for (size_t i = 0; i < region_.calls.size(); ++i) call_.push_back(cut_.AddNode());
    for (size_t i = 0; i < region_.calls.size(); ++i) {
      const CutRegion::Call& call = region_.calls[i];
      const bool never = call.cost == CutRegion::kNever;
      call_arc_.push_back(cut_.AddArc(call_[i], MinCut::kSink, never ? kInfinite : 0));
      for (int32_t value : call.reads) cut_.AddArc(call_[i], value_[Index(value)], kInfinite);
    }
    for (size_t v = 0; v < region_.bytes.size(); ++v) {
      const int to = maker_[v] < 0 ? MinCut::kSink : call_[Index(maker_[v])];
      value_arc_.push_back(cut_.AddArc(value_[v], to, region_.bytes[v] == CutRegion::kNever ? kInfinite : 0));
    }
    for (int32_t value : region_.saved) cut_.AddArc(MinCut::kSource, value_[Index(value)], kInfinite);
    for (const auto& [first, then] : region_.together) cut_.AddArc(call_[Index(first)], call_[Index(then)], kInfinite);
  }

  template <class Visit>
  void ForEachPrice(Wide cost_price, Wide byte_price, const Visit& visit) const {
    for (size_t i = 0; i < call_arc_.size(); ++i) {
      if (region_.calls[i].cost != CutRegion::kNever) visit(call_arc_[i], cost_price * region_.calls[i].cost);
    }
    for (size_t v = 0; v < value_arc_.size(); ++v) {
      if (region_.bytes[v] == CutRegion::kNever) continue;
      const Wide to_hold = byte_price * region_.bytes[v] * weight_[v];
      visit(value_arc_[v], CanMove(v) ? std::min(to_hold, cost_price * region_.move_cost[v]) : to_hold);
    }
  }

  bool CanMove(size_t v) const { return !region_.move_cost.empty() && region_.move_cost[v] != CutRegion::kNever; }
  // At the prices of the last cut.
  bool Moves(size_t v) const {
    return CanMove(v) && cost_price_ * region_.move_cost[v] < byte_price_ * region_.bytes[v] * weight_[v];
  }

  // What is needed, from what autograd saved backwards: the source's side may hold more that costs nothing.
  Corner Choice() const {
    std::vector<bool> needed(value_.size(), false), again(call_.size(), false);
    std::vector<int32_t> values, calls;  // whose consequences are open
    const auto need = [&](int32_t value) {
      if (!needed[Index(value)]) values.push_back(value);
      needed[Index(value)] = true;
    };
    const auto run = [&](int32_t call) {
      if (!again[Index(call)]) calls.push_back(call);
      again[Index(call)] = true;
    };
    std::for_each(region_.saved.begin(), region_.saved.end(), need);
    while (!values.empty() || !calls.empty()) {
      if (!values.empty()) {
        const int32_t maker = maker_[Index(values.back())];
        values.pop_back();
        if (maker >= 0 && cut_.OnSourceSide(call_[Index(maker)])) run(maker);
        continue;
      }
      const int32_t call = calls.back();
      calls.pop_back();
      const std::vector<int32_t>& reads = region_.calls[Index(call)].reads;
      std::for_each(reads.begin(), reads.end(), need);
      for (const auto& [first, then] : region_.together) {
        if (first == call) run(then);
      }
    }
    return CornerOf(needed, again);
  }

  Corner CornerOf(const std::vector<bool>& needed, const std::vector<bool>& again) const {
    Corner corner;
    for (size_t i = 0; i < again.size(); ++i) {
      if (!again[i]) continue;
      corner.option.again.push_back(static_cast<int32_t>(i));
      corner.option.cost += region_.calls[i].cost;
    }
    for (size_t v = 0; v < needed.size(); ++v) {
      if (!needed[v] || (maker_[v] >= 0 && again[Index(maker_[v])])) continue;
      if (Moves(v)) {
        corner.option.moved.push_back(static_cast<int32_t>(v));
        corner.option.cost += region_.move_cost[v];
        continue;
      }
      corner.option.kept.push_back(static_cast<int32_t>(v));
      corner.option.held_bytes += region_.bytes[v];
      corner.tilted += Wide{region_.bytes[v]} * weight_[v];
    }
    return corner;
  }

  const CutRegion& region_;
  std::vector<int64_t> weight_;
  std::vector<int32_t> maker_;  // by value; -1: nobody here
  MinCut cut_;
  std::vector<ProvenLine> lines_;
  Wide cost_price_ = 0, byte_price_ = 0;
  std::vector<int> value_, call_, value_arc_, call_arc_;
};

// Two neighbouring corners, the wider the sooner.
struct CornerGap {
  double area = 0;
  size_t low = 0;  // of the corners: fewer bytes
  size_t high = 0;
  bool operator<(const CornerGap& other) const { return area < other.area; }
};

CornerGap GapOf(const std::vector<Corner>& corners, size_t low, size_t high) {
  const double bytes = static_cast<double>(corners[high].tilted - corners[low].tilted);
  const double cost = static_cast<double>(corners[low].option.cost - corners[high].option.cost);
  return {bytes > 0 && cost > 0 ? bytes * cost : 0, low, high};
}

void DropBettered(std::vector<CutOption>& options) {
  StableSort(options, [](const CutOption& a, const CutOption& b) {
    return a.held_bytes != b.held_bytes ? a.held_bytes < b.held_bytes : a.cost < b.cost;
  });
  std::vector<CutOption> front;
  for (CutOption& option : options) {
    if (front.empty() || option.cost < front.back().cost) front.push_back(std::move(option));
  }
  options = std::move(front);
}

}  // namespace

CutFront FrontOf(const CutRegion& region, const FrontLimits& limits) {
  if (region.bytes.empty()) return {};
  Cutter cutter(region, limits.one_by_one);
  Wide all_cost = 1, all_bytes = 1;
  for (const CutRegion::Call& call : region.calls) all_cost += std::max<int64_t>(call.cost, 0);
  for (int64_t cost : region.move_cost) all_cost += std::max<int64_t>(cost, 0);
  for (int64_t bytes : region.bytes) all_bytes += Wide{std::max<int64_t>(bytes, 0)} * 2 * kPlain;
  std::vector<Corner> corners;
  for (const auto& [cost_price, byte_price] : {std::pair(Wide{1}, all_cost), std::pair(all_bytes, Wide{1})}) {
    std::optional<Corner> corner = cutter.Cut(cost_price, byte_price);
    if (!corner) return {};
    corners.push_back(*std::move(corner));
  }
  std::priority_queue<CornerGap> gaps;
  gaps.push(GapOf(corners, 0, 1));
  while (!gaps.empty() && gaps.top().area > 0 && corners.size() < limits.corners) {
    const CornerGap gap = gaps.top();
    gaps.pop();
    const Wide bytes = corners[gap.high].tilted - corners[gap.low].tilted;
    const Wide cost = corners[gap.low].option.cost - corners[gap.high].option.cost;
    std::optional<Corner> corner = cutter.Cut(bytes, cost);
    const auto price = [&](const Corner& of) { return bytes * of.option.cost + cost * of.tilted; };
    if (!corner || price(*corner) >= price(corners[gap.low])) continue;
    corners.push_back(*std::move(corner));
    gaps.push(GapOf(corners, gap.low, corners.size() - 1));
    gaps.push(GapOf(corners, corners.size() - 1, gap.high));
  }
  CutFront front;
  for (Corner& corner : corners) front.options.push_back(std::move(corner.option));
  DropBettered(front.options);
  for (size_t i = 1; i < front.options.size(); ++i)
    front.least_cost.push_back(cutter.LeastCost(front.options[i].held_bytes));
  front.least_cost.push_back(0);
  front.least_bytes = cutter.LeastBytes(all_cost);
  return front;
}

}  // namespace onnx_mem
