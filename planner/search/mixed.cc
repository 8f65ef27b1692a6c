#include "planner/search/mixed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/order/stable_sort.h"
#include "planner/code/describe.h"
#include "planner/measure/index.h"
#include "planner/search/curve.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostBases = 8;
constexpr size_t kMostAdded = 256;
constexpr int64_t kWorthMoving = 1000;  // of the peak

enum class MoveOrder { kFirst, kLargest, kSpread };

// How modules leave: the gate ends the `part`-th eighth of what lies behind them; 0: there is none.
struct Leaving {
  int32_t part = 0;
  bool held = false;
};
constexpr Leaving kLeavings[] = {{0, false}, {8, true},  {7, true}, {6, false}, {8, false},
                                 {6, true},  {4, false}, {4, true}, {2, false}};

struct MixedPlan {
  Choice again;                                // of the profile: run a second time
  Choice away;                                 // of the moves: go to the host, by node
  std::optional<int32_t> gate = std::nullopt;  // of the moves
  bool held = false;                           // until the gate
  Measured measured = {};
};

// Both kinds as the accountant takes them: second runs, then what passes to the host, then the gate.
std::vector<Segment> SegmentsOf(const Profile& profile, const Profile& moves, const MixedPlan& plan) {
  std::vector<Segment> segments = SegmentsOf(profile, plan.again);
  for (size_t i = 0; i < plan.away.size(); ++i) {
    const bool waits = !plan.gate && i + 1 == plan.away.size();
    segments.push_back(moves.candidates[Index(plan.away[i])].segment);
    segments.back().offload = plan.held ? Offload::kHeld : waits ? Offload::kWaiting : Offload::kOverlapped;
  }
  if (plan.gate) {
    segments.push_back(moves.candidates[Index(*plan.gate)].segment);
    segments.back().offload = Offload::kGate;
  }
  return segments;
}

class Mixer {
 public:
  Mixer(Accountant& accountant, const Profile& profile, const Profile& moves, const Front& front, int64_t limit,
        std::optional<int64_t> cost, std::optional<int64_t> host_bytes, const std::function<bool()>& may_go_on)
      : accountant_(accountant),
        profile_(profile),
        moves_(moves),
        front_(front),
        limit_(limit),
        cost_(cost),
        host_bytes_(host_bytes),
        may_go_on_(may_go_on) {}

  absl::StatusOr<std::optional<MixedPlan>> Find() {
    const std::vector<Choice> all = Bases(kMostAdded, std::nullopt);  // dearer ones too: they lose some
    for (const Leaving& leaving : kLeavings) {
      RETURN_IF_ERROR(AddSecondRuns(all, leaving));
      for (const Choice& base : Bases(kMostBases, cost_)) {
        for (const int64_t parts : {4, 12}) {
          const Choice movable = Movable(base, parts);
          for (const MoveOrder order : {MoveOrder::kFirst, MoveOrder::kLargest, MoveOrder::kSpread}) {
            RETURN_IF_ERROR(TryOrder(base, movable, order, leaving));
          }
        }
      }
    }
    return best_;
  }

 private:
  // Modules on the host, the first ones first, more and more of them; to each the cheapest of `bases` that does.
  absl::Status AddSecondRuns(const std::vector<Choice>& bases, const Leaving& leaving) {
    for (const int64_t parts : {4, 12}) {
      const Choice movable = Movable({}, parts);
      for (size_t count = 1; count <= movable.size() && may_go_on_(); count += (count + 2) / 3) {
        MixedPlan plan;
        plan.away.assign(movable.begin(), movable.begin() + static_cast<std::ptrdiff_t>(count));
        ASSIGN_OR_RETURN(const std::optional<int64_t> cost, CostAlone(plan, leaving));
        if (!cost || (cost_ && *cost >= *cost_)) break;  // more of them cost no less
        size_t low = 0, high = bases.size();             // the first that fits is in [low, high]
        while (low < high && may_go_on_()) {
          const size_t middle = low + (high - low) / 2;
          plan.again = bases[middle];
          for (int32_t c : plan.away) {
            const Candidate& place = moves_.candidates[Index(c)];
            std::erase_if(plan.again, [&](int32_t a) { return profile_.candidates[Index(a)].Overlaps(place); });
          }
          ASSIGN_OR_RETURN(const bool fits, TryLeaving(plan, leaving));
          fits ? high = middle : low = middle + 1;
        }
      }
    }
    return absl::OkStatus();
  }

  // nullopt: there is no such gate.
  absl::StatusOr<std::optional<int64_t>> CostAlone(MixedPlan plan, const Leaving& leaving) {
    if (!SetLeaving(leaving, plan)) return std::nullopt;
    ASSIGN_OR_RETURN(const Enacted enacted, accountant_.Enact(SegmentsOf(profile_, moves_, plan)));
    return accountant_.ScoreOf(enacted).cost;
  }

  // Whether there is such a gate.
  bool SetLeaving(const Leaving& leaving, MixedPlan& plan) const {
    plan.held = leaving.held;
    plan.gate = leaving.part > 0 ? Gate(plan.again, plan.away, leaving.part) : std::nullopt;
    return leaving.part == 0 || plan.gate.has_value();
  }

  // Whether it is within the limit.
  absl::StatusOr<bool> TryLeaving(MixedPlan plan, const Leaving& leaving) {
    return SetLeaving(leaving, plan) ? Try(std::move(plan)) : false;
  }

  // Plans of the front that cost less than `cost`, the cheapest first, evenly chosen.
  std::vector<Choice> Bases(size_t most, std::optional<int64_t> cost) const {
    std::vector<Choice> cheaper;
    for (const JudgedPlan& plan : front_.plans(BudgetLine::kLive)) {
      if (!cost || plan.score.cost < *cost) cheaper.push_back(plan.choice);
    }
    if (cheaper.size() <= most) return cheaper;
    std::vector<Choice> some;
    for (size_t i = 0; i < most; ++i) some.push_back(cheaper[i * (cheaper.size() - 1) / (most - 1)]);
    return some;
  }

  // Disjoint modules, the largest that hold no more than one of `parts` of all; none of those that `base` touches, nor
  // any that has next to nothing to move.
  Choice Movable(const Choice& base, int64_t parts) const {
    const int64_t all = profile_.baseline_peak - profile_.constant_peak;
    Choice movable;
    int32_t next = 0;
    for (int32_t c = 0; c < static_cast<int32_t>(moves_.candidates.size()); ++c) {  // by first node, longest first
      const Candidate& candidate = moves_.candidates[Index(c)];
      const int64_t moved = moves_.figures[Index(c)].saves_bytes;
      if (candidate.first < next || moved > all / parts || moved < profile_.baseline_peak / kWorthMoving) continue;
      if (Touches(base, candidate)) continue;
      movable.push_back(c);
      next = candidate.last + 1;
    }
    return movable;
  }

  bool Touches(const Choice& again, const Candidate& place) const {
    return std::any_of(again.begin(), again.end(),
                       [&](int32_t c) { return profile_.candidates[Index(c)].Overlaps(place); });
  }

  Choice Ordered(Choice movable, MoveOrder order) const {
    const size_t count = movable.size();
    if (order == MoveOrder::kLargest) {
      StableSort(movable, [&](int32_t a, int32_t b) {
        return moves_.figures[Index(a)].saves_bytes > moves_.figures[Index(b)].saves_bytes;
      });
    } else if (order == MoveOrder::kSpread) {
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

  // Of the modules that nothing uses, the last one that ends within the first `part` eighths of what lies behind
  // `away`.
  std::optional<int32_t> Gate(const Choice& base, const Choice& away, int32_t part) const {
    int32_t end = 0;
    for (int32_t c : away) end = std::max(end, moves_.candidates[Index(c)].last);
    const int32_t to = end + (static_cast<int32_t>(profile_.forward_live.size()) - end) * part / 8;
    std::optional<int32_t> best;
    for (int32_t c = 0; c < static_cast<int32_t>(moves_.candidates.size()); ++c) {  // by first node, longest first
      const Candidate& candidate = moves_.candidates[Index(c)];
      if (candidate.first <= end || candidate.last > to || Touches(base, candidate)) continue;
      if (!best || candidate.last >= moves_.candidates[Index(*best)].last) best = c;
    }
    return best;
  }

  // As few as bring it within the limit.
  absl::Status TryOrder(const Choice& base, const Choice& movable, MoveOrder order, const Leaving& leaving) {
    const Choice ordered = Ordered(movable, order);
    size_t low = 0, high = ordered.size() + 1;
    for (size_t count = std::min<size_t>(ordered.size(), (ordered.size() + 3) / 4); low + 1 < high && may_go_on_();) {
      const auto end = ordered.begin() + static_cast<std::ptrdiff_t>(count);
      MixedPlan plan{.again = base, .away = Choice(ordered.begin(), end)};
      std::sort(plan.away.begin(), plan.away.end());
      ASSIGN_OR_RETURN(const bool fits, TryLeaving(std::move(plan), leaving));
      (fits ? high : low) = count;
      count = low + (high - low) / 2;
    }
    return absl::OkStatus();
  }

  // Whether it is within the limit; the cheapest one stays.
  absl::StatusOr<bool> Try(MixedPlan plan) {
    ASSIGN_OR_RETURN(Enacted enacted, accountant_.Enact(SegmentsOf(profile_, moves_, plan)));
    const Score score = accountant_.ScoreOf(enacted);
    const bool live = front_.line() == BudgetLine::kLive;
    if ((live ? score.peak_bytes : accountant_.LeastDeviceBytes(score.peak_bytes)) > limit_) return false;
    if (cost_ && score.cost >= *cost_) return true;
    ASSIGN_OR_RETURN(plan.measured, accountant_.MeasureEnacted(std::move(enacted)));
    if (BytesOn(front_.line(), plan.measured) > limit_) return false;
    if (host_bytes_ && plan.measured.host_bytes > *host_bytes_) return true;
    cost_ = score.cost;
    best_ = std::move(plan);
    return true;
  }

  Accountant& accountant_;
  const Profile& profile_;
  const Profile& moves_;
  const Front& front_;
  int64_t limit_;
  std::optional<int64_t> cost_;
  std::optional<int64_t> host_bytes_;
  const std::function<bool()>& may_go_on_;
  std::optional<MixedPlan> best_;
};

ModulePlan Described(const FrameworkGraph& graph, const Profile& profile, const Profile& moves,
                     const MixedPlan& mixed) {
  ModulePlan plan = Described(graph, profile, mixed.again, "mixed", "");
  plan.label = absl::StrCat("host: ", LabelOf(moves, mixed.away, "modules"));
  if (!mixed.again.empty()) absl::StrAppend(&plan.label, "; again: ", LabelOf(profile, mixed.again));
  const std::vector<Segment> segments = SegmentsOf(profile, moves, mixed);
  Choice hosted = mixed.away;
  if (mixed.gate) hosted.push_back(*mixed.gate);
  ModulePlan away = Described(graph, moves, hosted, "", "");
  if (mixed.gate) away.segments.back().saves_bytes = 0;
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

}  // namespace

absl::StatusOr<std::optional<ModulePlan>> FindMixed(Accountant& accountant, const Profile& profile,
                                                    const Profile& moves, const Front& front, int64_t limit,
                                                    std::optional<int64_t> cost, std::optional<int64_t> host_bytes,
                                                    const std::function<bool()>& may_go_on) {
  ASSIGN_OR_RETURN(const std::optional<MixedPlan> found,
                   Mixer(accountant, profile, moves, front, limit, cost, host_bytes, may_go_on).Find());
  if (!found) return std::nullopt;
  return Described(accountant.lowered().graph, profile, moves, *found);
}

}  // namespace onnx_mem
