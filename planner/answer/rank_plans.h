// Plans for a step that is spread over several cards: what one rank takes with each.
#ifndef ONNX_MEM_PLANNER_ANSWER_RANK_PLANS_H_
#define ONNX_MEM_PLANNER_ANSWER_RANK_PLANS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "analyzer/study/study.h"
#include "planner/measure/accountant.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// Plans of a step on one card, for a request.
using PlanOneCard = std::function<absl::StatusOr<PlanAnswer>(const PlanRequest& request, Accountant& accountant)>;

// Every rank runs the step of one card, with other parameters, gradients and optimizer state around it: plans are
// looked for there, with what the budget leaves for it, and each that is found is enacted and measured on the rank.
// Bytes of the answer are all the rank's; its costs are of the step without communication. Segments lie inside FSDP's
// units; where tensors are split the step that is searched is that of the rank, in local sizes. No bound is proven but
// that of the optimizer's own steps.
absl::StatusOr<PlanAnswer> PlanRanks(Study& study, const Workload& workload, const PlanRequest& request,
                                     const PlanOneCard& plan_one_card);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_RANK_PLANS_H_
