// The member "runs" of a report: every figure of a batch, by the rows of figures.inc.
#include <algorithm>

#include "report/analyze/answer.h"
#include "report/analyze/json_parts.h"
#include "report/analyze/report.h"
#include "report/parts/json_writer.h"

namespace onnx_mem {
namespace {

using Layout = JsonWriter::Layout;

void WritePeak(JsonWriter& json, const PeakPlace& peak) {
  json.Key("peak").BeginObject(Layout::kOneLine);
  if (peak.known) {
    json.Add({{"phase", NameOf(peak.phase)}, {"step", peak.step}, {"node", NullIfEmpty(peak.node)}});
    json.Add({{"module", peak.module}, {"op", peak.op}});
  }
  json.EndObject();
}

void WritePeaks(JsonWriter& json, const PeakFigures& figures, FigureOf of) {
  for (const PeakRow& row : kPeakRows) {
    if (!row.is_of(of)) continue;
    if (!json.KeyOf(row.key, row.is_known(figures))) continue;
    if (row.is_range()) {
      json.Range(figures.*row.value, figures.*row.high);
    } else {
      json.Int(figures.*row.value);
    }
  }
}

// What inferences alone have: what a runtime that plans ahead takes, and the parts of a session.
void WritePlannedAhead(JsonWriter& json, const PartSummary& part) {
  if (json.KeyOf("planned_peak_bytes", part.ideal_peak_bytes > 0)) json.Int(part.ideal_peak_bytes);
  json.Add({{"planned_arena_bytes", part.ideal_arena_bytes}});
  if (!part.session) return;
  json.Key("session").Object({{"weight_bytes", part.session->weight_bytes},
                              {"arena_bytes", part.session->arena_bytes},
                              {"arena_touched_bytes", part.session->touched_bytes},
                              {"pattern_bytes", part.session->pattern_bytes}});
}

void WritePart(JsonWriter& json, const RunSummary& run, const PartOfRun& which, const std::vector<Limit>& limits) {
  if (!json.KeyOf(which.name, (run.*which.part).has_value())) return;
  const PartSummary& part = *(run.*which.part);
  json.BeginObject();
  WritePeaks(json, part, which.of);
  if (const auto verdict = VerdictOf(run, which.part, limits)) json.Key("verdict").String(NameOf(*verdict));
  WritePasses(json, which.name, run);
  if (which.of == FigureOf::kInference) WritePlannedAhead(json, part);
  json.Add({{"lower_bound", part.at_least}, {"steps", part.steps}});
  WritePeak(json, part.peak);
  WriteBreakdown(json, part, which.of);
  json.EndObject();
}

void WriteTimeOf(JsonWriter& json, std::string_view key, const std::optional<PartSummary>& part) {
  if (!json.KeyOf(key, part && part->time)) return;
  const TimeEstimate& time = *part->time;
  json.BeginObject(Layout::kOneLine);
  json.Add({{"forward_ns", time.forward_ns + time.loss_ns},
            {"backward_ns", time.backward_ns},
            {"recompute_ns", time.recompute_ns}});
  if (time.offload_ns > 0) json.Add({{"offload_ns", time.offload_ns}});
  json.Add({{"optimizer_ns", time.optimizer_ns},
            {"step_ns", time.step_ns},
            {"measured_ns", time.measured_ns},
            {"bound", NameOf(time.bound)}});
  json.Key("bound_by").BeginObject(Layout::kOneLine);
  for (Bound bound : {Bound::kCompute, Bound::kBandwidth, Bound::kLaunch}) {
    json.Key(NameOf(bound)).Int(time.by_bound_ns[static_cast<size_t>(bound)]);
  }
  json.EndObject().EndObject();
}

// An estimate in nanoseconds on a card, which is a default one unless "card_named".
void WriteTime(JsonWriter& json, bool card_named, const RunSummary& run) {
  const PartSummary& part = MainPart(run);
  if (!json.KeyOf("time", part.time.has_value())) return;
  json.BeginObject();
  json.Add({{"card", part.time->card}, {"card_named", card_named}});
  json.Key("assumptions").Texts(part.time->assumptions);
  for (const PartOfRun& which : kPartsOfRun) {
    WriteTimeOf(json, which.name, run.*which.part);
  }
  json.EndObject();
}

}  // namespace

void WritePasses(JsonWriter& json, std::string_view object, const RunSummary& run) {
  for (const PassRow& row : kPassRows) {
    if (row.object == object && (run.with_plan || !row.with_plan)) json.Key(row.key).Int(run.*row.value);
  }
}

void WriteBreakdown(JsonWriter& json, const PartSummary& part, FigureOf of) {
  json.Key("breakdown").BeginObject();
  for (const auto& [name, bytes] : BreakdownOf(part, of)) json.Key(name).Int(bytes);
  json.EndObject();
}

void WriteByRanks(JsonWriter& json, const RunSummary& run) {
  if (run.by_ranks.empty()) return;
  json.Key("ranks").BeginArray();
  for (const auto& [ranks, need] : run.by_ranks) {
    json.BeginObject(Layout::kOneLine);
    json.Key("ranks").Int(ranks);
    json.Key("device_bytes").Int(need.expected_bytes);
    json.Key("device_interval_bytes").BeginArray(Layout::kOneLine).Int(need.low_bytes).Int(need.high_bytes);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

// Bytes that a rank receives in a step, and what they take at the rates of the card's links.
void WriteTraffic(JsonWriter& json, const RunSummary& run) {
  if (!run.traffic) return;
  const TrafficCost& cost = *run.traffic;
  json.Key("traffic").BeginObject();
  json.Add({{"card", cost.card}, {"link", cost.peer_link}, {"received_bytes", cost.peer_bytes}});
  json.Add({{"received_ns", cost.peer_ns}, {"host_link", cost.host_link}, {"host_bytes", cost.host_bytes}});
  json.Add({{"host_ns", cost.host_ns}});
  json.Key("exchanges").BeginObject(Layout::kOneLine);
  for (const Traffic& each : cost.exchanges) json.Key(NameOf(each.exchange)).Int(each.bytes);
  json.EndObject().EndObject();
}

void WriteRuns(JsonWriter& json, const Report& report, bool card_named) {
  const std::vector<Limit>& limits = LimitsOf(report);
  json.Key("runs").BeginArray();
  for (const RunSummary& run : report.runs) {
    json.BeginObject();
    json.Key("batch").Int(run.batch);
    for (const PartOfRun& which : kPartsOfRun) WritePart(json, run, which, limits);
    WriteByRanks(json, run);
    WriteTraffic(json, run);
    json.Key("flops").BeginObject(Layout::kOneLine);
    WritePasses(json, "flops", run);
    json.Key("macs").Int(run.forward_flops / 2);
    json.EndObject();
    WriteTime(json, card_named, run);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace onnx_mem
