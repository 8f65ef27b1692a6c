// What a rank does before its first step, as Python: the plan first, then what shards or copies the model, from the
// inside out, then the optimizer, which sees what the strategy left of the parameters.
#ifndef ONNX_MEM_PLANNER_CODE_RANK_SETUP_H_
#define ONNX_MEM_PLANNER_CODE_RANK_SETUP_H_

#include <string>

#include "absl/status/status.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// Error (usage): torch has no set-up that splits tensors as the figures have it.
absl::Status CheckSetup(const SpreadPlan& spread);

// `set_up(model, optimizer_class, **settings)`, which calls apply_plan.
std::string RankSetup(const SpreadPlan& spread);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_RANK_SETUP_H_
