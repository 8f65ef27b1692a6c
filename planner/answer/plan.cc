// One request, one or several classes of plans.
#include "planner/measure/plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "planner/answer/answer_proof.h"
#include "planner/answer/one_class.h"
#include "planner/answer/pipeline_plans.h"
#include "planner/answer/rank_plans.h"
#include "planner/measure/accountant.h"
#include "planner/measure/effort.h"
#include "planner/search/curve.h"
#include "planner/search/front.h"
#include "planner/search/proof.h"
#include "planner/search/proposals.h"

namespace onnx_mem {
namespace {

absl::Status CheckMethod(const std::string& method) {
  const std::vector<std::string> known = MethodNames();
  if (std::find(known.begin(), known.end(), method) != known.end()) return absl::OkStatus();
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUnknownMethod,
                     absl::StrCat("'", method, "' is not a planning method"),
                     {absl::StrCat("known: ", absl::StrJoin(known, ", "))});
}

// Plans of a curve that hold their place on another.
std::vector<ModulePlan> Found(std::vector<ModulePlan> plans) {
  std::erase_if(plans, [](const ModulePlan& plan) { return plan.segments.empty() || plan.dominated; });
  for (ModulePlan& plan : plans) {
    if (plan.method == "hand") plan.method = "dag";  // the other curve has its own
  }
  return plans;
}

// Searches of one request for several classes of plans: the model is lowered, enacted and traced once for all.
class Searches {
 public:
  Searches(const PlanRequest& request, Accountant& accountant, Prover& prover)
      : request_(request), accountant_(accountant), prover_(prover) {}

  absl::StatusOr<PlanAnswer> Modules() {
    ASSIGN_OR_RETURN(PlanAnswer answer, With(request_));
    // Where no schedule at all fits, or no segments of any kind, a finer class only tells how near it comes: of a large
    // model that takes too long.
    const bool no_segments =
        answer.class_bound && request_.budget_bytes && answer.class_bound->constant_bytes > *request_.budget_bytes;
    const bool hopeless = (answer.infeasible_class == kAnySchedule || no_segments) && !answer.chosen &&
                          Effort(request_, accountant_).IsSmall();
    if (!answer.chosen && answer.left_negligible && !hopeless) {  // then every byte counts
      PlanRequest all = request_;
      all.negligible = true;
      ASSIGN_OR_RETURN(answer, With(all));
    }
    if (!answer.chosen && !request_.plans_alone && !request_.for_finer && !hopeless) {
      PlanRequest finer = request_;
      finer.granularity = Granularity::kOp;
      finer.given.clear();
      ASSIGN_OR_RETURN(PlanAnswer other, With(finer));
      answer.with_op = other.chosen ? other.plans[*other.chosen] : LeastOf(other.plans);
    }
    return answer;
  }

  // Plans of coarser kinds are a choice of a finer one too: it answers no worse than any of them.
  absl::StatusOr<PlanAnswer> Finer() {
    // What moves to the host has limits of its own. Plans with kept modules are no finer than by a little.
    if (request_.granularity == Granularity::kCall && !request_.offload)
      return PlanOneClass(request_, accountant_, prover_, [this](const Front& finest) { return Coarser(&finest); });
    ASSIGN_OR_RETURN(std::vector<ModulePlan> found, Coarser(nullptr));
    return With(request_, std::move(found));
  }

 private:
  // `finest`: without those that a plan of it is proven to beat.
  absl::StatusOr<std::vector<ModulePlan>> Coarser(const Front* finest) {
    std::vector<ModulePlan> found;
    for (const Granularity kind : {Granularity::kModule, Granularity::kOp}) {
      if (kind == request_.granularity) break;
      PlanRequest coarser = request_;
      coarser.granularity = kind;
      coarser.for_finer = true;
      coarser.given.clear();
      ASSIGN_OR_RETURN(PlanAnswer answer, With(coarser, std::move(found), finest));
      found = Found(std::move(answer.plans));
    }
    return found;
  }

  absl::StatusOr<PlanAnswer> With(const PlanRequest& request, std::vector<ModulePlan> others = {},
                                  const Front* finer = nullptr) {
    return PlanOneClass(request, accountant_, prover_, [&](const Front&) { return std::move(others); }, finer);
  }

  const PlanRequest& request_;
  Accountant& accountant_;
  Prover& prover_;
};

absl::StatusOr<PlanAnswer> PlanOneCardStep(const PlanRequest& request, Accountant& accountant) {
  const bool any_schedule = !request.plans_alone && !request.for_finer;
  ASSIGN_OR_RETURN(Prover prover, Prover::Create(accountant, request.cost_line, request.budget_line, any_schedule));
  Searches searches(request, accountant, prover);
  return request.granularity == Granularity::kModule ? searches.Modules() : searches.Finer();
}

}  // namespace

std::vector<std::string> MethodNames() {
  std::vector<std::string> names = {"auto", "none"};
  for (const ProposalRow& row : ProposalRows()) names.emplace_back(row.name);
  names.emplace_back("dag");
  return names;
}

absl::StatusOr<PlanAnswer> PlanModel(Study& study, const Workload& workload, const PlanRequest& request) {
  RETURN_IF_ERROR(CheckMethod(request.method));
  if (IsPipeline(workload.layout)) return PlanPipeline(study, workload, request, PlanOneCardStep);
  if (IsSpread(workload.layout)) return PlanRanks(study, workload, request, PlanOneCardStep);
  ASSIGN_OR_RETURN(Accountant accountant, Accountant::Create(study, workload, request.clock, request.cost_line));
  return PlanOneCardStep(request, accountant);
}

}  // namespace onnx_mem
