#include "cli/report/analyze/answer.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "cli/report/parts/figures.h"
#include "planner/plans/advice/way.h"

namespace onnx_mem {
namespace {

// "5.70 - 6.30 GiB": both ends in the unit of `size`, beside which they stand.
std::string IntervalText(int64_t low, int64_t high, std::string_view size) {
  const std::string_view unit_name = size.substr(size.rfind(' ') + 1);
  const ByteUnit unit = ParseByteUnit(unit_name).value_or(ByteUnit::kB);
  const std::string from = FormatBytesIn(low, unit);
  return absl::StrFormat("%s - %s", from.substr(0, from.rfind(' ')), FormatBytesIn(high, unit));
}

AnswerLine AnswerOf(std::string part_name, const PartSummary& part, const std::vector<Limit>& limits, ByteUnit units) {
  AnswerLine line;
  line.part = std::move(part_name);
  line.at_least = part.at_least;
  line.size = FormatBytesIn(part.device_bytes, units);
  if (part.device_low_bytes < part.device_high_bytes) {
    line.interval = IntervalText(part.device_low_bytes, part.device_high_bytes, line.size);
  }
  for (const Limit& limit : limits) {
    if (!line.verdict.empty()) line.verdict += "; ";
    line.verdict += VerdictText(part.device_bytes, part.device_high_bytes, limit, units);
    line.answer = std::max(line.answer, VerdictOf(part.device_bytes, part.device_high_bytes, limit));
  }
  return line;
}

// "RTX 4090 (23.6 GiB)", or the size alone.
std::string CardText(const Limit& limit, const std::string& size) {
  if (limit.name.empty()) return size;
  return absl::StrFormat("%s (%s)", limit.name, limit.state.empty() ? size : limit.state);
}

}  // namespace

std::vector<AnswerLine> AnswerLines(const RunSummary& run, const std::vector<Limit>& limits, ByteUnit units) {
  std::vector<AnswerLine> lines;
  if (run.training) lines.push_back(AnswerOf("training", *run.training, limits, units));
  if (run.inference) lines.push_back(AnswerOf("inference", *run.inference, limits, units));
  return lines;
}

Verdict VerdictOf(int64_t bytes, int64_t high_bytes, const Limit& limit) {
  if (bytes > limit.bytes) return Verdict::kTooLarge;
  return high_bytes > limit.bytes ? Verdict::kTight : Verdict::kFits;
}

std::optional<Verdict> VerdictOf(const PartSummary& part, const std::vector<Limit>& limits) {
  std::optional<Verdict> verdict;
  for (const Limit& limit : limits) {
    const Verdict of_limit = VerdictOf(part.device_bytes, part.device_high_bytes, limit);
    verdict = std::max(verdict.value_or(of_limit), of_limit);
  }
  return verdict;
}

std::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits: return "fits";
    case Verdict::kTight: return "tight";
    case Verdict::kTooLarge: return "too_large";
  }
  return "";
}

Paint PaintOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits: return Paint::kGreen;
    case Verdict::kTight: return Paint::kYellow;
    case Verdict::kTooLarge: break;
  }
  return Paint::kRed;
}

std::string VerdictText(int64_t bytes, int64_t high_bytes, const Limit& limit, ByteUnit units) {
  const std::string size = FormatBytesIn(limit.bytes, units);
  const std::string share = Percent(bytes, limit.bytes);
  const std::string over = FormatBytesIn(bytes - limit.bytes, units);
  const bool budget = limit.kind == Limit::Kind::kBudget;
  const std::string what = budget ? "the budget of " + size : CardText(limit, size);
  switch (VerdictOf(bytes, high_bytes, limit)) {
    case Verdict::kFits: return absl::StrFormat("%s %s, %s", budget ? "within" : "fits", what, share);
    case Verdict::kTight: return absl::StrFormat("tight %s %s, %s", budget ? "in" : "on", what, share);
    case Verdict::kTooLarge: break;
  }
  return absl::StrFormat("%s %s by %s", budget ? "over" : "too large for", what, over);
}

std::string LimitTitle(const Limit& limit, ByteUnit units) {
  const std::string size = FormatBytesIn(limit.bytes, units);
  if (limit.kind == Limit::Kind::kBudget) return absl::StrFormat("of a budget of %s", size);
  return absl::StrFormat("of %s", CardText(limit, size));
}

std::string ShortVerdict(const PartSummary& part, const Limit& limit, ByteUnit units) {
  const int64_t bytes = part.device_bytes;
  const Verdict verdict = VerdictOf(bytes, part.device_high_bytes, limit);
  if (verdict == Verdict::kTooLarge) {
    return absl::StrFormat("too large by %s", FormatBytesIn(bytes - limit.bytes, units));
  }
  return absl::StrFormat("%s, %s", NameOf(verdict), Percent(bytes, limit.bytes));
}

std::string LargestText(const CardFit::Part& part) {
  if (!part.batch_known) return "the file's batch alone";
  return absl::StrFormat("%s%d", part.at_least ? "at least " : "", part.largest_batch);
}

std::string LargestProofText(const CardFit::Part& part, ByteUnit units) {
  if (!part.largest_bytes || !part.beyond_bytes) return "";
  return absl::StrFormat("(%s; one more %s)", FormatBytesIn(*part.largest_bytes, units),
                         FormatBytesIn(*part.beyond_bytes, units));
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
    if (name == "loss-over") {  // a part of what stands before it
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
