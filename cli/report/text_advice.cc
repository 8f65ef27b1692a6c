// What would save most, and what fits a card, as text.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "cli/report/answer.h"
#include "cli/report/figures.h"
#include "cli/report/layout.h"
#include "cli/report/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostSavings = 4;

std::string TextOf(const Table& table, const Row& row, std::string_view key) {
  const Cell& cell = CellAt(table, row, key);
  return CellText(cell, ColumnKind::kText, ByteUnit::kAuto);
}

std::string SizeOf(const Table& table, const Row& row, std::string_view key, ByteUnit unit) {
  return SizeIn(std::get<int64_t>(CellAt(table, row, key)), unit);
}

std::string Lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string LargestText(const CardFit::Part& part) {
  if (!part.batch_known) return "the file's batch alone";
  return absl::StrFormat("%s%d", part.at_least ? "at least " : "", part.largest_batch);
}

// "Batch 256 of training needs 21.6 GiB: too large for Tesla T4 (14.7 GiB) by 6.86 GiB."
std::string PartText(const CardFit& card, const CardFit::Part& part, int64_t batch, const Screen& screen) {
  const std::string verdict = VerdictText(part.device_bytes, {Limit::Kind::kGpu, card.name, card.usable_bytes}, screen.units);
  std::string text = absl::StrFormat("%sBatch %d of %s needs %s: ", std::string(kIndent, ' '), batch, part.name,
                                     FormatBytesIn(part.device_bytes, screen.units));
  text += Painted(verdict, part.fits ? Paint::kGreen : Paint::kRed, screen);
  text += absl::StrFormat("\n%sLargest batch that fits: %s", std::string(2 * kIndent, ' '), LargestText(part));
  if (part.largest_bytes && part.beyond_bytes) {
    absl::StrAppendFormat(&text, "  (%s; one more %s)", FormatBytesIn(*part.largest_bytes, screen.units),
                          FormatBytesIn(*part.beyond_bytes, screen.units));
  }
  return text + "\n";
}

}  // namespace

std::string SavingsText(const Report& report, const Screen& screen) {
  const Table& table = report.savings;
  if (table.rows.empty()) return "";
  const size_t shown = report.verbose ? table.rows.size() : std::min(table.rows.size(), kMostSavings);
  const ByteUnit unit = ColumnUnit(std::get<int64_t>(CellAt(table, table.rows.front(), "device_bytes")), screen.units);
  TextTable text{{{}, {.right = true}, {.right = true}, {.shrinks = true}, {.shrinks = true}}, {}};
  text.rows.push_back({"What would save most", "saves", "on the GPU", "costs", "flags"});
  for (size_t i = 0; i < shown; ++i) {
    const Row& row = table.rows[i];
    text.rows.push_back({"  " + TextOf(table, row, "change"), SizeOf(table, row, "saves_bytes", unit),
                         SizeOf(table, row, "device_bytes", unit), TextOf(table, row, "cost"), TextOf(table, row, "flags")});
  }
  std::string lines = Lines(Aligned(std::move(text), kIndent, 2, screen));
  if (shown < table.rows.size()) absl::StrAppendFormat(&lines, "    (%d more: -v)\n", table.rows.size() - shown);
  return lines;
}

std::string FitText(const Report& report, const Screen& screen) {
  if (report.cards.size() == 1) {
    std::string text;
    const CardFit& card = report.cards.front();
    for (const CardFit::Part& part : card.parts) text += PartText(card, part, report.asked_batch, screen);
    return text;
  }
  TextTable table;
  table.columns = {{.shrinks = true}, {.right = true}};
  std::vector<std::string> head = {absl::StrFormat("batch %d", report.asked_batch), "usable"};
  for (const CardFit::Part& part : report.cards.front().parts) {
    head.insert(head.end(), {part.name, "", "largest batch"});
    table.columns.insert(table.columns.end(), {{.right = true}, {}, {.right = true}});
  }
  table.rows.push_back(std::move(head));
  for (const CardFit& card : report.cards) {
    std::vector<std::string> row = {card.name, FormatBytesIn(card.usable_bytes, screen.units)};
    for (const CardFit::Part& part : card.parts) {
      row.push_back(FormatBytesIn(part.device_bytes, screen.units));
      row.push_back(part.fits ? "fits" : "too large");
      row.push_back(LargestText(part));
    }
    table.rows.push_back(std::move(row));
  }
  return Lines(Aligned(std::move(table), kIndent, 2, screen));
}

}  // namespace onnx_mem
