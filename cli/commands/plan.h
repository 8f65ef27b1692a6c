// The two questions of onnx-mem plan.
#ifndef ONNX_MEM_CLI_COMMANDS_PLAN_H_
#define ONNX_MEM_CLI_COMMANDS_PLAN_H_

#include "absl/status/statusor.h"
#include "cli/commands/commands.h"
#include "cli/options/options.h"

namespace onnx_mem {

// plan MODEL: checkpoint segments for a model.
absl::StatusOr<CommandAnswer> PlanModel(const Options& options);

// plan --instance FILE: a schedule for a step graph (planner/instance.h).
absl::StatusOr<CommandAnswer> PlanInstance(const Options& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_COMMANDS_PLAN_H_
