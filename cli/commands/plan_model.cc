// onnx-mem plan MODEL: checkpoint segments with which training of a model fits a budget.
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "cli/answers/answers.h"
#include "cli/commands/interrupt.h"
#include "cli/commands/plan.h"
#include "cli/files/plan_file.h"

namespace onnx_mem {
namespace {

absl::StatusOr<CommandAnswer> InItsForm(CommandAnswer answer, const Options& options) {
  if (options.emit.empty() || !answer.emit) return Shown(std::move(answer), options);
  const bool alone = options.self_contained && options.emit == "pytorch";
  ASSIGN_OR_RETURN(EmittedCode code, answer.emit(alone ? kSelfContained : options.emit));
  return CommandAnswer{.text = std::move(code.text), .warnings = std::move(code.diagnostics), .yes = answer.yes};
}

}  // namespace

absl::StatusOr<CommandAnswer> PlanModel(const Options& given) {
  ASSIGN_OR_RETURN(Options options, WithPlanFile(given));
  options.plan_request.stop = &FirstInterrupt();
  ASSIGN_OR_RETURN(CommandAnswer planned, AnswerPlan(options));
  absl::StatusOr<CommandAnswer> answer = InItsForm(std::move(planned), options);
  if (answer.ok() && *options.plan_request.stop) answer->warnings.push_back(InterruptedNote());
  return answer;
}

}  // namespace onnx_mem
