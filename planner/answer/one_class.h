// The plans of one class, that of a request's granularity: candidates, profile, one proposal after another, local
// search; then the curve, measured plan by plan, and the proof.
#ifndef ONNX_MEM_PLANNER_ANSWER_ONE_CLASS_H_
#define ONNX_MEM_PLANNER_ANSWER_ONE_CLASS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "planner/measure/accountant.h"
#include "planner/measure/plan.h"
#include "planner/search/proof.h"

namespace onnx_mem {

// `others`: plans for the curve that were found and measured elsewhere. What `accountant` has done so far takes nothing
// from the effort.
absl::StatusOr<PlanAnswer> PlanOneClass(const PlanRequest& request, Accountant& accountant, Prover& prover,
                                        std::vector<ModulePlan> others);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_ONE_CLASS_H_
