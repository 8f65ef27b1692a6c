// Verdicts in JSON: what a run was held against, what it needs on each card, and the batches that fit.
#include <algorithm>
#include <optional>

#include "report/analyze/answer.h"
#include "report/analyze/json_parts.h"

namespace onnx_mem {
namespace {

// One card and what each run needs there; of several batches a list.
void WriteGpu(JsonWriter& json, const Limit& limit, const std::vector<RunSummary>& runs) {
  json.BeginObject();
  WriteCardName(json, limit, VerdictOf(runs, {limit}).value_or(Verdict::kFits));
  const auto write_run = [&](const RunSummary& run) {
    for (const auto& [name, of, part] : kPartsOfRun) {
      if (run.*part) WriteNeed(json, name, NeedOn(limit, run, part), limit.bytes);
    }
  };
  if (runs.size() == 1) {
    write_run(runs.front());
  } else {
    json.Key("runs").BeginArray();
    for (const RunSummary& run : runs) {
      json.BeginObject();
      json.Key("batch").Int(run.batch);
      write_run(run);
      json.EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
}

void WriteCardPart(JsonWriter& json, const CardFit::Part& part) {
  json.Key("fits").Bool(part.verdict != Verdict::kDoesNotFit);
  WriteNeedMembers(json, part.need, part.verdict);
  if (part.over_ranks) json.Key("ranks").Int(*part.over_ranks);
  const BatchFigures batches = BatchFiguresOf(part);
#define ONNX_MEM_BATCH(type, member, ...) json.Add({{#member, batches.member}});
#include "include/onnx_mem/figures.inc"
}

void WriteCard(JsonWriter& json, const CardFit& card) {
  json.Key("gpu").Object(
      {{"name", NullIfEmpty(card.name)}, {"memory_bytes", card.memory_bytes}, {"usable_bytes", card.usable_bytes}});
  WriteCardPart(json, card.parts.front());
  for (const CardFit::Part& part : card.parts) {
    json.Key(part.name).BeginObject(JsonWriter::Layout::kOneLine);
    WriteCardPart(json, part);
    json.EndObject();
  }
}

}  // namespace

void WriteNeedMembers(JsonWriter& json, const Need& need, Verdict verdict) {
  json.Add({{"verdict", NameOf(verdict)}, {"device_bytes", need.expected_bytes}});
  json.Key("device_interval_bytes").Range(need.low_bytes, need.high_bytes);
}

void WriteNeed(JsonWriter& json, std::string_view key, const Need& need, int64_t limit_bytes) {
  json.Key(key).BeginObject(JsonWriter::Layout::kOneLine);
  WriteNeedMembers(json, need, VerdictOf(need, limit_bytes));
  json.EndObject();
}

void WriteCardName(JsonWriter& json, const Limit& limit, Verdict verdict) {
  json.Add({{"name", NullIfEmpty(limit.name)},
            {"memory_bytes", limit.memory_bytes},
            {"usable_bytes", limit.bytes},
            {"verdict", NameOf(verdict)}});
}

void WriteBudget(JsonWriter& json, const Limit& limit) {
  json.Key("budget_bytes").Int(limit.bytes);
  if (!limit.percent) return;
  json.Key("budget_of").Object({{"percent", *limit.percent}, {"bytes", limit.of_bytes}, {"what", limit.of_what}});
}

void WriteLimits(JsonWriter& json, const Report& report, const std::vector<Limit>& limits) {
  if (limits.empty()) return;
  const auto is_card = [](const Limit& limit) { return limit.kind == Limit::Kind::kGpu; };
  const bool one_card = std::count_if(limits.begin(), limits.end(), is_card) == 1;
  for (const Limit& limit : limits) {
    if (!is_card(limit)) WriteBudget(json, limit);
    if (!is_card(limit) || !one_card) continue;  // of several none is the one
    if (!limit.name.empty()) json.Key("gpu").String(limit.name);
    json.Key("gpu_memory_bytes").Int(limit.bytes);
  }
  const Verdict verdict = *VerdictOf(report.runs, limits);
  json.Key("fits").Bool(verdict != Verdict::kDoesNotFit);
  json.Key("verdict").String(NameOf(verdict));
  if (std::none_of(limits.begin(), limits.end(), is_card)) return;
  json.Key("gpus").BeginArray();
  for (const Limit& limit : limits) {
    if (is_card(limit)) WriteGpu(json, limit, report.runs);
  }
  json.EndArray();
}

void WriteFit(JsonWriter& json, const Report& report, const FitPart& fit) {
  WriteQuestion(json, report, fit.batch);
  json.Key("over").String(fit.over);
  json.Key("size").Int(fit.size);
  if (const CardFit::Part& part = fit.cards.front().parts.front(); part.over_ranks) {
    json.Key("ranks_among").Range(part.ranks->among.fewest, part.ranks->among.most);
    json.Key("ranks_tried").BeginArray(JsonWriter::Layout::kOneLine);
    for (const int64_t ranks : part.ranks->tried) json.Int(ranks);
    json.EndArray();
    json.Add({{"ways_ranks", fit.ways_ranks}});
  }
  WriteCard(json, fit.cards.front());
  json.Key("gpus").BeginArray();
  for (const CardFit& card : fit.cards) {
    json.BeginObject();
    WriteCardName(json, {Limit::Kind::kGpu, card.name, card.usable_bytes, "", card.memory_bytes},
                  card.parts.front().verdict);
    for (const CardFit::Part& part : card.parts) WriteNeed(json, part.name, part.need, card.usable_bytes);
    json.EndObject();
  }
  json.EndArray();
  json.Key("cards").BeginArray();
  for (const CardFit& card : fit.cards) {
    json.BeginObject();
    WriteCard(json, card);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace onnx_mem
