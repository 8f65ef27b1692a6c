// Plans for the ranks of a pipeline: each stage has its own.
#ifndef ONNX_MEM_PLANNER_ANSWER_PIPELINE_PLANS_H_
#define ONNX_MEM_PLANNER_ANSWER_PIPELINE_PLANS_H_

#include "absl/status/statusor.h"
#include "analyzer/study/study.h"
#include "planner/answer/rank_plans.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// What a rank takes depends on the segments of its own stage alone: they change neither what is received nor what is
// sent. So each stage is searched by itself, on the step of its rank with all micro-batches in turns, and a plan of the
// answer has of each rank the cheapest that takes no more than a level. Its bytes are those of the rank that needs
// most, its costs those of all stages together. Where a rank has several stages, each is searched while the others have
// no plan, and a few of their plans are measured together. No bound is proven but that of the optimizer's own steps.
absl::StatusOr<PlanAnswer> PlanPipeline(Study& study, const Workload& workload, const PlanRequest& request,
                                        const PlanOneCard& plan_one_card);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_PIPELINE_PLANS_H_
