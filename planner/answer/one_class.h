// The plans of one class, that of a request's granularity: candidates, profile, one proposal after another, local
// search; then the curve, measured plan by plan, and the proof.
#ifndef ONNX_MEM_PLANNER_ANSWER_ONE_CLASS_H_
#define ONNX_MEM_PLANNER_ANSWER_ONE_CLASS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/measure/accountant.h"
#include "planner/measure/plan.h"
#include "planner/search/front.h"
#include "planner/search/proof.h"

namespace onnx_mem {

// Plans for the curve that are found and measured elsewhere, once those of the class itself are.
using OtherPlans = std::function<absl::StatusOr<std::vector<ModulePlan>>(const Front& found)>;

// What `accountant` has done so far takes nothing from the effort. `finer`: plans of a finer class, whose answer these
// are for; null: none are known.
absl::StatusOr<PlanAnswer> PlanOneClass(const PlanRequest& request, Accountant& accountant, Prover& prover,
                                        const OtherPlans& others, const Front* finer = nullptr);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_ONE_CLASS_H_
