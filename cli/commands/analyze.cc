// onnx-mem MODEL: what a training step and an inference need, at one batch or several.
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "cli/answers/answers.h"
#include "cli/commands/commands.h"
#include "cli/commands/models.h"
#include "cli/files/plan_file.h"
#include "cli/present.h"

namespace onnx_mem {

absl::StatusOr<CommandAnswer> RunAnalyze(const Options& given) {
  ASSIGN_OR_RETURN(const Options options, WithPlanFile(given));
  if (options.operands.size() > 1) {
    return AnalyzeModels(options);
  }
  if (AsksForSaved(options)) {
    ASSIGN_OR_RETURN(CommandAnswer saved, AnswerSaved(options));
    return Shown(std::move(saved), options);
  }
  ASSIGN_OR_RETURN(CommandAnswer answer, AnswerAnalyze(options));
  if (answer.savings && !options.quiet) {
    const bool first_screen = options.format == "table" && !options.verbose && !options.top;
    std::get<AnalyzePart>(answer.report.part).savings =
        answer.savings(first_screen ? Advice::kFirstScreen : Advice::kWhole);
  }
  return Shown(std::move(answer), options);
}

}  // namespace onnx_mem
