// The plans of an answer: those of the front that stand on the curve, conventions, the given one, and those in which
// modules also go to the host.
#ifndef ONNX_MEM_PLANNER_ANSWER_CURVE_PLANS_H_
#define ONNX_MEM_PLANNER_ANSWER_CURVE_PLANS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/answer/host_plans.h"
#include "planner/measure/accountant.h"
#include "planner/measure/plan.h"
#include "planner/measure/profile.h"
#include "planner/search/front.h"

namespace onnx_mem {

// A plan of the front, all but its measured figures.
ModulePlan AsPlan(const Accountant& accountant, const Profile& profile, const JudgedPlan& judged);

class CurvePlans {
 public:
  // All outlive this. `plans`: that were found and measured elsewhere.
  CurvePlans(const PlanRequest& request, Accountant& accountant, const Profile& profile, std::vector<ModulePlan> plans)
      : request_(request), accountant_(accountant), profile_(profile), plans_(std::move(plans)) {}

  // Those of the front that are far enough from each other to be shown, and the one within the budget.
  absl::Status Add(const Front& front);
  absl::Status AddGiven();
  // Plans in which modules, or of segments with kept calls single tensors, also go to the host: for the budget, else
  // for a row of limits. `moves`: of MovesOf; `calls`: where the front is of such segments.
  absl::Status AddMixed(const Front& front, const Profile& moves, const CallRanges* calls);

  std::vector<ModulePlan> Take() { return std::move(plans_); }

 private:
  absl::StatusOr<ModulePlan> MeasuredPlan(const Choice& choice, std::string method, std::string label,
                                          const std::optional<Measured>& known = std::nullopt);
  absl::StatusOr<ModulePlan> MeasuredPlan(const JudgedPlan& judged);
  absl::Status AddConventional(const Choice& choice, std::string label, const Front& front);

  const PlanRequest& request_;
  Accountant& accountant_;
  const Profile& profile_;
  std::vector<ModulePlan> plans_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_CURVE_PLANS_H_
