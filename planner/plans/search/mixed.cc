#include "planner/plans/search/mixed.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "planner/plans/code/describe.h"
#include "planner/plans/measure/index.h"
#include "planner/plans/search/curve.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostBases = 8;
constexpr int64_t kWorthMoving = 1000;  // of the peak

enum class Order { kFirst, kLargest, kSpread };

class Mixer {
 public:
  Mixer(Accountant& accountant, const Profile& profile, const Front& front, int64_t limit, std::optional<int64_t> cost,
        std::optional<int64_t> host_bytes, const std::function<bool()>& may_go_on)
      : accountant_(accountant), profile_(profile), front_(front), limit_(limit), cost_(cost), host_bytes_(host_bytes),
        may_go_on_(may_go_on) {}

  absl::StatusOr<std::optional<MixedPlan>> Find() {
    for (const int32_t gate : {0, 1, 2, 3}) {
      for (const Choice& base : Bases()) {
        for (const int64_t parts : {4, 12}) {
          ASSIGN_OR_RETURN(const Choice movable, Movable(base, parts));
          for (const Order order : {Order::kFirst, Order::kLargest, Order::kSpread}) {
            RETURN_IF_ERROR(TryOrder(base, movable, order, gate));
          }
        }
      }
    }
    return best_;
  }

 private:
  // Plans of the front that the limit asks more of, the cheapest first, evenly chosen.
  std::vector<Choice> Bases() const {
    std::vector<Choice> dearer;
    for (const JudgedPlan& plan : front_.plans(BudgetLine::kLive)) {
      if (!cost_ || plan.score.cost < *cost_) dearer.push_back(plan.choice);
    }
    if (dearer.size() <= kMostBases) return dearer;
    std::vector<Choice> some;
    for (size_t i = 0; i < kMostBases; ++i) some.push_back(dearer[i * (dearer.size() - 1) / (kMostBases - 1)]);
    return some;
  }

  bool CanMove(int32_t c) const {
    const Segment& segment = profile_.candidates[Index(c)].segment;
    return segment.modules.size() == 1 && segment.nodes.empty() && segment.keep.empty();
  }

  // What leaves the device when `c` alone goes to the host: what it saves, while a second run frees what it makes.
  absl::StatusOr<int64_t> MovedBytes(int32_t c) {
    const auto [known, is_new] = moved_.try_emplace(c, 0);
    if (!is_new || !may_go_on_()) return known->second;
    Segment segment = profile_.candidates[Index(c)].segment;
    segment.offload = Offload::kWaiting;
    ASSIGN_OR_RETURN(const Enacted alone, accountant_.Enact({segment}));
    known->second = accountant_.baseline().end_of_forward_bytes - alone.end_of_forward_bytes;
    return known->second;
  }

  // Disjoint modules, the largest that hold no more than one of `parts` of all; none of those that `base` touches, nor
  // any that has next to nothing to move.
  absl::StatusOr<Choice> Movable(const Choice& base, int64_t parts) {
    const int64_t all = profile_.baseline_peak - profile_.constant_peak;
    Choice movable;
    int32_t next = 0;
    for (int32_t c = 0; c < static_cast<int32_t>(profile_.candidates.size()); ++c) {  // by first node, longest first
      const Candidate& candidate = profile_.candidates[Index(c)];
      if (candidate.first < next || !CanMove(c) || Overlaps(base, c)) continue;
      if (profile_.figures[Index(c)].saves_bytes > all / parts) continue;
      ASSIGN_OR_RETURN(const int64_t moved, MovedBytes(c));
      if (moved < profile_.baseline_peak / kWorthMoving) continue;
      movable.push_back(c);
      next = candidate.last + 1;
    }
    return movable;
  }

  bool Overlaps(const Choice& choice, int32_t c) const {
    return std::any_of(choice.begin(), choice.end(), [&](int32_t other) {
      return profile_.candidates[Index(other)].Overlaps(profile_.candidates[Index(c)]);
    });
  }

  Choice Ordered(Choice movable, Order order) const {
    const size_t count = movable.size();
    if (order == Order::kLargest) {
      std::stable_sort(movable.begin(), movable.end(), [&](int32_t a, int32_t b) {
        return moved_.at(a) > moved_.at(b);
      });
    } else if (order == Order::kSpread) {
      // Every eighth, then every fourth between them, and so on.
      Choice spread;
      for (size_t step = 8; step > 0; step /= 2) {
        for (size_t i = 0; i < count; i += step) {
          if (step == 8 || i % (2 * step) != 0) spread.push_back(movable[i]);
        }
      }
      return spread;
    }
    return movable;
  }

  // The smallest module that nothing uses in the `part`-th quarter of what lies behind `away`.
  std::optional<int32_t> Gate(const Choice& base, const Choice& away, int32_t part) const {
    int32_t end = 0;
    for (int32_t c : away) end = std::max(end, profile_.candidates[Index(c)].last);
    const int32_t rest = static_cast<int32_t>(profile_.forward_live.size()) - end;
    const int32_t from = end + rest * (part - 1) / 4, to = end + rest * part / 4;
    std::optional<int32_t> best;
    for (int32_t c = 0; c < static_cast<int32_t>(profile_.candidates.size()); ++c) {
      const Candidate& candidate = profile_.candidates[Index(c)];
      if (candidate.first <= from || candidate.last > to || !CanMove(c) || Overlaps(base, c)) continue;
      if (!best || profile_.figures[Index(c)].saves_bytes < profile_.figures[Index(*best)].saves_bytes) best = c;
    }
    return best;
  }

  // As few as bring it within the limit.
  absl::Status TryOrder(const Choice& base, const Choice& movable, Order order, int32_t gate) {
    const Choice ordered = Ordered(movable, order);
    size_t low = 0, high = ordered.size() + 1;
    for (size_t count = std::min<size_t>(ordered.size(), (ordered.size() + 3) / 4); low + 1 < high && may_go_on_();) {
      Choice away(ordered.begin(), ordered.begin() + static_cast<std::ptrdiff_t>(count));
      if (gate > 0) {
        const std::optional<int32_t> last = Gate(base, away, gate);
        if (!last) return absl::OkStatus();
        away.push_back(*last);
      }
      std::sort(away.begin(), away.end());
      ASSIGN_OR_RETURN(const bool fits, Try({base, std::move(away), {}}));
      (fits ? high : low) = count;
      count = low + (high - low) / 2;
    }
    return absl::OkStatus();
  }

  // Whether it is within the limit; the cheapest one stays.
  absl::StatusOr<bool> Try(MixedPlan plan) {
    ASSIGN_OR_RETURN(const Enacted enacted, accountant_.Enact(SegmentsOf(profile_, plan)));
    const Score score = accountant_.ScoreOf(enacted);
    const bool live = front_.line() == BudgetLine::kLive;
    if ((live ? score.peak_bytes : accountant_.LeastDeviceBytes(score.peak_bytes)) > limit_) return false;
    if (cost_ && score.cost >= *cost_) return true;
    ASSIGN_OR_RETURN(plan.measured, accountant_.MeasureEnacted(enacted));
    if (BytesOn(front_.line(), plan.measured) > limit_) return false;
    if (host_bytes_ && plan.measured.host_bytes > *host_bytes_) return true;
    cost_ = score.cost;
    best_ = std::move(plan);
    return true;
  }

  Accountant& accountant_;
  const Profile& profile_;
  const Front& front_;
  int64_t limit_;
  std::optional<int64_t> cost_;
  std::optional<int64_t> host_bytes_;
  const std::function<bool()>& may_go_on_;
  std::map<int32_t, int64_t> moved_;  // by candidate
  std::optional<MixedPlan> best_;
};

}  // namespace

absl::StatusOr<std::optional<MixedPlan>> FindMixed(Accountant& accountant, const Profile& profile, const Front& front,
                                                   int64_t limit, std::optional<int64_t> cost,
                                                   std::optional<int64_t> host_bytes,
                                                   const std::function<bool()>& may_go_on) {
  return Mixer(accountant, profile, front, limit, cost, host_bytes, may_go_on).Find();
}

std::vector<Segment> SegmentsOf(const Profile& profile, const MixedPlan& plan) {
  std::vector<Segment> segments = SegmentsOf(profile, plan.again);
  for (size_t i = 0; i < plan.away.size(); ++i) {
    segments.push_back(profile.candidates[Index(plan.away[i])].segment);
    segments.back().offload = i + 1 == plan.away.size() ? Offload::kWaiting : Offload::kOverlapped;
  }
  return segments;
}

ModulePlan Described(const Graph& graph, const Profile& profile, const MixedPlan& mixed) {
  ModulePlan plan = Described(graph, profile, mixed.again, "mixed", "");
  ModulePlan away = Described(graph, profile, mixed.away, "", "");
  plan.label = absl::StrCat("host: ", LabelOf(profile, mixed.away));
  if (!mixed.again.empty()) absl::StrAppend(&plan.label, "; again: ", LabelOf(profile, mixed.again));
  const std::vector<Segment> segments = SegmentsOf(profile, mixed);
  int64_t freed = 1;
  for (const PlannedSegment& segment : away.segments) freed += segment.saves_bytes;
  for (size_t i = 0; i < away.segments.size(); ++i) {
    PlannedSegment& segment = away.segments[i];
    segment.segment = segments[mixed.again.size() + i];
    segment.recompute_flops = 0;
    segment.cost = static_cast<int64_t>(static_cast<double>(mixed.measured.offload_ns) *
                                        static_cast<double>(segment.saves_bytes) / static_cast<double>(freed));
    plan.segments.push_back(std::move(segment));
  }
  plan.measured = mixed.measured;
  return plan;
}

}  // namespace onnx_mem
