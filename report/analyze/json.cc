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
