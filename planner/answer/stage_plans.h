// Plans of the stages of a pipeline, one search each, put together into plans of the whole.
#ifndef ONNX_MEM_PLANNER_ANSWER_STAGE_PLANS_H_
#define ONNX_MEM_PLANNER_ANSWER_STAGE_PLANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "planner/answer/rank_plans.h"
#include "planner/answer/rank_stages.h"
#include "planner/measure/accountant.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// A rank, and the plans that were found for it.
struct PlannedRank {
  int64_t rank = 0;
  std::string module;  // at which its stage begins; of several stages all of them
  std::vector<PlannedStage> stages;
  EnactStages enact;
  std::vector<ModulePlan> plans = {};  // by falling bytes

  const Accountant& accountant() const { return stages.front().accountant; }
};

class StagePlans {
 public:
  // Both outlive this.
  StagePlans(const PlanRequest& request, const PlanOneCard& plan_one_card)
      : request_(request), plan_one_card_(plan_one_card) {}

  // Searches plans of the rank's stages; `ranks`: that share the time.
  absl::Status AddRank(PlannedRank rank, const std::vector<std::string>& across, int64_t ranks);

  // Curve, choice and status.
  PlanAnswer Answer() const;

  // What each rank has of `plan`, one of the answer's; nullptr: none was chosen.
  std::vector<StageNeed> NeedsWith(const ModulePlan* plan) const;

 private:
  using Picks = std::vector<const ModulePlan*>;  // one per rank

  int64_t BytesOfPlan(const ModulePlan& plan) const;
  int64_t CostOfPlan(const ModulePlan& plan) const;
  std::vector<ModulePlan> Plans() const;
  Picks Given() const;
  // Bytes that some rank can take, evenly spread, and the budget.
  std::vector<int64_t> Levels() const;
  // Of each rank the cheapest plan within `level`; empty: one has none.
  Picks Within(int64_t level) const;
  ModulePlan Together(const Picks& picks, std::string method) const;
  // Bytes of the rank that needs most, as the analysis has them; costs of all stages.
  Measured MeasuredOf(const Picks& picks) const;

  const PlanRequest& request_;
  const PlanOneCard& plan_one_card_;
  std::vector<PlannedRank> ranks_;
  bool left_negligible_ = false;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_STAGE_PLANS_H_
