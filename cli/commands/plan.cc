// onnx-mem plan: what to run again so that a training step fits a budget; of a model, or of a step graph in JSON.
#include "cli/commands/plan.h"

#include "cli/commands/commands.h"
#include "cli/options/option_values.h"

namespace onnx_mem {

absl::StatusOr<CommandAnswer> RunPlan(const Options& options) {
  if (options.instance_file.empty() && options.operands.empty()) {
    return UsageError("no MODEL given", {"way out: onnx-mem plan MODEL --budget SIZE"});
  }
  if (options.instance_file.empty()) return PlanModel(options);
  if (!options.operands.empty()) return UsageError("a MODEL and --instance: choose one");
  return PlanInstance(options);
}

}  // namespace onnx_mem
