// onnx-mem explain SNAPSHOT [MODEL]: who holds the memory of a run that ended, and what to do first; with a model, the
// blocks by the names of its tensors.
#include "analyzer/snapshot/explain.h"

#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/snapshot/match.h"
#include "analyzer/study/study.h"
#include "cli/answers/answers.h"
#include "cli/commands/commands.h"
#include "cli/options/option_values.h"
#include "cli/present.h"
#include "report/analyze/report.h"

namespace onnx_mem {
namespace {

absl::Status AddModel(const Options& options, const Explanation& explanation, Report& report) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelOf(options, {}, 1));
  Workload workload = options.workload;
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  ASSIGN_OR_RETURN(const Analysis analysis, Study(file).Expected(workload));
  report.model = SummarizeModel(analysis);
  report.assumptions = analysis.assumptions;
  const SnapshotMatch match = MatchTo(*MainFigures(analysis)->program, explanation);
  for (Table& table : TablesOf(match, explanation)) report.tables.push_back(std::move(table));
  Diagnostic note{.code = Code::kMatchedStep, .severity = Severity::kNote};
  note.message = absl::StrFormat(
      "the blocks are those of step %d of the predicted program best (%s, %s%s%s): %s of %s have a tensor's size",
      match.step + 1, NameOf(match.phase), match.step_module, match.step_module.empty() ? "" : ", ", match.step_op,
      FormatBytesIn(match.named_bytes, options.units),
      FormatBytesIn(match.named_bytes + match.unexplained_bytes, options.units));
  report.notes.push_back(std::move(note));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandAnswer> RunExplain(const Options& options) {
  if (options.batches.size() > 1) {
    return UsageError("a snapshot is of one batch", {TryOneBatch(options)});
  }
  auto explained = std::make_shared<ExplainedSnapshot>();
  explained->path = options.operands.front();
  {
    ASSIGN_OR_RETURN(const AllocatorSnapshot snapshot, ReadSnapshot(explained->path));
    explained->explanation = Explain(snapshot);
  }
  CommandAnswer answer;
  Report& report = answer.report;
  report.command = options.command;
  report.top = options.top.value_or(kDefaultTop);
  report.top_given = options.top.has_value();
  report.verbose = options.verbose;
  report.shown_table = "lines";
  report.tables = TablesOf(explained->explanation);
  if (options.operands.size() > 1) RETURN_IF_ERROR(AddModel(options, explained->explanation, report));
  report.part = ExplainPart(std::move(explained));
  RETURN_IF_ERROR(WriteExports(report, options));
  return Shown(std::move(answer), options);
}

}  // namespace onnx_mem
