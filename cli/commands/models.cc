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
  std::erase_if(assumptions, [](const auto& entry) { return entry.first == "loss-over" || entry.first == "margin"; });
  for (auto& [name, value] : assumptions) {
    if (name == "trains") value = absl::StrJoin(trained, " and ");
  }
}

}  // namespace

absl::StatusOr<Answer> AnalyzeModels(const Options& given) {
  if (given.batches.size() > 1) return UsageError("several models take one batch", {"try: one --batch, or one model"});
  if (given.by != By::kNone && given.by != By::kLayer) {
    return UsageError("several models are told by layer", {"try: --by layer, or one model"});
  }
  Files files;
  for (size_t i = 0; i < given.operands.size(); ++i) {
    ASSIGN_OR_RETURN(std::shared_ptr<const ModelFile> file, ModelOf(given, {}, i));
    files.push_back(std::move(file));
  }
  const Options options = WithRuntimeOf(given, files);
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  Workload workload = cards.empty() ? options.workload : OnCard(options.workload, cards.front());
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  Report report;
  report.command = options.command;
  Table models = ModelsTable(), layers = LayersTable(), gpus;
  std::optional<Verdict> worst;
  Answer answer;
  std::string lines;
  std::vector<std::vector<Parameter>> parameters;
  std::vector<std::string> trained;  // with --freeze, a part for each model
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string& path = options.operands[i];
    Study study(files[i]);
    ASSIGN_OR_RETURN(const Analysis analysis,
                     HasLimit(options) ? study.AskWithRange(workload) : study.Expected(workload));
    const RunSummary run = Summarize(analysis);
    ASSIGN_OR_RETURN(const std::vector<Limit> limits, LimitsOfRun(study, run, workload, cards, options));
    const std::optional<Verdict> verdict = VerdictOf({run}, limits);
    if (verdict) worst = std::max(worst.value_or(*verdict), *verdict);
    AddRows(analysis, run, verdict, models, layers);
    AddGpuRows(path, run, limits, gpus);
    if (options.quiet) lines += RenderQuiet(BuildReport({.limits = limits}, {run}, {}, analysis));
    for (const Diagnostic& diagnostic : analysis.diagnostics) {
      if (diagnostic.severity != Severity::kWarning) continue;
      answer.warnings.push_back(diagnostic);
      answer.warnings.back().message.insert(0, BaseName(path) + ": ");
    }
    if (report.assumptions.empty()) report.assumptions = analysis.assumptions;
    for (const auto& [name, value] : analysis.assumptions) {
      if (name == "trains") trained.push_back(absl::StrCat(value, " (", BaseName(path), ")"));
    }
    parameters.push_back(analysis.parameters);
  }
  RETURN_IF_ERROR(CheckFreeze(workload.run, parameters));
  TellOfAll(trained, report.assumptions);
  if (options.strict) RETURN_IF_ERROR(CheckStrict(answer.warnings));
  if (const auto note = RuntimeNote(given, options, files, options.operands)) answer.warnings.push_back(*note);
  report.shown_table = options.by == By::kLayer ? "layers" : "models";
  report.tables = {std::move(models), std::move(layers)};
  if (!gpus.rows.empty()) report.tables.push_back(std::move(gpus));
  report.top = options.top.value_or(0);
  report.top_given = options.top.has_value();
  RETURN_IF_ERROR(WriteExports(report, options));
  answer.text = options.quiet ? lines : Present(report, options);
  answer.exit_code = IsYes(worst, options.strict) ? ExitCode::kYes : ExitCode::kNo;
  return answer;
}

}  // namespace onnx_mem
