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

}  // namespace

void WriteModel(JsonWriter& json, const ReportedModel& model) {
  json.Key("model").BeginObject();
  json.Add({{"path", model.path}, {"producer", NullIfEmpty(model.producer)}});
  json.Key("opset").BeginObject(Layout::kOneLine);
  for (const auto& [domain, version] : model.opsets) json.Key(domain).Int(version);
  json.EndObject();
  for (const ModelRow& row : kModelRows) json.Key(row.key).Int(model.*row.value);
  json.EndObject();
  json.Key("source").String(model.source.empty() ? "graph" : model.source);
}

void WriteQuestion(JsonWriter& json, const Report& report, std::optional<int64_t> batch) {
  json.Key("bindings").BeginObject(Layout::kOneLine);
  json.Add({{"batch", batch}});
  for (const auto& [name, size] : report.bound_dims) {
    if (name != "batch") json.Key(name).Int(size);
  }
  json.EndObject();
  json.Key("assumptions").BeginObject();
  for (const auto& [name, value] : report.assumptions) json.Key(name).String(value);
  json.EndObject();
}

namespace {

void WriteScaling(JsonWriter& json, const std::optional<Scaling>& scaling) {
  if (!json.KeyOf("scaling", scaling.has_value())) return;
  json.Object({{"fixed_bytes", scaling->fixed_bytes},
               {"bytes_per_sample", scaling->bytes_per_sample},
               {"exact", scaling->exact},
               {"from_batch", scaling->from_batch},
               {"to_batch", scaling->to_batch}});
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
    json.Texts(*words);
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
    json.Add({{"code", CodeOf(diagnostic)},
              {"severity", NameOf(diagnostic.severity)},
              {"count", diagnostic.count},
              {"message", diagnostic.message}});
    json.Key("details").Texts(diagnostic.details);
    if (diagnostic.bytes) json.Key("bytes").Int(*diagnostic.bytes);
    json.EndObject();
  }
  json.EndArray();
}

// Of several runs none is the one.
std::optional<int64_t> OnlyBatch(const Report& report) {
  return report.runs.size() == 1 ? std::optional(report.runs.front().batch) : std::nullopt;
}

}  // namespace

void WriteAnalyses(JsonWriter& json, const Report& report, const AnalyzePart& analyzed) {
  WriteQuestion(json, report, OnlyBatch(report));
  WriteLimits(json, report, analyzed.limits);
  WriteRuns(json, report, analyzed.card_named);
  WriteScaling(json, analyzed.scaling);
}

std::string RenderJson(const Report& report, const Screen&) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnx-mem/1");
  json.Key("tool").Object({{"name", "onnx-mem"}, {"version", ONNX_MEM_VERSION}});
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
    WriteQuestion(json, report, OnlyBatch(report));
    WritePlan(json, part);
  };
  const auto fitted = [&](const FitPart& part) {
    WriteFit(json, report, part);
    tables();
  };
  const auto explained = [&](const ExplainPart& part) {
    WriteExplained(json, *part);
    tables();
  };
  std::visit(ForPart{analyzed, planned, fitted, explained, [&](const auto&) { tables(); }}, report.part);
  if (!report.model.path.empty()) WriteDiagnostics(json, report.notes);
  json.EndObject();
  std::string text = json.Take();
  text += '\n';
  return text;
}

}  // namespace onnx_mem
