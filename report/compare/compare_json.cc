// A comparison as JSON: the members of the envelope between "command" and the end.
#include <algorithm>

#include "report/analyze/json_parts.h"
#include "report/compare/compare_forms.h"

namespace onnx_mem {
namespace {

using Layout = JsonWriter::Layout;

void WriteGroups(JsonWriter& json, std::string_view key, const std::vector<OperatorGroup>& groups) {
  json.Key(key).BeginArray();
  for (const OperatorGroup& group : groups) {
    json.Object({{"op", group.op}, {"count", group.count}, {"bytes", group.bytes}});
  }
  json.EndArray();
}

void WriteSide(JsonWriter& json, std::string_view key, const ComparedSide& side) {
  json.Key(key).BeginObject();
  WriteModel(json, side.report.model);
  WriteAnalyses(json, side.report, {});
  json.EndObject();
}

// The figures of a part that can be subtracted.
void WritePartDelta(JsonWriter& json, const PartOfRun& which, const std::optional<PartSummary>& delta) {
  if (!json.KeyOf(which.name, delta.has_value())) return;
  json.BeginObject();
  for (const PeakRow& row : kPeakRows) {
    if (row.is_peak() && row.is_of(which.of)) json.Key(row.key).Int((*delta).*row.value);
  }
  WriteBreakdown(json, *delta, which.of);
  json.EndObject();
}

void WriteDelta(JsonWriter& json, const RunSummary& delta) {
  json.Key("delta").BeginObject();
  for (const PartOfRun& which : kPartsOfRun) WritePartDelta(json, which, delta.*which.part);
  json.Key("flops").BeginObject(Layout::kOneLine);
  WritePasses(json, "flops", delta);
  json.EndObject().EndObject();
}

void WriteLayers(JsonWriter& json, const std::optional<std::vector<LayerChange>>& layers) {
  if (!json.KeyOf("layers", layers.has_value())) return;
  json.BeginArray();
  for (const LayerChange& layer : *layers) {
    json.BeginObject(Layout::kOneLine);
    json.Add({{"module", layer.name},
              {"base_bytes", layer.base_bytes},
              {"head_bytes", layer.head_bytes},
              {"delta_bytes", layer.delta_bytes()},
              {"presence", NameOf(layer.presence)}});
    if (layer.presence == Presence::kBoth && layer.base_name != layer.name) {
      json.Key("base_module").String(layer.base_name);
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteOperators(JsonWriter& json, const std::vector<OperatorChange>& operators) {
  json.Key("operators").BeginArray();
  for (const OperatorChange& change : operators) {
    json.Object(
        {{"op", change.op}, {"presence", NameOf(change.presence)}, {"count", change.count}, {"bytes", change.bytes}});
  }
  json.EndArray();
}

void WriteHead(JsonWriter& json, const ComparedSide& head, const Change& change) {
  WriteSide(json, "head", head);
  WriteDelta(json, change.delta);
  WriteLayers(json, change.layers);
  WriteOperators(json, change.operators);
  const HalfPrecision none;
  const HalfPrecision& half = head.half ? *head.half : none;
  WriteGroups(json, "kept_fp32", half.kept_fp32);
  json.Key("kept_fp32_weights").Object({{"count", half.fp32_weights}, {"bytes", half.fp32_weight_bytes}});
  WriteGroups(json, "casts_added", change.casts_added);
}

void WriteAmp(JsonWriter& json, const ComparedReports& comparison) {
  if (!json.KeyOf("base_amp", comparison.base_amp.has_value())) return;
  Report report;
  report.runs = {*comparison.base_amp};
  json.BeginObject();
  json.Key("amp").String(onnx_mem::NameOf(comparison.amp_dtype));
  WriteRuns(json, report, /*card_named=*/false);
  json.EndObject();
}

void WriteGate(JsonWriter& json, const ComparedReports& comparison) {
  if (!comparison.gate) return;
  json.Key("max_increase").Number(comparison.gate->most_percent / 100);
  json.Key("within").Bool(comparison.gate->exceeded.empty());
  json.Key("exceeded").BeginArray();
  for (const Excess& excess : comparison.gate->exceeded) {
    json.Object({{"head", excess.head},
                 {"figure", excess.figure},
                 {"base_bytes", excess.base_bytes},
                 {"head_bytes", excess.head_bytes}});
  }
  json.EndArray();
}

void WriteSideNeeds(JsonWriter& json, const RunSummary& run, int64_t limit_bytes) {
  json.BeginObject();
  for (const auto& [name, of, part] : kPartsOfRun) {
    if (run.*part) WriteNeed(json, name, NeedOf(*(run.*part)), limit_bytes);
  }
  json.EndObject();
}

// Verdicts are those of the heads.
void WriteHeld(JsonWriter& json, const ComparedReports& comparison) {
  if (comparison.limits.empty()) return;
  Verdict worst = Verdict::kFits;
  for (size_t i = 0; i < comparison.limits.size(); ++i) {
    worst = std::max(worst, VerdictOfHeads(comparison, i));
    if (comparison.limits[i].kind == Limit::Kind::kBudget) WriteBudget(json, comparison.limits[i]);
  }
  json.Key("verdict").String(onnx_mem::NameOf(worst));
  json.Key("gpus").BeginArray();
  for (size_t i = 0; i < comparison.limits.size(); ++i) {
    const Limit& limit = comparison.limits[i];
    if (limit.kind == Limit::Kind::kBudget) continue;
    json.BeginObject();
    WriteCardName(json, limit, VerdictOfHeads(comparison, i));
    json.Key("base");
    WriteSideNeeds(json, RunOfSide(comparison, limit, 0), limit.bytes);
    json.Key("heads").BeginArray();
    for (size_t side = 1; side <= comparison.heads.size(); ++side) {
      WriteSideNeeds(json, RunOfSide(comparison, limit, side), limit.bytes);
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

}  // namespace

void WriteComparison(JsonWriter& json, const ComparedReports& comparison) {
  WriteGate(json, comparison);
  WriteHeld(json, comparison);
  WriteSide(json, "base", comparison.base);
  WriteHead(json, comparison.heads.front(), comparison.changes.front());
  WriteAmp(json, comparison);
  if (comparison.heads.size() < 2) return;
  json.Key("more_heads").BeginArray();
  for (size_t h = 1; h < comparison.heads.size(); ++h) {
    json.BeginObject();
    WriteHead(json, comparison.heads[h], comparison.changes[h]);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace onnx_mem
