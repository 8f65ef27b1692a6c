#include "planner/answer/answer_proof.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "planner/search/curve.h"
#include "planner/search/device_bound.h"

namespace onnx_mem {
namespace {

// For the bound and the schedules that it is held against: of the time limit, or of so many seconds without one.
constexpr double kProofShare = 0.25;
constexpr double kUnlimitedSeconds = 2.0;
constexpr int64_t kProofIterations = 300;

// A measured plan that costs less than is proven shows that the proof is wrong: the plan stands, the bound does not.
Diagnostic BoundWithdrawnNote() {
  return {.code = Code::kBoundWithdrawn,
          .severity = Severity::kWarning,
          .message = "the plan costs less than was proven: no bound is given",
          .details = {"why: a bug of the proof. The plan and its figures were measured, and hold",
                      "way out: use the plan; please report the model, or its record"}};
}

class AnswerProof {
 public:
  AnswerProof(const PlanRequest& request, const Accountant& accountant, const Exact& exact,
              std::optional<DeviceBound> device)
      : request_(request), accountant_(accountant), exact_(exact), device_(std::move(device)) {}

  absl::Status Prove(Prover& prover, PlanAnswer& answer) const {
    answer.minimum_bytes = OnLine(prover.minimum().bytes);
    answer.minimum_why = prover.minimum().why;
    const Measured& chosen = answer.chosen ? answer.plans[*answer.chosen].measured : answer.baseline;
    // Alive, or on the device's line handed out by the allocator.
    const bool handed_out = request_.budget_line == BudgetLine::kDevice;
    const int64_t limit = request_.budget_bytes ? *request_.budget_bytes - OnLine(0)
                          : handed_out          ? chosen.allocated_peak_bytes
                                                : chosen.peak_bytes;
    ProvenBound bound;
    if (!answer.chosen || CostOn(request_.cost_line, chosen) > 0) {
      // Schedules are looked for while time lasts: not where the answer must be the same on any machine.
      const bool stopped = request_.stop != nullptr && *request_.stop;
      const bool schedules = !stopped && request_.iteration_limit == 0;
      const double seconds = schedules
                                 ? kProofShare * (request_.time_limit_s > 0 ? request_.time_limit_s : kUnlimitedSeconds)
                                 : request_.time_limit_s;
      ASSIGN_OR_RETURN(bound, prover.BoundFor({limit, schedules, seconds, kProofIterations}));
    }
    if (bound.infeasible && !bound.why.empty()) answer.minimum_why = bound.why;
    FillBound(bound, answer);
    // What is alive is less than what is handed out.
    if (exact_.has_bound()) FillClassBound(limit, bound.cost, answer);
    if (!answer.chosen) FillStatus(bound, /*below_minimum=*/limit < prover.minimum().bytes, answer);
    return absl::OkStatus();
  }

 private:
  // `live_bytes` on the budget's line, at least.
  int64_t OnLine(int64_t live_bytes) const {
    return request_.budget_line == BudgetLine::kDevice ? accountant_.LeastDeviceBytes(live_bytes) : live_bytes;
  }

  double GapOf(int64_t cost, int64_t bound) const {
    return cost > bound ? static_cast<double>(cost - bound) / (accountant_.StepCost() + static_cast<double>(cost)) : 0;
  }

  void FillBound(const ProvenBound& bound, PlanAnswer& answer) const {
    const bool time = request_.cost_line == CostLine::kTime;
    int64_t& least = time ? answer.lower_bound_recompute_ns : answer.lower_bound_recompute_flops;
    least = bound.cost;
    if (bound.best) {
      answer.any_schedule.emplace();
      answer.any_schedule->peak_bytes = bound.best->peak_bytes;
      (time ? answer.any_schedule->recompute_ns : answer.any_schedule->recompute_flops) = bound.best->cost;
      answer.any_schedule->slowdown = static_cast<double>(bound.best->cost) / accountant_.StepCost();
      answer.any_schedule->optimal = bound.best->optimal;
    }
    if (!answer.chosen) return;
    const int64_t cost = CostOn(request_.cost_line, answer.plans[*answer.chosen].measured);
    if ((bound.infeasible || cost < bound.cost) && !accountant_.HasOwnSegments()) {
      answer.diagnostics.push_back(BoundWithdrawnNote());
      least = 0;
    }
    answer.optimal = cost == least;
    answer.gap = GapOf(cost, least);
    if (answer.optimal) answer.optimal_class = kAnySchedule;
  }

  // `any_cost`: no schedule of any kind costs less, so no set of segments does. The class's own bound takes what each
  // range frees at most for free of all others, which is weak where neighbours hold the same; this one knows no calls
  // of checkpoint, which is weak where they cost much.
  void FillClassBound(int64_t live_limit, int64_t any_cost, PlanAnswer& answer) const {
    ClassBound& in_class = answer.class_bound.emplace();
    in_class.name = absl::StrCat(std::string(NameOf(request_.granularity)), "-level segments");
    in_class.candidates = exact_.candidates();
    in_class.floor_bytes = std::max(OnLine(exact_.Floor()), device_ ? device_->Floor() : 0);
    in_class.constant_bytes = OnLine(exact_.Constant());
    in_class.cost = exact_.LeastCost(live_limit);
    if (device_ && request_.budget_bytes && in_class.cost) {
      const std::optional<int64_t> cost = device_->LeastCost(*request_.budget_bytes);
      in_class.cost = cost ? std::optional(std::max(*in_class.cost, *cost)) : std::nullopt;
    }
    if (in_class.cost) in_class.cost = std::max(*in_class.cost, any_cost);
    for (PlanAnswer::MethodResult& method_result : answer.method_results) {
      if (method_result.cost) method_result.gap = GapOf(*method_result.cost, in_class.cost.value_or(0));
    }
    if (answer.chosen) FillGap(answer.plans[*answer.chosen], in_class, answer);
  }

  // Each of its segments is a candidate; where calls are kept one by one, whatever it keeps.
  bool IsOfClass(const ModulePlan& plan) const {
    const bool any_keep = request_.granularity == Granularity::kCall;
    const auto is_candidate = [&](const PlannedSegment& planned) {
      const Segment& segment = planned.segment;
      return std::any_of(exact_.list().begin(), exact_.list().end(), [&](const Candidate& candidate) {
        const Segment& other = candidate.segment;
        const bool keeps = any_keep || (segment.keep == other.keep && !segment.by_call());
        return keeps && segment.modules == other.modules && segment.nodes == other.nodes;
      });
    };
    return std::all_of(plan.segments.begin(), plan.segments.end(), is_candidate);
  }

  // A plan of another class (given, or of longer segments) may cost less than is proven of this one.
  void FillGap(const ModulePlan& chosen, ClassBound& in_class, PlanAnswer& answer) const {
    const int64_t cost = CostOn(request_.cost_line, chosen.measured);
    if (!in_class.cost || cost < *in_class.cost) {
      const bool wrong = IsOfClass(chosen);
      if (wrong) answer.diagnostics.push_back(BoundWithdrawnNote());
      in_class.cost = wrong ? 0 : cost;
    }
    in_class.gap = GapOf(cost, *in_class.cost);
    if (answer.optimal || cost > *in_class.cost) return;
    answer.optimal = true;
    answer.optimal_class = in_class.name;
  }

  // The bounds are of second runs. Of what moves to the host only this is proven: it is back where it is needed.
  void FillStatus(const ProvenBound& bound, bool below_minimum, PlanAnswer& answer) const {
    if (request_.offload && !below_minimum) {
      answer.status = PlanStatus::kNotFound;
      return;
    }
    answer.status = PlanStatus::kInfeasible;
    const auto too_dear = [&](int64_t cost) {
      return request_.max_slowdown && static_cast<double>(cost) > *request_.max_slowdown * accountant_.StepCost();
    };
    if (bound.infeasible || too_dear(bound.cost)) {
      answer.infeasible_class = kAnySchedule;
    } else if (answer.class_bound && (!answer.class_bound->cost || too_dear(*answer.class_bound->cost))) {
      answer.infeasible_class = answer.class_bound->name;
    } else {
      answer.status = PlanStatus::kNotFound;
    }
  }

  const PlanRequest& request_;
  const Accountant& accountant_;
  const Exact& exact_;
  std::optional<DeviceBound> device_;
};

}  // namespace

Diagnostic PlanOverLimitNote(bool another_is_chosen) {
  return {.code = Code::kPlanOverLimit,
          .severity = Severity::kWarning,
          .message = another_is_chosen ? "the given plan does not keep the limits: another one is chosen"
                                       : "the given plan does not keep the limits"};
}

absl::Status ProveAnswer(const PlanRequest& request, const Accountant& accountant, Prover& prover, const Exact& exact,
                         PlanAnswer& answer) {
  std::optional<DeviceBound> device;
  // A range's own limits on the device do not tell what it keeps.
  const bool whole = request.granularity != Granularity::kCall;
  if (whole && request.budget_line == BudgetLine::kDevice)
    device = DeviceBound::Create(accountant, prover, exact.list());
  return AnswerProof(request, accountant, exact, std::move(device)).Prove(prover, answer);
}

int64_t OptimizerBound(const Accountant& accountant, BudgetLine line) {
  const int64_t live_bytes = accountant.optimizer_peak_bytes();
  return line == BudgetLine::kDevice ? accountant.LeastDeviceBytes(live_bytes) : live_bytes;
}

void SettleByOptimizer(const PlanRequest& request, int64_t least_bytes, PlanAnswer& answer) {
  answer.minimum_bytes = least_bytes;
  answer.minimum_why = "the optimizer's step";
  if (answer.chosen) {
    const Measured& chosen = answer.plans[*answer.chosen].measured;
    answer.status = PlanStatus::kFeasible;
    answer.optimal = CostOn(request.cost_line, chosen) == 0;
    if (answer.optimal) answer.optimal_class = kAnySchedule;
    answer.gap = chosen.slowdown / (1 + chosen.slowdown);  // to no recomputation at all
    return;
  }
  const bool proven = request.budget_bytes && least_bytes > *request.budget_bytes;
  answer.status = proven ? PlanStatus::kInfeasible : PlanStatus::kNotFound;
  if (proven) answer.infeasible_class = kAnySchedule;
}

}  // namespace onnx_mem
