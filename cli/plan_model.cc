// onnx-mem plan MODEL: checkpoint segments with which training of a model fits a budget.
#include "cli/option_values.h"
#include "cli/plan.h"

namespace onnx_mem {

absl::StatusOr<Answer> PlanModel(const Options&) {
  return UsageError("planning for a MODEL is not available yet", {"try: onnx-mem plan --instance FILE --budget N"});
}

}  // namespace onnx_mem
