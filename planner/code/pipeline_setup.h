// A pipeline's set-up: each rank traces the whole model, cuts it at the modules where stages begin, puts its plan on
// the stage that is its own, and makes the schedule.
#ifndef ONNX_MEM_PLANNER_CODE_PIPELINE_SETUP_H_
#define ONNX_MEM_PLANNER_CODE_PIPELINE_SETUP_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// Error (usage): a stage that is traced has operators where the model has BatchNorms, so that nothing keeps a second
// run from moving their statistics. `statistics`: a segment of the plan has such a layer.
absl::Status CheckPipelineSetup(const std::optional<SpreadPlan>& spread, bool statistics);

// `imports`: the code calls the package, else what is printed behind the plan.
std::string_view PipelineUsage(bool imports);
// `apply_plan(stage, rank)`.
std::string ApplyToStage(bool imports);

// `set_up(model, micro_batch, loss_fn, device, optimizer_class, **settings)`, which calls apply_plan on a stage.
std::string PipelineSetup(const SpreadPlan& spread);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_PIPELINE_SETUP_H_
