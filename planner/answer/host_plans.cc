#include "planner/answer/host_plans.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "planner/code/describe.h"
#include "planner/search/curve.h"
#include "planner/search/exact.h"
#include "planner/search/front.h"

namespace onnx_mem {
namespace {

// Shares of both ways of a copy.
constexpr double kShares[] = {0.05, 0.3, 1.0};
// Blocks in one segment: all that a segment moves comes back while the one behind it runs its backward.
constexpr size_t kLengths[] = {1, 3};
// Enactments with each price.
constexpr int64_t kWorkOfOne = 24;

class HostSearch {
 public:
  HostSearch(Accountant& accountant, BudgetLine line, int64_t limit, std::optional<int64_t> cost,
             std::optional<int64_t> host_bytes, const std::function<bool()>& may_go_on)
      : accountant_(accountant),
        line_(line),
        limit_(limit),
        cost_(cost),
        host_bytes_(host_bytes),
        may_go_on_(may_go_on) {}

  absl::Status With(const CallRanges& ranges, size_t longest, double share) {
    std::vector<Candidate> list = ranges.list;
    std::erase_if(list, [&](const Candidate& range) { return range.segment.modules.size() > longest; });
    const RooflineCard& card = accountant_.clock().card;
    const LinkPrice link{2e9 * share / card.link_bandwidth, 2 * card.launch_ns};
    std::optional<CallClass> found =
        FindCallClass(accountant_, ranges.trace, ranges.limits_of, std::move(list), CostLine::kTime, link);
    if (!found || found->profile.candidates.empty()) return absl::OkStatus();
    Front front(accountant_, found->profile, line_);
    RETURN_IF_ERROR(front.Try({}, "none"));
    Exact exact(found->profile, found->limits, found->limits);
    const int64_t overhead = line_ == BudgetLine::kDevice ? accountant_.LeastDeviceBytes(0) : 0;
    const int64_t until = accountant_.work() + kWorkOfOne;
    RETURN_IF_ERROR(exact.TryNear(
        limit_, line_, overhead, accountant_.baseline_figures().peak_bytes,
        [&] { return may_go_on_() && accountant_.work() < until; }, front));
    for (const JudgedPlan& plan : front.plans(line_)) {  // cheapest first
      if (BytesOn(line_, plan.score) > limit_) continue;
      if (plan.choice.empty()) break;
      ASSIGN_OR_RETURN(const bool taken, Consider(found->profile, plan.choice));
      if (taken || !host_bytes_) break;  // a dearer one may have less there
    }
    return absl::OkStatus();
  }

  std::optional<ModulePlan> Take() { return std::move(best_); }

 private:
  // As the search has it, each segment waiting for its own copies; and with all but the last leaving later, beside what
  // runs behind them. Whether either is the best so far.
  absl::StatusOr<bool> Consider(const Profile& profile, const Choice& choice) {
    ModulePlan plan = Described(accountant_.lowered().graph, profile, choice, "mixed",
                                absl::StrCat(LabelOf(profile, choice), " with tensors on the host"));
    ASSIGN_OR_RETURN(const bool waiting, Judge(plan));
    PlannedSegment* last = nullptr;
    for (PlannedSegment& planned : plan.segments) {
      if (!planned.segment.moves_some()) continue;
      if (last != nullptr) last->segment.offload = Offload::kOverlapped;
      last = &planned;
    }
    if (last == nullptr) return waiting;
    ASSIGN_OR_RETURN(const bool overlapped, Judge(plan));
    return waiting || overlapped;
  }

  absl::StatusOr<bool> Judge(ModulePlan& plan) {
    std::vector<Segment> segments;
    for (const PlannedSegment& planned : plan.segments) segments.push_back(planned.segment);
    ASSIGN_OR_RETURN(plan.measured, accountant_.Measure(segments));
    const int64_t cost = CostOn(CostLine::kTime, plan.measured);
    const int64_t bytes = line_ == BudgetLine::kDevice ? plan.measured.device_bytes : plan.measured.peak_bytes;
    if (bytes > limit_ || (cost_ && cost >= *cost_)) return false;
    if (host_bytes_ && plan.measured.host_bytes > *host_bytes_) return false;
    cost_ = cost;
    best_ = plan;
    DealOut(cost, *best_);
    return true;
  }

  // What the plan costs, to its segments by what the search took each to cost.
  static void DealOut(int64_t cost, ModulePlan& plan) {
    double priced = 0;
    for (const PlannedSegment& planned : plan.segments) priced += static_cast<double>(planned.cost);
    if (priced <= 0) return;
    for (PlannedSegment& planned : plan.segments) {
      planned.cost = static_cast<int64_t>(static_cast<double>(cost) * (static_cast<double>(planned.cost) / priced));
    }
  }

  Accountant& accountant_;
  const BudgetLine line_;
  const int64_t limit_;
  std::optional<int64_t> cost_;
  const std::optional<int64_t> host_bytes_;
  const std::function<bool()>& may_go_on_;
  std::optional<ModulePlan> best_;
};

}  // namespace

absl::StatusOr<std::optional<ModulePlan>> FindHosted(Accountant& accountant, const CallRanges& ranges, BudgetLine line,
                                                     int64_t limit, std::optional<int64_t> cost,
                                                     std::optional<int64_t> host_bytes,
                                                     const std::function<bool()>& may_go_on) {
  if (accountant.clock().card.link_bandwidth <= 0) return std::nullopt;
  HostSearch search(accountant, line, limit, cost, host_bytes, may_go_on);
  for (const size_t longest : kLengths) {
    for (const double share : kShares) {
      if (may_go_on()) RETURN_IF_ERROR(search.With(ranges, longest, share));
    }
  }
  return search.Take();
}

}  // namespace onnx_mem
