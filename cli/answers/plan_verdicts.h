// A plan and what it was held against -> its verdict on each: the range of a plan is measured as that of any run.
#ifndef ONNX_MEM_CLI_ANSWERS_PLAN_VERDICTS_H_
#define ONNX_MEM_CLI_ANSWERS_PLAN_VERDICTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/analysis.h"
#include "cli/answers/cards.h"
#include "report/plan/plan_part.h"

namespace onnx_mem {

// `limits` (a budget), then every card, with the step as it is and with the chosen plan of `part`; without a chosen one
// with the plan that takes least. `workload` is that of the plan, `part` has its request and its answer.
absl::StatusOr<std::vector<PlanPart::Held>> VerdictsOfPlan(Study& study, const Workload& workload, const PlanPart& part,
                                                           const std::vector<Limit>& limits,
                                                           const std::vector<Card>& cards, ByteUnit units);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_PLAN_VERDICTS_H_
