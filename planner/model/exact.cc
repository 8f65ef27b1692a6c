#include "planner/model/exact.h"

#include <algorithm>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "planner/model/cheapest_first.h"

namespace onnx_mem {
namespace {

constexpr int64_t kRow = 32;

// Least cost of a plan on the front within `budget`.
std::optional<int64_t> CostWithin(const Front& front, int64_t budget) {
  for (const JudgedPlan& plan : front.plans(front.line())) {
    if (BytesOn(front.line(), plan.score) <= budget) return plan.score.cost;
  }
  return std::nullopt;
}

}  // namespace

Exact::Exact(const Prover& prover, const Profile& profile) : candidates_(static_cast<int64_t>(profile.candidates.size())) {
  if (std::optional<SegmentLimits> limits = prover.LimitSegments(profile.candidates)) bound_.emplace(*std::move(limits));
}

absl::Status Exact::TryRow(int64_t baseline_peak, const std::function<bool()>& may_go_on, Front& front) {
  if (!bound_) return absl::OkStatus();
  const int64_t floor = bound_->Floor();
  for (int64_t i = 0; i < kRow && may_go_on(); ++i) {
    CheapestFirst sets(*bound_, floor + (baseline_peak - floor) * i / kRow);
    if (const auto set = sets.Next()) RETURN_IF_ERROR(front.Try(set->ranges, "chain"));
  }
  return absl::OkStatus();
}

absl::Status Exact::Complete(int64_t live_limit, int64_t budget, const std::function<bool()>& may_go_on, Front& front) {
  if (!bound_) return absl::OkStatus();
  CheapestFirst sets(*bound_, live_limit);
  const auto may_better = [&] {
    const std::optional<int64_t> least = sets.LeastCost(), now = CostWithin(front, budget);
    return least && (!now || *least < *now);
  };
  while (may_better() && may_go_on()) {
    const auto set = sets.Next();
    if (!set) break;
    RETURN_IF_ERROR(front.Try(set->ranges, "chain"));
  }
  completed_limit_ = live_limit;
  completed_cost_ = sets.LeastCost();
  return absl::OkStatus();
}

std::optional<int64_t> Exact::LeastCost(int64_t limit) const {
  if (completed_limit_ == limit) return completed_cost_;
  return bound_->LeastCost(limit);
}

}  // namespace onnx_mem
