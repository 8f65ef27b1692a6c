#include "planner/answer/near_plans.h"

#include <optional>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "planner/answer/curve_plans.h"
#include "planner/search/curve.h"

namespace onnx_mem {
namespace {

// Plans that are tried on a card of the budget's size: each runs several steps through the allocator.
constexpr int kMostCards = 24;

class NearPlans {
 public:
  NearPlans(const PlanRequest& request, Accountant& accountant, const Profile& profile)
      : request_(request), accountant_(accountant), profile_(profile) {}

  absl::Status Add(const Front& front, PlanAnswer& answer) {
    if (!request_.budget_bytes || request_.budget_line != BudgetLine::kDevice) return absl::OkStatus();
    if (accountant_.workload().allocator != "pytorch") return absl::OkStatus();
    int cards = 0;
    for (const JudgedPlan& judged : front.plans(BudgetLine::kLive)) {
      if (answer.chosen && judged.score.cost >= CostOn(request_.cost_line, answer.plans[*answer.chosen].measured))
        break;
      if (accountant_.LeastDeviceBytes(judged.score.peak_bytes) > *request_.budget_bytes) continue;
      const bool card = !answer.on_such_a_card && cards < kMostCards;
      if (answer.with_expandable_segments && !card) continue;
      ASSIGN_OR_RETURN(const Enacted enacted, accountant_.Enact(SegmentsOf(profile_, judged.choice)));
      if (!answer.with_expandable_segments) RETURN_IF_ERROR(TryExpandable(judged, enacted, answer));
      if (!card) continue;
      ++cards;
      RETURN_IF_ERROR(TryCard(judged, enacted, front.MeasuredOf(judged.choice), answer));
    }
    return absl::OkStatus();
  }

 private:
  bool TooDear(const Measured& measured) const {
    return request_.max_slowdown && measured.slowdown > *request_.max_slowdown;
  }

  absl::Status TryExpandable(const JudgedPlan& judged, const Enacted& enacted, PlanAnswer& answer) {
    ASSIGN_OR_RETURN(const Measured measured, accountant_.MeasureWith(kExpandable, enacted));
    if (measured.device_bytes > *request_.budget_bytes || TooDear(measured)) return absl::OkStatus();
    answer.with_expandable_segments = AsPlan(accountant_, profile_, judged);
    answer.with_expandable_segments->measured = measured;
    return absl::OkStatus();
  }

  // `known`: what was measured of it on a larger card.
  absl::Status TryCard(const JudgedPlan& judged, const Enacted& enacted, const std::optional<Measured>& known,
                       PlanAnswer& answer) {
    ASSIGN_OR_RETURN(const auto run, accountant_.RunWithin(*request_.budget_bytes, enacted));
    const bool note = !answer.chosen && !answer.fits_but_fragments;
    if (!run && !note) return absl::OkStatus();
    ModulePlan plan = AsPlan(accountant_, profile_, judged);
    if (known) {
      plan.measured = *known;
    } else {
      ASSIGN_OR_RETURN(plan.measured, accountant_.MeasureEnacted(enacted));
    }
    if (TooDear(plan.measured)) return absl::OkStatus();
    if (note && accountant_.LeastDeviceBytes(plan.measured.allocated_peak_bytes) <= *request_.budget_bytes) {
      answer.fits_but_fragments = plan;
    }
    if (run) answer.on_such_a_card = PlanAnswer::OnSuchACard{std::move(plan), *run};
    return absl::OkStatus();
  }

  const PlanRequest& request_;
  Accountant& accountant_;
  const Profile& profile_;
};

}  // namespace

absl::Status AddNearPlans(const PlanRequest& request, Accountant& accountant, const Profile& profile,
                          const Front& front, PlanAnswer& answer) {
  return NearPlans(request, accountant, profile).Add(front, answer);
}

}  // namespace onnx_mem
