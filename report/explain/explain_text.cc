// The screen of onnx-mem explain, at most 22 lines of 80 columns: what failed, who holds the memory, what to do first.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/analyze/report.h"
#include "report/explain/explain_part.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostFindings = 3;
constexpr size_t kMostCategories = 6;

std::string Size(int64_t bytes, const Screen& screen) { return FormatBytesIn(bytes, screen.units); }

// "model.py:41 in forward", "" where no stack tells.
std::string Place(const std::string& line, const std::string& function) {
  if (line.empty()) return "";
  return function.empty() ? line : absl::StrFormat("%s in %s", line, function);
}

std::string HeadText(const ExplainedSnapshot& explained, const Screen& screen) {
  const Explanation& of = explained.explanation;
  const MemoryDivision& division = of.division;
  std::string text = Painted(Shortened(BaseName(explained.path), screen.width, screen.utf8), Paint::kBold, screen);
  absl::StrAppendFormat(&text, "   device %d, %s events\n\n", of.device, WithThousands(of.events));
  std::string what = "no history: the moment of the snapshot";
  if (of.moment == SnapshotMoment::kPeak) what = "no request failed: the moment at which most was allocated";
  if (division.requested_bytes) {
    const std::string place = Place(of.failed_line, of.failed_function);
    what = absl::StrFormat("OUT OF MEMORY: %s more were requested%s", Size(*division.requested_bytes, screen),
                           place.empty() ? "" : " at " + place);
  }
  text += Painted(Wrapped(what, screen.width, kIndent, 2 * kIndent), Paint::kBold, screen) + '\n';
  std::string free = absl::StrFormat("%s in use, %s reserved", Size(division.allocated_bytes, screen),
                                     Size(division.reserved_bytes, screen));
  if (division.gaps > 0) {
    absl::StrAppendFormat(&free, "; %d gaps of %s, largest %s", division.gaps, Size(division.gap_bytes, screen),
                          Size(division.largest_gap_bytes, screen));
  }
  return text + Sentence(free, screen);
}

// The line that holds most of a category.
const OwnedLine* LargestOf(const Explanation& of, std::string_view category) {
  const auto found = std::find_if(of.lines.begin(), of.lines.end(),
                                  [&](const OwnedLine& line) { return NameOf(line.owner) == category; });
  return found == of.lines.end() ? nullptr : &*found;
}

std::string WhoHoldsText(const Table& categories, const Explanation& of, const Screen& screen) {
  TextTable text;
  text.columns = {
      {}, {.right = true}, {.right = true}, {.right = true, .optional = true}, {.shrinks = true, .optional = true}};
  text.rows = {{"who holds it", "bytes", "", "blocks", "most of it made at"}};
  int64_t all = 0, largest = 0;
  for (const Row& row : categories.rows) {
    all += std::get<int64_t>(row[1]);
    largest = std::max(largest, std::get<int64_t>(row[1]));
  }
  const ByteUnit unit = ColumnUnit(largest, screen.units);
  const std::vector<size_t> shown = TopRows(categories, kMostCategories);
  for (size_t at : shown) {
    const Row& row = categories.rows[at];
    const auto& name = std::get<std::string>(row[0]);
    const OwnedLine* line = LargestOf(of, name);
    const std::string place = line == nullptr ? "" : Place(line->line, line->function);
    text.rows.push_back({Words(name), SizeIn(std::get<int64_t>(row[1]), unit), Percent(std::get<int64_t>(row[1]), all),
                         WithThousands(std::get<int64_t>(row[2])), place});
  }
  return AlignedText(std::move(text), kIndent, 2, screen);
}

// "7 x 16.0 MiB model.py:41": the largest blocks, those of one line together.
std::string LargestText(const Explanation& of, const Screen& screen) {
  if (of.blocks.empty()) return "";
  const OwnedBlock& first = of.blocks.front();
  const auto same = std::count_if(of.blocks.begin(), of.blocks.end(), [&](const OwnedBlock& block) {
    return block.bytes == first.bytes && block.line == first.line;
  });
  const std::string place = Place(first.line, first.function);
  return Sentence(absl::StrFormat("largest blocks: %d of %s, %s%s%s", same, Size(first.bytes, screen),
                                  Words(NameOf(first.owner)), place.empty() ? "" : ", ", place),
                  screen);
}

std::string FindingText(const ExplainedFinding& finding, size_t number, const Screen& screen) {
  const CauseRow& row = RowOf(finding.kind);
  std::string head = absl::StrFormat("%d %s, %s", number, row.code, Size(finding.bytes, screen));
  std::string place = Place(finding.line, finding.function);
  if (finding.rounds > 1) absl::StrAppendFormat(&place, " (%d rounds)", finding.rounds);
  if (!place.empty()) absl::StrAppendFormat(&head, ", %s", place);
  const std::string rest = absl::StrFormat("%s: %s", row.what, row.remedy);
  return std::string(kIndent, ' ') +
         Painted(Shortened(head, screen.width - kIndent, screen.utf8), Paint::kYellow, screen) + '\n' +
         Wrapped(rest, screen.width, 2 * kIndent, 2 * kIndent) + '\n';
}

std::string FirstText(const Explanation& of, bool all, const Screen& screen) {
  if (of.findings.empty()) {
    return Sentence(of.stacks ? "Nothing is held longer than its round, and no request failed."
                              : "No stack was recorded: call torch.cuda.memory._record_memory_history() first.",
                    screen);
  }
  std::string text;
  const size_t shown = all ? of.findings.size() : std::min(of.findings.size(), kMostFindings);
  for (size_t i = 0; i < shown; ++i) text += FindingText(of.findings[i], i + 1, screen);
  return text;
}

}  // namespace

std::string ExplainText(const ExplainedSnapshot& explained, const Report& report, const Screen& screen) {
  const Explanation& of = explained.explanation;
  std::vector<std::string> parts = {
      HeadText(explained, screen),
      WhoHoldsText(*TableNamed(report, "categories"), of, screen) + LargestText(of, screen),
      FirstText(of, report.verbose || report.top_given, screen)};
  for (std::string_view key : {"names", "unexplained", "lines", "blocks"}) {
    const Table* table = TableNamed(report, key);
    const bool with_model = key == "names" || key == "unexplained";
    if (table != nullptr && !table->rows.empty() && (with_model || report.verbose)) {
      parts.push_back(ListText(*table, report, screen));
    }
  }
  parts.push_back(AssumedText(report, screen));
  return Paragraphs(parts);
}

std::string ExplainQuiet(const ExplainedSnapshot& explained) {
  const Explanation& of = explained.explanation;
  std::string text = absl::StrFormat("%s allocated=%d reserved=%d", BaseName(explained.path),
                                     of.division.allocated_bytes, of.division.reserved_bytes);
  if (of.division.requested_bytes) absl::StrAppendFormat(&text, " requested=%d", *of.division.requested_bytes);
  if (!of.findings.empty()) {
    const ExplainedFinding& first = of.findings.front();
    absl::StrAppendFormat(&text, " finding=%s bytes=%d", RowOf(first.kind).code, first.bytes);
    if (!first.line.empty()) absl::StrAppendFormat(&text, " line=%s", first.line);
  }
  return text + '\n';
}

}  // namespace onnx_mem
