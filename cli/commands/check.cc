// onnx-mem check MODEL: what was understood of a file and what had to be assumed, before any number is believed.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/check/findings.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/build/propose_sizes.h"
#include "analyzer/study/study.h"
#include "cli/answers/answers.h"
#include "cli/answers/batch_dim.h"
#include "cli/answers/cards.h"
#include "cli/answers/runtime_of_file.h"
#include "cli/commands/commands.h"
#include "cli/options/option_values.h"
#include "cli/pasted_command.h"
#include "cli/present.h"
#include "report/analyze/answer.h"
#include "report/analyze/report.h"

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
  coverage.total = recorded ? analysis.info.node_count : static_cast<int64_t>(analysis.graph->nodes.size());
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
  if (!analysis.graph->nodes.empty()) add("outputs with a known size", ShapeCoverage(*analysis.graph));
  add("operators with a module path", ModuleCoverage(*MainFigures(analysis)->program));
  return table;
}

// The verdict on a card or --budget.
Diagnostic VerdictFinding(const RunSummary& run, const Limit& limit, const Options& options) {
  const RunPart part = run.training ? &RunSummary::training : &RunSummary::inference;
  const Need need = NeedOn(limit, run, part);
  const Verdict verdict = VerdictOf(need, limit.bytes);
  Diagnostic finding{.code = Code::kWithinBudget, .severity = Severity::kNote};
  if (verdict == Verdict::kMayFit) finding.severity = Severity::kWarning;
  if (verdict == Verdict::kDoesNotFit) finding = {.code = Code::kOverBudget, .severity = Severity::kError};
  finding.bytes = std::abs(need.expected_bytes - limit.bytes);
  const std::string size = FormatBytesIn(need.expected_bytes, options.units);
  finding.message = absl::StrFormat("%s needs %s (%s) on the GPU: %s", run.training ? "training" : "inference", size,
                                    IntervalText(need, size), VerdictText(need, limit, options.units));
  return finding;
}

absl::StatusOr<std::vector<Diagnostic>> Verdicts(Study& study, const Workload& workload, const std::vector<Card>& cards,
                                                 const Options& options) {
  ASSIGN_OR_RETURN(const Analysis analysis, study.AskWithRange(workload));
  const RunSummary run = Summarize(analysis);
  ASSIGN_OR_RETURN(const std::vector<Limit> limits, LimitsOfRun(study, run, workload, cards, options));
  std::vector<Diagnostic> verdicts;
  for (const Limit& limit : limits) verdicts.push_back(VerdictFinding(run, limit, options));
  return verdicts;
}

// The batch at which effects are reported, and where it comes from.
Diagnostic BatchNote(Study& study, const Bindings& bindings, const Analysis& analysis) {
  Diagnostic note{.code = Code::kBatch, .severity = Severity::kNote};
  const bool requested = !bindings.inputs.empty() || WithBatchOption(study, bindings).batch;
  note.message = absl::StrFormat("effects are those at batch %d%s", analysis.batch,
                                 requested            ? ""
                                 : analysis.batch > 1 ? ", the file's"
                                                      : ", since none was given");
  if (!requested) note.details = {"try: ... --batch 64   # the batch that you train with"};
  return note;
}

// The sizes that stand in for those that nobody gave: check is for files of which one knows little yet.
void NameSizes(const Bindings& given, const Bindings& used, Diagnostic& note) {
  std::vector<std::string> sizes;
  for (const auto& [symbol, size] : used.dims) {
    if (given.dims.count(symbol) == 0) sizes.push_back(absl::StrFormat("%s=%d", symbol, size));
  }
  for (const auto& [name, dims] : used.inputs) {
    if (given.inputs.count(name) == 0) sizes.push_back(absl::StrFormat("%s=%s", name, absl::StrJoin(dims, "x")));
  }
  if (sizes.empty()) return;
  note.message += ", with " + absl::StrJoin(sizes, ", ");
  note.details.insert(note.details.begin(), "why: no size was given, and the graph accepts these");
}

}  // namespace

absl::StatusOr<CommandAnswer> RunCheck(const Options& given_options) {
  if (given_options.batches.size() > 1) {
    return UsageError("check tells effects at one batch", {TryOneBatch(given_options)});
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> opened, ModelOf(given_options, {}, 0));
  Study study(opened);
  const Options options = WithRuntimeOf(given_options, {opened});
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  Workload workload = FirstWorkload(options, cards);
  const Bindings given = workload.bindings;
  ASSIGN_OR_RETURN(workload.bindings, opened->WithSizes(given));
  ASSIGN_OR_RETURN(const Analysis analysis, study.Expected(workload));
  Report report;
  report.command = options.command;
  report.model = SummarizeModel(analysis);
  report.verbose = true;
  report.tables = {CoverageTable(analysis)};
  report.shown_table = "coverage";
  report.notes = CheckExport(study, workload, analysis);
  report.notes.push_back(BatchNote(study, given, analysis));
  NameSizes(given, workload.bindings, report.notes.back());
  if (HasLimit(options)) {
    ASSIGN_OR_RETURN(const std::vector<Diagnostic> verdicts, Verdicts(study, workload, cards, options));
    report.notes.insert(report.notes.begin(), verdicts.begin(), verdicts.end());
  }
  const std::string sizes = OptionsText(given, workload.bindings);
  for (Diagnostic& note : report.notes) note = WithCommands(std::move(note), options, sizes);
  const Severity wrong = options.strict ? Severity::kWarning : Severity::kError;  // of which one is a no
  const bool errors =
      std::any_of(report.notes.begin(), report.notes.end(), [&](const Diagnostic& d) { return d.severity >= wrong; });
  RETURN_IF_ERROR(WriteExports(report, options));
  return CommandAnswer{.text = Present(report, options), .yes = !errors};
}

}  // namespace onnx_mem
