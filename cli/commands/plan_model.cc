// onnx-mem plan MODEL: checkpoint segments with which training of a model fits a budget.
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "cli/answers/answers.h"
#include "cli/commands/plan.h"
#include "cli/files/plan_file.h"

namespace onnx_mem {

absl::StatusOr<Answer> PlanModel(const Options& given) {
  ASSIGN_OR_RETURN(const Options options, WithPlanFile(given));
  ASSIGN_OR_RETURN(const Answered answered, AnswerPlan(options));
  if (options.emit.empty() || !answered.emit) return AnswerOf(answered, options);
  ASSIGN_OR_RETURN(EmittedCode code, answered.emit(options.emit));
  return Answer{.text = std::move(code.text), .warnings = std::move(code.diagnostics)};
}

}  // namespace onnx_mem
