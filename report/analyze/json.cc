// Report -> JSON, schema onnx-mem/1: bytes as integers, unknown is null, keys in a fixed order.
#include <algorithm>
#include <array>

#include "report/analyze/answer.h"
#include "report/analyze/json_parts.h"
#include "report/analyze/report.h"
#include "report/compare/compare_forms.h"
#include "report/parts/formats.h"
#include "report/parts/json_writer.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {
namespace {

using Layout = JsonWriter::Layout;

void StringOrNull(JsonWriter& json, std::string_view text) { text.empty() ? json.Null() : json.String(text); }

}  // namespace

void WriteModel(JsonWriter& json, const ModelSummary& model) {
  json.Key("model").BeginObject();
  json.Key("path").String(model.path);
  json.Key("producer");
  StringOrNull(json, model.producer);
  json.Key("opset").BeginObject(Layout::kOneLine);
  for (const auto& [domain, version] : model.opsets) json.Key(domain).Int(version);
  json.EndObject();
  json.Key("nodes").Int(model.nodes);
  json.Key("parameters").Int(model.parameters);
  json.Key("parameter_bytes").Int(model.parameter_bytes);
  json.Key("buffer_bytes").Int(model.buffer_bytes);
  json.EndObject();
  json.Key("source").String(model.source.empty() ? "graph" : model.source);
}

std::vector<std::pair<std::string_view, int64_t>> InferenceBreakdown(const PartSummary& part) {
  const auto of = [&](Category category) {
    return std::pair(NameOf(category), part.breakdown[static_cast<size_t>(category)]);
  };
  int64_t activations = part.peak_bytes;
  for (Category category : {Category::kParameters, Category::kBuffers, Category::kInputs, Category::kWorkspace}) {
    activations -= of(category).second;
  }
  return {of(Category::kParameters),
          of(Category::kBuffers),
          of(Category::kInputs),
          {"activations", activations},
          of(Category::kWorkspace)};
}

namespace {

void WriteBindings(JsonWriter& json, const Report& report) {
  json.Key("bindings").BeginObject(Layout::kOneLine);
  json.Key("batch");
  report.runs.size() == 1 ? json.Int(report.runs.front().batch) : json.Null();
  for (const auto& [name, size] : report.bound_dims) {
    if (name != "batch") json.Key(name).Int(size);
  }
  json.EndObject();
}

void WritePeak(JsonWriter& json, const PeakPlace& peak) {
  json.Key("peak").BeginObject(Layout::kOneLine);
  if (peak.known) {
    json.Key("phase").String(NameOf(peak.phase));
    json.Key("step").Int(peak.step);
    json.Key("node");
    StringOrNull(json, peak.node);
    json.Key("module").String(peak.module);
    json.Key("op").String(peak.op);
  }
  json.EndObject();
}

void WriteRange(JsonWriter& json, std::string_view key, int64_t low_bytes, int64_t high_bytes) {
  json.Key(key).BeginArray(Layout::kOneLine).Int(low_bytes).Int(high_bytes).EndArray();
}

void WriteAllocated(JsonWriter& json, const PartSummary& part) {
  json.Key("allocated_peak_bytes").Int(part.allocated_peak_bytes);
  WriteRange(json, "allocated_interval_bytes", part.allocated_low_bytes, part.allocated_high_bytes);
  json.Key("reserved_peak_bytes").Int(part.reserved_peak_bytes);
  json.Key("device_bytes").Int(part.device_bytes);
  WriteRange(json, "device_interval_bytes", part.device_low_bytes, part.device_high_bytes);
  json.Key("workspace_bytes").Int(part.workspace_bytes);
  json.Key("context_bytes").Int(part.context_bytes);
  WriteRange(json, "context_interval_bytes", part.context_low_bytes, part.context_high_bytes);
}

void WriteVerdict(JsonWriter& json, const RunSummary& run, RunPart part, const std::vector<Limit>& limits) {
  if (const auto verdict = VerdictOf(run, part, limits)) json.Key("verdict").String(NameOf(*verdict));
}

void WriteInterval(JsonWriter& json, const PartSummary& part) {
  json.Key("peak_interval_bytes");
  if (part.peak_high_bytes > 0) {
    json.BeginArray(Layout::kOneLine).Int(part.peak_low_bytes).Int(part.peak_high_bytes).EndArray();
  } else {
    json.Null();
  }
}

void WriteTraining(JsonWriter& json, const RunSummary& run, const std::vector<Limit>& limits) {
  json.Key("training");
  if (!run.training) {
    json.Null();
    return;
  }
  const PartSummary& part = *run.training;
  json.BeginObject();
  json.Key("peak_bytes").Int(part.peak_bytes);
  json.Key("first_step_peak_bytes").Int(part.first_step_peak_bytes);
  WriteAllocated(json, part);
  WriteInterval(json, part);
  WriteVerdict(json, run, &RunSummary::training, limits);
  json.Key("end_of_forward_bytes").Int(run.end_of_forward_bytes);
  json.Key("saved_activation_bytes").Int(run.saved_activation_bytes);
  if (run.recompute_flops) json.Key("recompute_flops").Int(*run.recompute_flops);
  json.Key("lower_bound").Bool(part.at_least);
  json.Key("steps").Int(part.steps);
  WritePeak(json, part.peak);
  json.Key("breakdown").BeginObject();
  for (size_t c = 0; c < kNumCategories; ++c) json.Key(NameOf(static_cast<Category>(c))).Int(part.breakdown[c]);
  json.EndObject().EndObject();
}

void WriteInference(JsonWriter& json, const RunSummary& run, const std::vector<Limit>& limits) {
  json.Key("inference");
  if (!run.inference) {
    json.Null();
    return;
  }
  const PartSummary& part = *run.inference;
  json.BeginObject();
  json.Key("peak_bytes").Int(part.peak_bytes);
  WriteAllocated(json, part);
  WriteInterval(json, part);
  WriteVerdict(json, run, &RunSummary::inference, limits);
  json.Key("planned_peak_bytes");
  part.ideal_peak_bytes > 0 ? json.Int(part.ideal_peak_bytes) : json.Null();
  json.Key("planned_arena_bytes");
  part.ideal_arena_bytes ? json.Int(*part.ideal_arena_bytes) : json.Null();
  if (part.session) {
    json.Key("session").BeginObject(Layout::kOneLine);
    json.Key("weight_bytes").Int(part.session->weight_bytes);
    json.Key("arena_bytes").Int(part.session->arena_bytes);
    json.Key("arena_touched_bytes").Int(part.session->touched_bytes);
    json.Key("pattern_bytes").Int(part.session->pattern_bytes);
    json.EndObject();
  }
  json.Key("lower_bound").Bool(part.at_least);
  json.Key("steps").Int(part.steps);
  WritePeak(json, part.peak);
  json.Key("breakdown").BeginObject();
  for (const auto& [name, bytes] : InferenceBreakdown(part)) json.Key(name).Int(bytes);
  json.EndObject().EndObject();
}

void WriteTimeOf(JsonWriter& json, const std::optional<PartSummary>& part) {
  if (!part || !part->time) {
    json.Null();
    return;
  }
  const TimeEstimate& time = *part->time;
  json.BeginObject(Layout::kOneLine);
  json.Key("forward_ns").Int(time.forward_ns + time.loss_ns);
  json.Key("backward_ns").Int(time.backward_ns);
  json.Key("recompute_ns").Int(time.recompute_ns);
  if (time.offload_ns > 0) json.Key("offload_ns").Int(time.offload_ns);
  json.Key("optimizer_ns").Int(time.optimizer_ns);
  json.Key("step_ns").Int(time.step_ns);
  json.Key("measured_ns").Int(time.measured_ns);
  json.Key("bound").String(NameOf(time.bound));
  json.Key("bound_by").BeginObject(Layout::kOneLine);
  for (Bound bound : {Bound::kCompute, Bound::kBandwidth, Bound::kLaunch}) {
    json.Key(NameOf(bound)).Int(time.by_bound_ns[static_cast<size_t>(bound)]);
  }
  json.EndObject().EndObject();
}

// An estimate in nanoseconds on a card, which is a default one unless "card_named".
void WriteTime(JsonWriter& json, bool card_named, const RunSummary& run) {
  const PartSummary& part = MainPart(run);
  json.Key("time");
  if (!part.time) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("card").String(part.time->card);
  json.Key("card_named").Bool(card_named);
  json.Key("assumptions").BeginArray(Layout::kOneLine);
  for (const std::string& assumption : part.time->assumptions) json.String(assumption);
  json.EndArray();
  json.Key("training");
  WriteTimeOf(json, run.training);
  json.Key("inference");
  WriteTimeOf(json, run.inference);
  json.EndObject();
}

}  // namespace

void WriteRuns(JsonWriter& json, const Report& report, bool card_named) {
  const std::vector<Limit>& limits = LimitsOf(report);
  json.Key("runs").BeginArray();
  for (const RunSummary& run : report.runs) {
    json.BeginObject();
    json.Key("batch").Int(run.batch);
    WriteTraining(json, run, limits);
    WriteInference(json, run, limits);
    json.Key("flops").BeginObject(Layout::kOneLine);
    json.Key("forward").Int(run.forward_flops);
    json.Key("backward").Int(run.backward_flops);
    json.Key("macs").Int(run.forward_flops / 2);
    json.EndObject();
    WriteTime(json, card_named, run);
    json.EndObject();
  }
  json.EndArray();
}

namespace {

void WriteScaling(JsonWriter& json, const std::optional<Scaling>& scaling) {
  json.Key("scaling");
  if (!scaling) {
    json.Null();
    return;
  }
  json.BeginObject(Layout::kOneLine);
  json.Key("fixed_bytes").Int(scaling->fixed_bytes);
  json.Key("bytes_per_sample").Int(scaling->bytes_per_sample);
  json.Key("exact").Bool(scaling->exact);
  json.Key("from_batch").Int(scaling->from_batch);
  json.Key("to_batch").Int(scaling->to_batch);
  json.EndObject();
}

void WriteShape(JsonWriter& json, const Shape& shape) {
  if (!shape.has_rank) {
    json.Null();
    return;
  }
  json.BeginArray(Layout::kOneLine);
  for (int64_t dim : shape.dims) dim == kUnknownDim ? json.Null() : json.Int(dim);
  json.EndArray();
}

void WriteCell(JsonWriter& json, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    json.String(*text);
  } else if (const auto* number = std::get_if<int64_t>(&cell)) {
    json.Int(*number);
  } else if (const auto* decimal = std::get_if<double>(&cell)) {
    json.Number(*decimal);
  } else if (const auto* shape = std::get_if<Shape>(&cell)) {
    WriteShape(json, *shape);
  } else if (const auto* words = std::get_if<CommandWords>(&cell)) {
    json.BeginArray(Layout::kOneLine);
    for (const std::string& word : *words) json.String(word);
    json.EndArray();
  } else {
    json.Null();
  }
}

void WriteTable(JsonWriter& json, const Table& table, int64_t top) {
  json.Key(table.key).BeginArray();
  for (size_t row : TopRows(table, top)) {
    json.BeginObject(Layout::kOneLine);
    for (size_t i = 0; i < table.columns.size(); ++i) {
      json.Key(table.columns[i].key);
      WriteCell(json, table.rows[row][i]);
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteDiagnostics(JsonWriter& json, const std::vector<Diagnostic>& diagnostics) {
  json.Key("diagnostics").BeginArray();
  for (const Diagnostic& diagnostic : diagnostics) {
    json.BeginObject(Layout::kOneLine);
    json.Key("code").String(CodeOf(diagnostic));
    json.Key("severity").String(NameOf(diagnostic.severity));
    json.Key("count").Int(diagnostic.count);
    json.Key("message").String(diagnostic.message);
    json.Key("details").BeginArray();
    for (const std::string& line : diagnostic.details) json.String(line);
    json.EndArray();
    if (diagnostic.bytes) json.Key("bytes").Int(*diagnostic.bytes);
    json.EndObject();
  }
  json.EndArray();
}

void WriteAssumptions(JsonWriter& json, const Report& report) {
  WriteBindings(json, report);
  json.Key("assumptions").BeginObject();
  for (const auto& [name, value] : report.assumptions) json.Key(name).String(value);
  json.EndObject();
}

}  // namespace

void WriteAnalyses(JsonWriter& json, const Report& report, const AnalyzePart& analyzed) {
  WriteAssumptions(json, report);
  WriteLimits(json, report, analyzed.limits);
  WriteRuns(json, report, analyzed.card_named);
  WriteScaling(json, analyzed.scaling);
}

std::string RenderJson(const Report& report, const Screen&) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnx-mem/1");
  json.Key("tool").BeginObject(Layout::kOneLine);
  json.Key("name").String("onnx-mem").Key("version").String(ONNX_MEM_VERSION).EndObject();
  json.Key("command").String(report.command);
  if (const auto* compared = std::get_if<ComparePart>(&report.part)) WriteComparison(json, **compared);
  if (!report.model.path.empty()) WriteModel(json, report.model);
  const auto tables = [&] {
    for (const Table& table : report.tables) WriteTable(json, table, report.top);
  };
  const auto analyzed = [&](const AnalyzePart& part) {
    WriteAnalyses(json, report, part);
    if (!part.savings.key.empty()) WriteTable(json, part.savings, 0);
    tables();
  };
  const auto planned = [&](const PlanPart& part) {
    WriteAssumptions(json, report);
    WritePlan(json, part);
  };
  const auto fitted = [&](const FitPart& part) {
    WriteFit(json, report, part);
    tables();
  };
  std::visit(ForPart{analyzed, planned, fitted, [&](const auto&) { tables(); }}, report.part);
  if (!report.model.path.empty()) WriteDiagnostics(json, report.notes);
  json.EndObject();
  std::string text = json.Take();
  text += '\n';
  return text;
}

}  // namespace onnx_mem
