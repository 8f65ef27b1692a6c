#include "report/analyze/answer.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "planner/advice/way.h"
#include "report/parts/figures.h"

namespace onnx_mem {
namespace {

AnswerLine AnswerOf(const RunSummary& run, const PartOfRun& which, const std::vector<Limit>& limits, ByteUnit units) {
  const PartSummary& part = *(run.*which.part);
  AnswerLine line;
  line.part = which.name;
  line.at_least = part.at_least;
  line.size = FormatBytesIn(part.device_bytes, units);
  line.interval = IntervalText(NeedOf(part), line.size);
  for (const Limit& limit : limits) {
    if (!line.verdict.empty()) line.verdict += "; ";
    line.verdict += VerdictText(NeedOn(limit, run, which.part), limit, units);
  }
  line.answer = VerdictOf(run, which.part, limits).value_or(Verdict::kFits);
  return line;
}

// What one size more takes.
std::string BeyondText(const FittingBatch& edge, ByteUnit units) {
  if (edge.refused_beyond) return "the model does not run";
  return edge.device_bytes_beyond ? FormatBytesIn(*edge.device_bytes_beyond, units) : "too much";
}

// "Safe up to batch 148: at most 14.7 GiB (batch 149: 14.8 GiB)".
std::string EdgeLine(std::string_view what, std::string_view none, std::string_view end, std::string_view over,
                     const FittingBatch& edge, ByteUnit units) {
  if (edge.batch == 0) {
    const bool sample = over == kBatchAxis && edge.next == 1;
    const std::string least = sample ? "one sample" : absl::StrFormat("%s %d", over, edge.next);
    return absl::StrFormat("No %s is %s: %s %s %s", over, none, least, end.empty() ? "takes" : "may take",
                           BeyondText(edge, units));
  }
  std::string line = absl::StrFormat("%s up to %s %d: %s%s", what, over, edge.batch, end,
                                     FormatBytesIn(edge.device_bytes.value_or(0), units));
  if (edge.at_least) return line + ", and no larger one was looked at";
  return line + absl::StrFormat(" (%s %d: %s)", over, edge.next, BeyondText(edge, units));
}

}  // namespace

Need NeedOn(const Limit& limit, const RunSummary& run, RunPart part) {
  const std::optional<PartSummary>& there = RunOn(limit, run).*part;
  return NeedOf(there ? *there : *(run.*part));
}

std::vector<AnswerLine> AnswerLines(const RunSummary& run, const std::vector<Limit>& limits, ByteUnit units) {
  std::vector<AnswerLine> lines;
  for (const PartOfRun& which : kPartsOfRun) {
    if (run.*which.part) lines.push_back(AnswerOf(run, which, limits, units));
  }
  return lines;
}

Paint PaintOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits: return Paint::kGreen;
    case Verdict::kMayFit: return Paint::kYellow;
    case Verdict::kDoesNotFit: break;
  }
  return Paint::kRed;
}

std::string IntervalText(const Need& need, std::string_view size) {
  if (need.low_bytes >= need.high_bytes) return "";
  const std::string_view unit_name = size.substr(size.rfind(' ') + 1);
  const ByteUnit unit = ParseByteUnit(unit_name).value_or(ByteUnit::kB);
  const std::string from = FormatBytesIn(need.low_bytes, unit);
  return absl::StrFormat("%s - %s", from.substr(0, from.rfind(' ')), FormatBytesIn(need.high_bytes, unit));
}

std::string ShareText(const Limit& limit, ByteUnit units) {
  if (!limit.percent) return "";
  return absl::StrFormat("%g %% of %s%s%s", *limit.percent, FormatBytesIn(limit.of_bytes, units),
                         limit.of_what.empty() ? "" : " ", limit.of_what);
}

std::string LimitText(const Limit& limit, ByteUnit units) {
  const std::string size = FormatBytesIn(limit.bytes, units);
  if (limit.kind == Limit::Kind::kBudget) {
    return absl::StrFormat("the budget of %s%s", size,
                           limit.percent ? absl::StrFormat(" (%s)", ShareText(limit, units)) : "");
  }
  if (limit.name.empty()) return size;
  return absl::StrFormat("%s (%s)", limit.name, limit.state.empty() ? size : limit.state);
}

std::string ParameterWords(const ReportedModel& model) {
  const std::string count = absl::StrFormat("%s parameters", ShortCount(model.parameters));
  return model.parameter_dtype.empty() ? count : absl::StrFormat("%s (%s)", count, model.parameter_dtype);
}

std::string VerdictText(const Need& need, const Limit& limit, ByteUnit units) {
  const Verdict verdict = VerdictOf(need, limit.bytes);
  const std::string rest = verdict == Verdict::kDoesNotFit
                               ? FormatBytesIn(need.expected_bytes - limit.bytes, units) + " over"
                               : Percent(need.expected_bytes, limit.bytes);
  return absl::StrFormat("%s %s, %s", WordsOf(verdict), LimitText(limit, units), rest);
}

std::string ShortVerdict(const Need& need, const Limit& limit, ByteUnit units) {
  const Verdict verdict = VerdictOf(need, limit.bytes);
  if (verdict == Verdict::kDoesNotFit) {
    return absl::StrFormat("%s, %s over", WordsOf(verdict), FormatBytesIn(need.expected_bytes - limit.bytes, units));
  }
  return absl::StrFormat("%s, %s", WordsOf(verdict), Percent(need.expected_bytes, limit.bytes));
}

std::string PartName(const CardFit::Part& part) {
  if (!part.over_ranks) return part.name;
  return absl::StrFormat("%s over %d rank%s", part.name, *part.over_ranks, *part.over_ranks == 1 ? "" : "s");
}

std::string RanksLine(const CardFit::Part& part) {
  const FewestRanks& ranks = *part.ranks;
  std::string line = absl::StrFormat("Of %d to %d ranks", ranks.among.fewest, ranks.among.most);
  if (!ranks.each_tried) absl::StrAppendFormat(&line, ", %d of them tried,", ranks.tried.size());
  if (!ranks.expected) return line + " none are expected to fit";
  absl::StrAppendFormat(&line, " the fewest expected to fit: %d", *ranks.expected);
  return line + (ranks.safe ? absl::StrFormat(", safe: %d", *ranks.safe) : ", none are safe");
}

std::string TrafficWords(const TrafficCost& cost, ByteUnit units) {
  std::vector<std::string> parts;
  for (const Traffic& each : cost.exchanges) {
    if (!IsOfHost(each.exchange)) {
      parts.push_back(absl::StrFormat("%s %s", NameOf(each.exchange), FormatBytesIn(each.bytes, units)));
    }
  }
  std::string words = "receives nothing from other ranks";
  if (!parts.empty()) {
    words = absl::StrFormat("receives %s a step (%s): %s over %s of %s", FormatBytesIn(cost.peer_bytes, units),
                            absl::StrJoin(parts, ", "), ShortTime(cost.peer_ns), cost.peer_link, cost.card);
  }
  if (cost.host_bytes == 0) return words;
  return words + absl::StrFormat("; moves %s to and from the host: %s over %s", FormatBytesIn(cost.host_bytes, units),
                                 ShortTime(cost.host_ns), cost.host_link);
}

std::string StagesWords(const SpreadPlan& spread) {
  if (spread.begins.empty()) return "";
  return absl::StrCat("; stages begin at ", absl::StrJoin(spread.begins, ", "),
                      "; segments lie inside a stage, and free that of one micro-batch");
}

std::string MoreTrafficWords(const ReceivedBytes& received, ByteUnit units) {
  const TrafficCost &without = received.without, &with = received.with;
  const int64_t more = with.peer_bytes - without.peer_bytes;
  if (more == 0) return ", of which the plan adds none";
  return absl::StrFormat("; the plan's second runs receive %s more a step: %s over %s of %s",
                         FormatBytesIn(more, units), ShortTime(with.peer_ns - without.peer_ns), with.peer_link,
                         with.card);
}

std::string SizeText(const FitPart& fit, bool begins) {
  return absl::StrFormat("%s %d", begins && fit.over == kBatchAxis ? "Batch" : fit.over, fit.size);
}

std::vector<std::string> BatchLines(const CardFit::Part& part, std::string_view over, ByteUnit units) {
  if (!part.batches) return {absl::StrFormat("The file's %s is fixed: no other one can be looked at", over)};
  const BatchEdges& batches = *part.batches;
  std::vector<std::string> lines = {EdgeLine("Safe", "safe", "at most ", over, batches.safe, units),
                                    EdgeLine("Expected to fit", "expected to fit", "", over, batches.expected, units)};
  if (!batches.impossible_from) {
    lines.push_back(absl::StrFormat("No %s up to %d is impossible", over, kLargestBatch));
    return lines;
  }
  std::string line = absl::StrFormat("Impossible from %s %d", over, *batches.impossible_from);
  if (batches.impossible_low_bytes) {
    absl::StrAppendFormat(&line, ": at least %s", FormatBytesIn(*batches.impossible_low_bytes, units));
  }
  if (batches.possible_low_bytes) {
    absl::StrAppendFormat(&line, " (%s %d: %s)", over, batches.possible,
                          FormatBytesIn(*batches.possible_low_bytes, units));
  }
  lines.push_back(std::move(line));
  return lines;
}

std::string EdgeText(const std::optional<BatchEdges>& batches, FittingBatch BatchEdges::*edge) {
  if (!batches) return "-";
  const FittingBatch& at = (*batches).*edge;
  return absl::StrFormat("%s%d", at.at_least ? "at least " : "", at.batch);
}

std::string ImpossibleText(const std::optional<BatchEdges>& batches) {
  return batches && batches->impossible_from ? absl::StrFormat("%d", *batches->impossible_from) : "-";
}

std::string TrainsText(const Report& report) {
  for (const auto& [name, value] : report.assumptions) {
    if (name == "trains") return value;
  }
  return "";
}

std::string AssumptionsText(const Report& report) {
  std::string text;
  for (const auto& [name, value] : report.assumptions) {
    if (value == "file" || (value == "none" && name == "amp")) continue;  // nothing was changed
    if (name == "loss-over") {                                            // a part of what stands before it
      text += " over " + value;
      continue;
    }
    text += text.empty() ? "Assumes " : ", ";
    text += name;
    if (!value.empty()) text += " " + value;
  }
  return text.empty() ? text : text + ".";
}

std::string AssumptionNamed(const Report& report, std::string_view name) {
  for (const auto& [key, value] : report.assumptions) {
    if (key == name) return value;
  }
  return "";
}

std::vector<size_t> CheapestWays(const Table& savings) {
  std::vector<size_t> first, more;
  for (Price price : {Price::kNothing, Price::kAccuracy, Price::kTime, Price::kTraining}) {
    bool seen = false;
    for (size_t i = 0; i < savings.rows.size(); ++i) {  // in the order of what they save
      if (std::get<std::string>(CellAt(savings, savings.rows[i], "price")) != NameOf(price)) continue;
      (seen ? more : first).push_back(i);
      seen = true;
    }
  }
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

DeviceWords WordsOfDevice(const Report& report) {
  DeviceWords words{"on the GPU", "as nvidia-smi shows it", "allocator, CUDA context"};
  if (AssumptionNamed(report, "for") != "onnxruntime") return words;
  words.rest = "arena, CUDA context";
  if (AssumptionNamed(report, "device") == "cpu") {
    words = {"resident", "what the process grows by (VmRSS)", "arena's rest, nodes"};
  }
  if (!absl::SimpleAtoi(AssumptionNamed(report, "sessions"), &words.sessions)) words.sessions = 1;
  return words;
}

std::string BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace onnx_mem
