// onnx-mem check MODEL: what was understood of a file and what had to be assumed, before any number is believed.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/check/findings.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/bytes.h"
#include "cli/answers/answers.h"
#include "cli/answers/batch_dim.h"
#include "cli/commands/commands.h"
#include "cli/options/option_values.h"
#include "cli/report/analyze/present.h"
#include "cli/report/analyze/report.h"

namespace onnx_mem {
namespace {

// Diagnostics about nodes that no rule covers; their counts are nodes.
constexpr Code kNoRule = Code::kAssumedOp;

struct Coverage {
  int64_t known = 0;
  int64_t total = 0;
};

Coverage RuleCoverage(const Analysis& analysis) {
  Coverage coverage;
  const bool recorded = analysis.info.from_record;
  coverage.total = recorded ? analysis.info.node_count : static_cast<int64_t>(analysis.graph.nodes.size());
  coverage.known = coverage.total;
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    if (diagnostic.code == kNoRule) coverage.known = std::min(coverage.known, coverage.total - diagnostic.count);
  }
  return coverage;
}

Coverage ShapeCoverage(const Graph& graph) {
  Coverage coverage;
  for (const Node& node : graph.nodes) {
    for (TensorId output : node.outputs) {
      if (!output.valid()) continue;
      ++coverage.total;
      if (NumBytes(graph.tensors[output].shape, graph.tensors[output].dtype)) ++coverage.known;
    }
  }
  return coverage;
}

// Operators that ran, rather than nodes: a node that is folded away has no module and needs none.
Coverage ModuleCoverage(const MemoryProgram& program) {
  Coverage coverage;
  for (const Step& step : program.steps) {
    if (step.phase != Phase::kForward || step.node.empty()) continue;
    ++coverage.total;
    if (!step.module.empty()) ++coverage.known;
  }
  return coverage;
}

Table CoverageTable(const Analysis& analysis) {
  Table table{"coverage",
              "Understood",
              {{"what", "what"}, {"known", "known", ColumnKind::kStep}, {"total", "of", ColumnKind::kStep}},
              {},
              1};
  table.has_total = false;
  const auto add = [&](std::string what, const Coverage& coverage) {
    table.rows.push_back({std::move(what), coverage.known, coverage.total});
  };
  add("nodes with a memory rule", RuleCoverage(analysis));
  if (!analysis.graph.nodes.empty()) add("outputs with a known size", ShapeCoverage(analysis.graph));
  add("operators with a module path", ModuleCoverage(MainFigures(analysis)->program));
  return table;
}

// Yes or no to --budget.
Diagnostic BudgetFinding(const Analysis& analysis, const Options& options) {
  const int64_t device_bytes = MainFigures(analysis)->device_bytes, budget_bytes = *options.budget_bytes;
  const bool over = device_bytes > budget_bytes;
  Diagnostic finding{.code = over ? Code::kOverBudget : Code::kWithinBudget,
                     .severity = over ? Severity::kError : Severity::kNote};
  finding.bytes = over ? device_bytes - budget_bytes : budget_bytes - device_bytes;
  finding.message = absl::StrFormat(
      "%s needs %s on the GPU, %s %s than the budget of %s", analysis.training ? "training" : "inference",
      FormatBytesIn(device_bytes, options.units), FormatBytesIn(*finding.bytes, options.units), over ? "more" : "less",
      FormatBytesIn(budget_bytes, options.units));
  return finding;
}

// The batch at which effects are told, and where it comes from.
Diagnostic BatchNote(const ModelFile& file, const Bindings& bindings, const Analysis& analysis) {
  Diagnostic note{.code = Code::kBatch, .severity = Severity::kNote};
  const bool asked = !bindings.inputs.empty() || WithBatchOption(file, bindings).batch;
  note.message = absl::StrFormat("effects are told at batch %d%s", analysis.batch,
                                 asked                ? ""
                                 : analysis.batch > 1 ? ", the file's"
                                                      : ", since none was asked for");
  if (!asked) note.details = {"try: --batch 64, the batch that you train with"};
  return note;
}

}  // namespace

absl::StatusOr<Answer> RunCheck(const Options& options) {
  if (options.batches.size() > 1) return UsageError("check tells effects at one batch", {"try: a single --batch"});
  Workload workload = options.workload;
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> opened, OpenModel(options.operands.front()));
  const ModelFile& file = *opened;
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(file, workload));
  Report report;
  report.command = options.command;
  report.model = SummarizeModel(analysis);
  report.verbose = true;
  report.tables = {CoverageTable(analysis)};
  report.shown_table = "coverage";
  report.notes = CheckExport(file, workload, analysis);
  report.notes.push_back(BatchNote(file, workload.bindings, analysis));
  if (options.budget_bytes) report.notes.insert(report.notes.begin(), BudgetFinding(analysis, options));
  const bool errors = std::any_of(report.notes.begin(), report.notes.end(),
                                  [](const Diagnostic& d) { return d.severity == Severity::kError; });
  RETURN_IF_ERROR(WriteExports(report, options));
  return Answer{Present(report, options), {}, errors ? ExitCode::kNo : ExitCode::kYes};
}

}  // namespace onnx_mem
