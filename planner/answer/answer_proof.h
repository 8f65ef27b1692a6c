// What is proven about an answer: that nothing less is possible, how far the chosen plan is from it, why there is none.
#ifndef ONNX_MEM_PLANNER_ANSWER_ANSWER_PROOF_H_
#define ONNX_MEM_PLANNER_ANSWER_ANSWER_PROOF_H_

#include <string_view>

#include "absl/status/status.h"
#include "analyzer/graph/diagnostic.h"
#include "planner/measure/accountant.h"
#include "planner/measure/plan.h"
#include "planner/search/exact.h"
#include "planner/search/proof.h"

namespace onnx_mem {

// The class of an answer that holds whatever runs again, and when.
inline constexpr std::string_view kAnySchedule = "all schedules with this backward order";

// The given plan is none that answers.
Diagnostic PlanOverLimitNote(bool another_is_chosen);

// `answer` has its plans and the chosen one. Fills minimum, bounds, optimality, gaps and the status of an answer
// without a plan. Errors: those of Prover::BoundFor.
absl::Status ProveAnswer(const PlanRequest& request, const Accountant& accountant, Prover& prover, const Exact& exact,
                         PlanAnswer& answer);

// Where no bound is proven but that of the optimizer's own steps, which no plan changes: what a rank takes in them, and
// the status of an answer in which some rank takes `least_bytes`.
int64_t OptimizerBound(const Accountant& accountant, BudgetLine line);
void SettleByOptimizer(const PlanRequest& request, int64_t least_bytes, PlanAnswer& answer);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_ANSWER_PROOF_H_
