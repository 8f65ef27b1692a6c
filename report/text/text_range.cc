// The range of each figure taken apart, with -v: low, expected and high, and why.
#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "report/analyze/range.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kCause = 33;
constexpr size_t kEnd = 13;

std::string Moved(std::string_view sign, int64_t bytes, ByteUnit unit) {
  return bytes == 0 ? "-" : absl::StrFormat("%s%s", sign, SizeIn(bytes, unit));
}

std::string RowOfRange(std::string label, std::string low, std::string expected, std::string high) {
  std::string line = std::string(kIndent, ' ') + PadRight(std::move(label), kCause) + PadLeft(low, kEnd) +
                     PadLeft(expected, kEnd) + PadLeft(high, kEnd);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

std::string RangeText(const Report& report, const Screen& screen) {
  const RunSummary& run = report.runs.front();
  int64_t largest = 0;
  for (const PartOfRun& which : kPartsOfRun) {
    if (run.*which.part) largest = std::max(largest, (run.*which.part)->device_high_bytes);
  }
  const ByteUnit unit = ColumnUnit(largest, screen.units);
  std::string text, causes_text, last;  // `last`: of the part before, which is not repeated
  for (const auto& [name, of, place] : kPartsOfRun) {
    const std::optional<PartSummary>& part = run.*place;
    if (!part) continue;
    const std::vector<RangeCause> causes = RangeCauses(report, *part);
    if (causes.empty()) continue;
    if (text.empty()) text = RowOfRange("How sure that is", "low", "expected", "high");
    text += RowOfRange(absl::StrFormat("  %s", name), SizeIn(part->device_low_bytes, unit),
                       SizeIn(part->device_bytes, unit), SizeIn(part->device_high_bytes, unit));
    for (const RangeCause& cause : causes) {
      text += RowOfRange(absl::StrFormat("    %s", cause.words), Moved("-", cause.less_bytes, unit), "",
                         Moved("+", cause.more_bytes, unit));
    }
    const RangeCause& widest = causes.front();
    const std::string fact = absl::StrFormat("%s is known by %s", widest.words, widest.known_by);
    if (fact != last) {
      causes_text +=
          Wrapped(absl::StrFormat("Narrower%s once %s", last.empty() ? "" : absl::StrFormat(" (%s)", name), fact),
                  screen.width, 2 * kIndent, 3 * kIndent) +
          '\n';
    }
    last = fact;
  }
  return text + causes_text;
}

}  // namespace onnx_mem
