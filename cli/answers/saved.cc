// A saved report, shown as the command that wrote it showed it.
#include "absl/strings/match.h"
#include "analyzer/graph/status_macros.h"
#include "cli/answers/answers.h"
#include "cli/answers/strict.h"
#include "cli/files/saved_report.h"
#include "cli/options/option_values.h"
#include "cli/present.h"
#include "report/analyze/report.h"

namespace onnx_mem {

bool AsksForSaved(const Options& options) {
  return options.operands.size() == 1 && absl::EndsWith(options.operands.front(), ".json");
}

absl::StatusOr<CommandAnswer> AnswerSaved(const Options& options) {
  if (options.batches.size() > 1) return UsageError("a saved report is shown at one batch", {TryOneBatch(options)});
  if (DrawsSteps(options)) {
    return UsageError("a saved report has figures, not the steps that this format draws",
                      {"way out: the model itself, or --format table, json, csv or md"});
  }
  std::optional<int64_t> batch;
  if (!options.batches.empty()) batch = options.batches.front();
  ASSIGN_OR_RETURN(ComparedSide side, ReadSavedReport(options.operands.front(), batch));
  ASSIGN_OR_RETURN(const std::vector<Limit> limits, LimitsOf(options, side.report.runs.front()));
  CommandAnswer answer;
  answer.report = std::move(side.report);
  AnalyzePart part;
  part.limits = limits;
  answer.report.part = std::move(part);
  answer.report.verbose = options.verbose;
  RETURN_IF_ERROR(WriteExports(answer.report, options));
  answer.yes = IsYes(VerdictOf(answer.report.runs, limits), options.strict);
  return answer;
}

}  // namespace onnx_mem
