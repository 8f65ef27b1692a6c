// Verdicts in JSON: what a run was held against, what it needs on each card, and the batches that fit.
#include <algorithm>
#include <optional>

#include "report/analyze/answer.h"
#include "report/analyze/json_parts.h"

namespace onnx_mem {
namespace {

void NullOrName(JsonWriter& json, std::string_view name) { name.empty() ? json.Null() : json.String(name); }

void WriteIntOrNull(JsonWriter& json, const std::optional<int64_t>& number) {
  number ? json.Int(*number) : json.Null();
}

// One card and what each run needs there; of several batches a list.
void WriteGpu(JsonWriter& json, const Limit& limit, const std::vector<RunSummary>& runs) {
  json.BeginObject();
  WriteCardName(json, limit, VerdictOf(runs, {limit}).value_or(Verdict::kFits));
  const auto write_run = [&](const RunSummary& run) {
    if (run.training) WriteNeed(json, "training", NeedOn(limit, run, &RunSummary::training), limit.bytes);
    if (run.inference) WriteNeed(json, "inference", NeedOn(limit, run, &RunSummary::inference), limit.bytes);
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
  const BatchEdges unknown;
  const BatchEdges& batches = part.batches ? *part.batches : unknown;
  const auto write_batch = [&](std::string_view key, const FittingBatch& edge) {
    json.Key(key);
    WriteIntOrNull(json, part.batches ? std::optional(edge.batch) : std::nullopt);
  };
  const auto write = [&](std::string_view key, const std::optional<int64_t>& number) {
    json.Key(key);
    WriteIntOrNull(json, number);
  };
  json.Key("fits").Bool(part.verdict != Verdict::kDoesNotFit);
  WriteNeedMembers(json, part.need, part.verdict);
  write_batch("safe_batch", batches.safe);
  write_batch("largest_batch", batches.expected);
  write("impossible_from", batches.impossible_from);
  json.Key("at_least").Bool(batches.expected.at_least);
  write("safe_batch_high_bytes", batches.safe.device_bytes);
  write("next_safe_batch_high_bytes", batches.safe.device_bytes_beyond);
  write("largest_batch_device_bytes", batches.expected.device_bytes);
  write("next_batch_device_bytes", batches.expected.device_bytes_beyond);
  write("last_possible_batch_low_bytes", batches.possible_low_bytes);
  write("impossible_from_low_bytes", batches.impossible_low_bytes);
}

void WriteCard(JsonWriter& json, const CardFit& card) {
  json.Key("gpu").BeginObject(JsonWriter::Layout::kOneLine);
  json.Key("name");
  NullOrName(json, card.name);
  json.Key("memory_bytes");
  WriteIntOrNull(json, card.memory_bytes);
  json.Key("usable_bytes").Int(card.usable_bytes);
  json.EndObject();
  WriteCardPart(json, card.parts.front());
  for (const CardFit::Part& part : card.parts) {
    json.Key(part.name).BeginObject(JsonWriter::Layout::kOneLine);
    WriteCardPart(json, part);
    json.EndObject();
  }
}

}  // namespace

void WriteNeedMembers(JsonWriter& json, const Need& need, Verdict verdict) {
  json.Key("verdict").String(NameOf(verdict));
  json.Key("device_bytes").Int(need.expected_bytes);
  json.Key("device_interval_bytes").BeginArray(JsonWriter::Layout::kOneLine);
  json.Int(need.low_bytes).Int(need.high_bytes).EndArray();
}

void WriteNeed(JsonWriter& json, std::string_view key, const Need& need, int64_t limit_bytes) {
  json.Key(key).BeginObject(JsonWriter::Layout::kOneLine);
  WriteNeedMembers(json, need, VerdictOf(need, limit_bytes));
  json.EndObject();
}

void WriteCardName(JsonWriter& json, const Limit& limit, Verdict verdict) {
  json.Key("name");
  NullOrName(json, limit.name);
  json.Key("memory_bytes");
  limit.memory_bytes ? json.Int(*limit.memory_bytes) : json.Null();
  json.Key("usable_bytes").Int(limit.bytes);
  json.Key("verdict").String(NameOf(verdict));
}

void WriteBudget(JsonWriter& json, const Limit& limit) {
  json.Key("budget_bytes").Int(limit.bytes);
  if (!limit.percent) return;
  json.Key("budget_of").BeginObject(JsonWriter::Layout::kOneLine);
  json.Key("percent").Number(*limit.percent);
  json.Key("bytes").Int(limit.of_bytes);
  json.Key("what").String(limit.of_what);
  json.EndObject();
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
  json.Key("bindings").BeginObject(JsonWriter::Layout::kOneLine);
  json.Key("batch").Int(fit.asked_batch);
  for (const auto& [name, size] : report.bound_dims) {
    if (name != "batch") json.Key(name).Int(size);
  }
  json.EndObject();
  json.Key("assumptions").BeginObject();
  for (const auto& [name, value] : report.assumptions) json.Key(name).String(value);
  json.EndObject();
  json.Key("over").String("batch");
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
