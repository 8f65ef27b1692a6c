#include "cli/commands/models.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/graph/status_macros.h"
#include "cli/answers/unmatched.h"
#include "cli/options/option_values.h"
#include "cli/report/analyze/answer.h"
#include "cli/report/analyze/present.h"
#include "cli/report/analyze/tables.h"
#include "cli/report/parts/formats.h"

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
               {"fits", "fits"}},
              {},
              5};
  table.has_total = false;
  return table;
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

std::string FitsText(const RunSummary& run, const std::vector<Limit>& limits) {
  if (limits.empty()) return "";
  const bool fits = std::all_of(limits.begin(), limits.end(),
                                [&](const Limit& limit) { return MainPart(run).device_bytes <= limit.bytes; });
  return fits ? "yes" : "no";
}

void AddRows(const Analysis& analysis, const std::vector<Limit>& limits, Table& models, Table& layers) {
  const RunSummary run = Summarize(analysis);
  models.rows.push_back({analysis.info.path, run.batch, analysis.parameter_count, analysis.parameter_bytes,
                         run.forward_flops, run.saved_activation_bytes, PeakCell(run.training),
                         DeviceCell(run.training), PeakCell(run.inference), DeviceCell(run.inference),
                         FitsText(run, limits)});
  const Table own = LayerTable(analysis, nullptr);
  for (const Row& row : own.rows) {
    layers.rows.push_back({analysis.info.path, CellAt(own, row, "module"), CellAt(own, row, "parameters"),
                           CellAt(own, row, "flops"), CellAt(own, row, "saved_bytes"), CellAt(own, row, "peak_bytes")});
  }
}

// What is said of a model alone is said of each, or not here.
void TellOfAll(const std::vector<std::string>& trained, std::vector<std::pair<std::string, std::string>>& assumptions) {
  std::erase_if(assumptions, [](const auto& entry) { return entry.first == "loss-over"; });
  for (auto& [name, value] : assumptions) {
    if (name == "trains") value = absl::StrJoin(trained, " and ");
  }
}

}  // namespace

absl::StatusOr<Answer> AnalyzeModels(const Options& options, const std::vector<Limit>& limits) {
  if (options.batches.size() > 1)
    return UsageError("several models take one batch", {"try: one --batch, or one model"});
  if (options.by != By::kNone && options.by != By::kLayer) {
    return UsageError("several models are told by layer", {"try: --by layer, or one model"});
  }
  Workload workload = options.workload;
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  Report report;
  report.command = options.command;
  Table models = ModelsTable(), layers = LayersTable();
  Answer answer;
  std::string lines;
  std::vector<std::vector<Parameter>> parameters;
  std::vector<std::string> trained;  // with --freeze, a part for each model
  for (const std::string& path : options.operands) {
    ASSIGN_OR_RETURN(const ModelFile file, ModelFile::Open(path));
    ASSIGN_OR_RETURN(const Analysis analysis, Analyze(file, workload));
    AddRows(analysis, limits, models, layers);
    if (options.quiet) lines += RenderQuiet(BuildReport({}, {Summarize(analysis)}, {}, analysis));
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
  const bool over = std::any_of(models.rows.begin(), models.rows.end(), [&](const Row& row) {
    return std::get<std::string>(CellAt(models, row, "fits")) == "no";
  });
  report.shown_table = options.by == By::kLayer ? "layers" : "models";
  report.tables = {std::move(models), std::move(layers)};
  report.top = options.top.value_or(0);
  report.top_given = options.top.has_value();
  RETURN_IF_ERROR(WriteExports(report, options));
  answer.text = options.quiet ? lines : Present(report, options);
  answer.exit_code = over ? ExitCode::kNo : ExitCode::kYes;
  return answer;
}

}  // namespace onnx_mem
