#include "cli/options/option_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/name_pattern.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/run/decimal.h"
#include "report/parts/formats.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostBatches = 1024;

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string_view> SplitAt(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + separator.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// First and last batch of "8" or "1..64".
absl::StatusOr<std::pair<int64_t, int64_t>> ParseBatchRange(std::string_view text) {
  const std::vector<std::string_view> ends = SplitAt(text, "..");
  const std::optional<int64_t> first = WholeNumber(ends.front());
  const std::optional<int64_t> last = WholeNumber(ends.back());
  if (!first || !last || ends.size() > 2) {
    return UsageError(absl::StrFormat("'%s' is not a number, list (8,16) or range (1..64)", text));
  }
  if (*first < 1) return UsageError(absl::StrFormat("'%s': a batch is at least 1", text));
  if (*last < *first) return UsageError(absl::StrFormat("'%s': the range ends before it begins", text));
  return std::make_pair(*first, *last);
}

// "NAME=VALUE" at its last '=', since a name of a graph may hold one.
std::optional<std::pair<std::string, std::string_view>> SplitBinding(std::string_view text) {
  const size_t at = text.rfind('=');
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) return std::nullopt;
  return std::make_pair(std::string(text.substr(0, at)), text.substr(at + 1));
}

}  // namespace

std::string TryOneBatch(const Options& options) {
  return absl::StrFormat("try: ... -b %d   # one batch", options.batches.front());
}

absl::Status UsageError(std::string_view message, std::vector<std::string> details) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage, message, std::move(details));
}

absl::Status UnknownChoice(std::string_view text, const std::vector<std::string>& choices,
                           const std::vector<std::string>& others) {
  std::vector<std::string> known = choices;
  for (const std::string& words : others) {
    for (std::string_view word : SplitAt(words, " ")) {
      if (!word.empty()) known.emplace_back(word);
    }
  }
  std::vector<std::string> details;
  if (std::string hint = DidYouMean(text, known); !hint.empty()) details.push_back(hint);
  return UsageError(absl::StrFormat("'%s' is not one of %s", text, absl::StrJoin(choices, ", ")), details);
}

std::string_view InPlaceWord(std::string_view text) {
  constexpr auto kWords = std::to_array<std::string_view>({"auto", "norms", "all", "none"});
  const auto* found = std::find_if(kWords.begin(), kWords.end(), [&](auto word) { return SameWord(word, text); });
  return found == kWords.end() ? "" : *found;
}

absl::StatusOr<int64_t> ParseSize(std::string_view text) {
  ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes(text));
  const bool bare = text.find_first_not_of(" .0123456789") == std::string_view::npos;
  if (!bare || bytes == 0) return bytes;
  // A card has up to some hundred GiB, nvidia-smi tells it in MiB, and what is larger than both is a number of bytes.
  constexpr int64_t kMostGiB = int64_t{1} << 10, kMostMiB = int64_t{1} << 20;
  const std::string meant = bytes >= kMostMiB ? absl::StrFormat("did you mean: %sB      (%s)", text, FormatBytes(bytes))
                                              : absl::StrFormat("did you mean: %s%s      (bytes: %sB)", text,
                                                                bytes < kMostGiB ? "GiB" : "MiB", text);
  return UsageError(absl::StrFormat("'%s' is a number without a unit", text), {meant});
}

absl::StatusOr<int64_t> ParseCount(std::string_view text) {
  const std::optional<int64_t> number = WholeNumber(text);
  if (!number) return UsageError(absl::StrFormat("'%s' is not a whole number", text));
  return *number;
}

absl::Status CheckBatches(const std::vector<int64_t>& batches) {
  if (batches.size() > kMostBatches) return UsageError(absl::StrFormat("these are more than %d batches", kMostBatches));
  for (const int64_t batch : batches) {
    if (batch < 1) return UsageError(absl::StrFormat("'%d': a batch is at least 1", batch));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> ParseBatches(std::string_view text) {
  std::vector<int64_t> batches;
  for (std::string_view part : SplitAt(text, ",")) {
    ASSIGN_OR_RETURN(const auto range, ParseBatchRange(part));
    const auto [first, last] = range;
    if (last - first >= static_cast<int64_t>(kMostBatches - batches.size())) {
      return UsageError(absl::StrFormat("'%s' is more than %d batches", text, kMostBatches));
    }
    for (int64_t i = 0; i <= last - first; ++i) {  // counted from 0: last may be the largest number that there is
      const int64_t batch = first + i;
      if (std::find(batches.begin(), batches.end(), batch) == batches.end()) batches.push_back(batch);
    }
  }
  return batches;
}

absl::StatusOr<std::vector<std::string>> ParseNames(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view part : SplitAt(text, ",")) {
    const size_t first = part.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
      return UsageError(
          absl::StrFormat("'%s' has no name %s", text, names.empty() ? "before its comma" : "after a comma"),
          {"way out: names with one comma between two of them, as in first,second"});
    }
    names.emplace_back(part.substr(first, part.find_last_not_of(" \t") + 1 - first));
  }
  return names;
}

absl::StatusOr<std::pair<std::string, int64_t>> ParseDimBinding(std::string_view text) {
  const auto binding = SplitBinding(text);
  const std::optional<int64_t> size = binding ? WholeNumber(binding->second) : std::nullopt;
  if (!size) return UsageError(absl::StrFormat("'%s' is not of the form NAME=N", text), {"for example: seq=512"});
  if (*size < 0) return UsageError(absl::StrFormat("'%s': a dimension cannot be negative", text));
  return std::make_pair(binding->first, *size);
}

absl::StatusOr<std::pair<std::string, Dims>> ParseInputShape(std::string_view text) {
  const auto malformed = [&] { return UsageError(absl::StrFormat("'%s' is not of the form NAME=1x3x224x224", text)); };
  const auto binding = SplitBinding(text);
  if (!binding) return malformed();
  if (binding->second == "scalar") return std::make_pair(binding->first, Dims());
  Dims dims;
  for (std::string_view part : SplitAt(binding->second, "x")) {
    const std::optional<int64_t> size = WholeNumber(part);
    if (!size || *size < 0) return malformed();
    dims.push_back(*size);
  }
  return std::make_pair(binding->first, dims);
}

absl::StatusOr<double> ParseProbability(std::string_view text) {
  const std::optional<double> number = DecimalNumber(text);
  if (number && !std::signbit(*number) && *number < 1) return *number;
  return UsageError(absl::StrFormat("'%s' is not a probability from 0 to less than 1, nor the word file", text));
}

absl::StatusOr<double> ParseSeconds(std::string_view text) {
  const std::optional<double> number = DecimalNumber(text);
  if (number && *number >= 0 && *number <= 1e9) return *number;
  return UsageError(absl::StrFormat("'%s' is not a number of seconds", text));
}

absl::StatusOr<double> ParsePercent(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && digits.back() == '%') digits.remove_suffix(1);
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  const std::optional<double> number = DecimalNumber(digits);
  if (number && *number >= 0 && *number <= 1e9) return *number;
  return UsageError(absl::StrFormat("'%s' is not a percentage", text), {"for example: 2%"});
}

absl::StatusOr<double> ParseShare(std::string_view text) {
  const auto not_a_share = [&](std::string_view why) {
    return UsageError(absl::StrFormat("'%s' is not a share: %s", text, why),
                      {"for example: --budget 50%, or a size: 4GiB"});
  };
  const size_t mark = text.find('%');
  if (mark == std::string_view::npos || text.substr(mark + 1).find_first_not_of(' ') != std::string_view::npos) {
    return not_a_share("it does not end with its %");
  }
  const absl::StatusOr<double> percent = ParsePercent(text.substr(0, text.find_last_not_of(' ') + 1));
  if (!percent.ok()) return not_a_share("it has no number");
  if (*percent <= 0) return not_a_share("nothing fits into it");
  return *percent;
}

absl::StatusOr<Export> ParseExport(std::string_view text) {
  const size_t at = text.find('=');
  if (at != std::string_view::npos && at > 0 && text.substr(0, at).find_first_of("./") == std::string_view::npos) {
    Export named{std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
    const FormatRow* row = FormatMeant(named.format);
    if (row == nullptr) return UnknownChoice(named.format, FormatNames());
    named.format = std::string(row->name);
    if (named.path.empty()) return UsageError(absl::StrFormat("'%s' names no file", text));
    return named;
  }
  const size_t dot = text.rfind('.');
  const FormatRow* format = dot == std::string_view::npos ? nullptr : FormatMeant(text.substr(dot + 1));
  if (format == nullptr) {
    return UsageError(
        absl::StrFormat("'%s' does not tell its format by its extension", text),
        {absl::StrFormat("way out: FORMAT=%s, where FORMAT is one of %s", text, absl::StrJoin(FormatNames(), ", "))});
  }
  return Export{std::string(format->name), std::string(text)};
}

absl::Status CheckRegex(std::string_view text) {
  if (!NamePattern::Compile(text)) return UsageError(absl::StrFormat("'%s' is not a regular expression", text));
  return absl::OkStatus();
}

}  // namespace onnx_mem
