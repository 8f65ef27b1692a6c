#include "cli/commands/models.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/study/study.h"
#include "cli/answers/answers.h"
#include "cli/answers/cards.h"
#include "cli/answers/runtime_of_file.h"
#include "cli/answers/strict.h"
#include "cli/answers/unmatched.h"
#include "cli/options/option_values.h"
#include "cli/present.h"
#include "report/analyze/answer.h"
#include "report/analyze/run_table.h"
#include "report/analyze/tables.h"
#include "report/parts/formats.h"

namespace onnx_mem {
namespace {

Table ModelsTable() {
  Table table{"models",
              "Models",
              {{"model", "model"},
               {"batch", "batch", ColumnKind::kStep},
               {"parameters", "parameters", ColumnKind::kCount},
               {"parameter_bytes", "parameter bytes", ColumnKind::kBytes},
               {"forward_flops", "FLOPs", ColumnKind::kWork},
               {"saved_activation_bytes", "stored for backward", ColumnKind::kBytes},
               {"training_peak_bytes", "training peak", ColumnKind::kBytes},
               {"training_device_bytes", "training", ColumnKind::kBytes},
               {"inference_peak_bytes", "inference peak", ColumnKind::kBytes},
               {"inference_device_bytes", "inference", ColumnKind::kBytes},
               {"fits", "fits"},
               {"verdict", "verdict"}},
              {},
              5};
  table.has_total = false;
  return table;
}

// A row for each model and limit, where there are several limits.
void AddGpuRows(const std::string& model, const RunSummary& run, const std::vector<Limit>& limits, Table& table) {
  if (limits.size() < 2) return;
  Table own = GpusTable({run}, limits);
  own.columns.insert(own.columns.begin(), {"model", "model"});
  if (table.rows.empty()) table = Table{own.key, own.title, own.columns, {}, 2};
  table.has_total = false;
  for (Row& row : own.rows) {
    row.insert(row.begin(), BaseName(model));
    table.rows.push_back(std::move(row));
  }
}

Table LayersTable() {
  Table table{"layers",
              "Layers",
              {{"model", "model"},
               {"module", "layer"},
               {"parameters", "parameters", ColumnKind::kCount},
               {"flops", "FLOPs", ColumnKind::kWork},
               {"saved_bytes", "stored for backward", ColumnKind::kBytes},
               {"peak_bytes", "at the peak", ColumnKind::kBytes}},
              {},
              4};
  table.has_total = false;
  return table;
}

Cell PeakCell(const std::optional<PartSummary>& part) { return part ? Cell(part->peak_bytes) : Cell(); }
Cell DeviceCell(const std::optional<PartSummary>& part) { return part ? Cell(part->device_bytes) : Cell(); }

void AddRows(const Analysis& analysis, const RunSummary& run, const std::optional<Verdict>& verdict, Table& models,
             Table& layers) {
  models.rows.push_back({analysis.info.path, run.batch, analysis.parameter_count, analysis.parameter_bytes,
                         run.forward_flops, run.saved_activation_bytes, PeakCell(run.training),
                         DeviceCell(run.training), PeakCell(run.inference), DeviceCell(run.inference),
                         !verdict                           ? ""
                         : *verdict == Verdict::kDoesNotFit ? "no"
                                                            : "yes",
                         verdict ? Cell(std::string(NameOf(*verdict))) : Cell(std::string())});
  const Table own = LayerTable(analysis, nullptr);
  for (const Row& row : own.rows) {
    layers.rows.push_back({analysis.info.path, CellAt(own, row, "module"), CellAt(own, row, "parameters"),
                           CellAt(own, row, "flops"), CellAt(own, row, "saved_bytes"), CellAt(own, row, "peak_bytes")});
  }
}

// What is said of a model alone is said of each, or not here.
void TellOfAll(const std::vector<std::string>& trained, std::vector<std::pair<std::string, std::string>>& assumptions) {
  std::erase_if(assumptions, [](const auto& entry) {
    return entry.first == "loss-over" || entry.first == "holds" || entry.first == "margin";
  });
  for (auto& [name, value] : assumptions) {
    if (name == "trains") value = absl::StrJoin(trained, " and ");
  }
}

// What the models leave behind, each in its turn.
struct SideBySide {
  Table models = ModelsTable(), layers = LayersTable(), gpus;
  std::optional<Verdict> worst;
  std::string lines;  // of -q
  std::vector<Diagnostic> warnings;
  std::vector<std::pair<std::string, std::string>> assumptions;  // of the first
  std::vector<std::string> trained;                              // with --freeze, a part for each model
  std::vector<std::vector<Parameter>> parameters;
};

void AddModel(const Analysis& analysis, const RunSummary& run, const std::vector<Limit>& limits, SideBySide& all) {
  const std::string name = BaseName(analysis.info.path);
  const std::optional<Verdict> verdict = VerdictOf({run}, limits);
  if (verdict) all.worst = std::max(all.worst.value_or(*verdict), *verdict);
  AddRows(analysis, run, verdict, all.models, all.layers);
  AddGpuRows(analysis.info.path, run, limits, all.gpus);
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    if (diagnostic.severity != Severity::kWarning) continue;
    all.warnings.push_back(diagnostic);
    all.warnings.back().message.insert(0, name + ": ");
  }
  if (all.assumptions.empty()) all.assumptions = analysis.assumptions;
  for (const auto& [option, value] : analysis.assumptions) {
    if (option == "trains") all.trained.push_back(absl::StrCat(value, " (", name, ")"));
  }
  all.parameters.push_back(analysis.parameters);
}

absl::Status AddModels(const Files& files, const Options& options, SideBySide& all) {
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  const Workload workload = FirstWorkload(options, cards);
  for (const std::shared_ptr<const ModelFile>& file : files) {
    Study study(file);
    ASSIGN_OR_RETURN(const Analysis analysis,
                     HasLimit(options) ? study.AskWithRange(workload) : study.Expected(workload));
    const RunSummary run = Summarize(analysis);
    ASSIGN_OR_RETURN(const std::vector<Limit> limits, LimitsOfRun(study, run, workload, cards, options));
    AddModel(analysis, run, limits, all);
    if (options.quiet) all.lines += RenderQuiet(BuildReport({.limits = limits}, {run}, {}, analysis));
  }
  return CheckFreeze(workload.run, all.parameters);
}

Report ReportOf(SideBySide all, const Options& options) {
  Report report;
  report.command = options.command;
  report.assumptions = std::move(all.assumptions);
  TellOfAll(all.trained, report.assumptions);
  report.shown_table = options.by == By::kLayer ? "layers" : "models";
  report.tables = {std::move(all.models), std::move(all.layers)};
  if (!all.gpus.rows.empty()) report.tables.push_back(std::move(all.gpus));
  report.top = options.top.value_or(0);
  report.top_given = options.top.has_value();
  return report;
}

}  // namespace

absl::StatusOr<CommandAnswer> AnalyzeModels(const Options& given) {
  if (given.batches.size() > 1) return UsageError("several models take one batch", {TryOneBatch(given)});
  if (given.by != By::kNone && given.by != By::kLayer) {
    return UsageError("several models are listed by layer", {"try: ... --by layer   # or one model"});
  }
  Files files;
  for (size_t i = 0; i < given.operands.size(); ++i) {
    ASSIGN_OR_RETURN(std::shared_ptr<const ModelFile> file, ModelOf(given, {}, i));
    files.push_back(std::move(file));
  }
  const Options options = WithRuntimeOf(given, files);
  SideBySide all;
  RETURN_IF_ERROR(AddModels(files, options, all));
  CommandAnswer answer;
  answer.warnings = std::move(all.warnings);
  answer.yes = IsYes(all.worst, options.strict);
  if (options.strict) RETURN_IF_ERROR(CheckStrict(answer.warnings));
  if (const auto note = RuntimeNote(given, options, files, options.operands)) answer.warnings.push_back(*note);
  const std::string lines = std::move(all.lines);
  const Report report = ReportOf(std::move(all), options);
  RETURN_IF_ERROR(WriteExports(report, options));
  answer.text = options.quiet ? lines : Present(report, options);
  return answer;
}

}  // namespace onnx_mem
