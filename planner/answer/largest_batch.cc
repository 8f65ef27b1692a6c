#include "planner/answer/largest_batch.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "analyzer/graph/status_macros.h"
#include "planner/calls/call_class.h"
#include "planner/measure/accountant.h"
#include "planner/measure/candidates.h"
#include "planner/measure/effort.h"
#include "planner/search/device_bound.h"
#include "planner/search/proof.h"
#include "planner/search/segment_bound.h"

namespace onnx_mem {
namespace {

// A quick look at each batch on the way; the plan for the one that is found is sought with full effort.
constexpr int64_t kProbeIterations = 60;
constexpr int64_t kProbeWork = kDefaultWork / 3;  // in enactments times nodes
constexpr double kBoundSeconds = 0.2;

using Fits = std::function<absl::StatusOr<bool>(int64_t batch)>;

// The largest batch >= `known` that fits, where a larger one never fits if a smaller does not; `known` is taken to fit.
absl::StatusOr<int64_t> Largest(int64_t known, const Fits& fits) {
  int64_t low = known, high = std::max<int64_t>(1, 2 * known);
  while (high <= kMostBatch) {
    ASSIGN_OR_RETURN(const bool fit, fits(high));
    if (!fit) break;
    low = high;
    high *= 2;
  }
  high = std::min(high, kMostBatch + 1);
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const bool fit, fits(middle));
    (fit ? low : high) = middle;
  }
  return low;
}

class BatchFinder {
 public:
  BatchFinder(Study& study, const Workload& workload, const PlanRequest& request)
      : study_(study), workload_(workload), request_(request) {
    request_.given.clear();
    request_.plans_alone = true;
  }

  absl::StatusOr<LargestBatch> Find() {
    LargestBatch largest;
    ASSIGN_OR_RETURN(largest.without_plan, Largest(0, [&](int64_t batch) { return FitsAsItIs(batch); }));
    ASSIGN_OR_RETURN(largest.batch, Largest(largest.without_plan, [&](int64_t batch) { return FitsWithPlan(batch); }));
    // Nothing is proven of a rank's step.
    if (largest.batch >= kMostBatch || IsSpread(workload_.layout)) return largest;
    ASSIGN_OR_RETURN(const int64_t in_class,
                     Largest(largest.batch, [&](int64_t batch) { return IsPossibleInClass(batch); }));
    if (in_class < kMostBatch) largest.class_bound = in_class;
    ASSIGN_OR_RETURN(const int64_t possible, Largest(in_class, [&](int64_t batch) { return IsPossible(batch); }));
    if (possible < kMostBatch) largest.bound = possible;
    return largest;
  }

  std::optional<SmallerBatch> FindSmaller(int64_t batch, int tries) {
    std::optional<SmallerBatch> found;
    // What one sample cannot do, no batch can: then each of them would be looked at for nothing.
    const absl::StatusOr<bool> at_all = Leaves(1);
    if (!at_all.ok() || !*at_all) return found;
    for (int64_t low = 0, high = batch; tries > 0 && high - low > 1; --tries) {
      const int64_t middle = low + (high - low) / 2;
      absl::StatusOr<std::optional<ModulePlan>> plan = PlanFor(middle);
      if (!plan.ok()) break;
      const bool fits = plan->has_value();
      if (fits) found = SmallerBatch{middle, **std::move(plan)};
      (fits ? low : high) = middle;
    }
    return found;
  }

 private:
  absl::StatusOr<Accountant> Account(int64_t batch) {
    workload_.bindings.batch = batch;
    return Accountant::Create(study_, workload_, request_.clock, request_.cost_line);
  }

  bool Fits(const Accountant& accountant) const {
    const RunFigures& figures = accountant.baseline_figures();
    return (request_.budget_line == BudgetLine::kDevice ? figures.device_bytes : figures.peak_bytes) <=
           *request_.budget_bytes;
  }

  absl::StatusOr<bool> FitsAsItIs(int64_t batch) {
    ASSIGN_OR_RETURN(const Accountant accountant, Account(batch));
    return Fits(accountant);
  }

  // The optimizer's own steps leave room for the step: no plan changes those.
  bool Leaves(const Accountant& accountant) const {
    return accountant.optimizer_peak_bytes() <= AllowedLive(accountant);
  }

  absl::StatusOr<bool> Leaves(int64_t batch) {
    ASSIGN_OR_RETURN(const Accountant accountant, Account(batch));
    return Leaves(accountant);
  }

  absl::StatusOr<std::optional<ModulePlan>> PlanFor(int64_t batch) {
    ASSIGN_OR_RETURN(Accountant accountant, Account(batch));
    if (Fits(accountant)) {
      ModulePlan plan;
      plan.method = plan.label = "none";
      ASSIGN_OR_RETURN(plan.measured, accountant.MeasureBaseline());
      return plan;
    }
    if (!Leaves(accountant)) return std::nullopt;
    const auto nodes = static_cast<int64_t>(accountant.lowered().graph.nodes.size());
    request_.iteration_limit = std::clamp(kProbeWork / std::max<int64_t>(nodes, 1), kHandful, kProbeIterations);
    ASSIGN_OR_RETURN(PlanAnswer answer, PlanModel(study_, workload_, request_));
    if (!answer.chosen) return std::nullopt;
    return std::move(answer.plans[*answer.chosen]);
  }

  absl::StatusOr<bool> FitsWithPlan(int64_t batch) {
    ASSIGN_OR_RETURN(const std::optional<ModulePlan> plan, PlanFor(batch));
    return plan.has_value();
  }

  int64_t AllowedLive(const Accountant& accountant) const {
    return *request_.budget_bytes - (request_.budget_line == BudgetLine::kDevice ? accountant.LeastDeviceBytes(0) : 0);
  }

  absl::StatusOr<bool> IsPossibleInClass(int64_t batch) {
    ASSIGN_OR_RETURN(const Accountant accountant, Account(batch));
    ASSIGN_OR_RETURN(const Prover prover,
                     Prover::Create(accountant, request_.cost_line, request_.budget_line, /*any_schedule=*/false));
    CandidateSet candidates = FindCandidates(accountant.lowered(), request_.granularity);
    // What calls keep only adds to what a range that keeps nothing takes.
    const bool calls = request_.granularity == Granularity::kCall && candidates.by_module;
    if (calls) candidates.list = RangesOfClass(accountant.lowered(), candidates);
    const std::optional<SegmentLimits> limits = prover.LimitSegments(candidates.list);
    if (limits && SegmentBound(*limits).Floor() > AllowedLive(accountant)) return false;
    if (request_.budget_line == BudgetLine::kLive) return true;
    const std::optional<DeviceBound> device = DeviceBound::Create(accountant, prover, candidates.list);
    return !device || device->Floor() <= *request_.budget_bytes;
  }

  absl::StatusOr<bool> IsPossible(int64_t batch) {
    ASSIGN_OR_RETURN(const Accountant accountant, Account(batch));
    ASSIGN_OR_RETURN(Prover prover, Prover::Create(accountant, request_.cost_line, request_.budget_line));
    ASSIGN_OR_RETURN(const ProvenBound bound,
                     prover.BoundFor({AllowedLive(accountant), /*schedules=*/false, kBoundSeconds, 0}));
    return !bound.infeasible;
  }

  Study& study_;
  Workload workload_;
  PlanRequest request_;
};

}  // namespace

absl::StatusOr<LargestBatch> FindLargestBatch(Study& study, const Workload& workload, const PlanRequest& request) {
  return BatchFinder(study, workload, request).Find();
}

std::optional<SmallerBatch> FindSmallerBatch(Study& study, const Workload& workload, const PlanRequest& request,
                                             int64_t batch, int tries) {
  return BatchFinder(study, workload, request).FindSmaller(batch, tries);
}

}  // namespace onnx_mem
