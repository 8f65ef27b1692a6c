// A table as a list of the screen, and a sweep over batches.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kSweepBar = 24;

bool IsSummed(ColumnKind kind) {
  return kind == ColumnKind::kCount || kind == ColumnKind::kWork || kind == ColumnKind::kBytes ||
         kind == ColumnKind::kTime;
}

int64_t NumberOf(const Cell& cell) {
  const int64_t* number = std::get_if<int64_t>(&cell);
  return number ? *number : 0;
}

std::vector<size_t> HiddenRows(const Table& table, const std::vector<size_t>& shown) {
  std::vector<bool> is_shown(table.rows.size(), false);
  for (size_t row : shown) is_shown[row] = true;
  std::vector<size_t> hidden;
  for (size_t row = 0; row < is_shown.size(); ++row) {
    if (!is_shown[row]) hidden.push_back(row);
  }
  return hidden;
}

// A row that sums up `rows`, or all rows when nullopt, and the rows that were never made. What cannot be summed is
// empty.
Row SumOf(const Table& table, const std::optional<std::vector<size_t>>& rows, std::string label) {
  Row sum(table.columns.size(), Cell(std::string()));
  for (size_t c = 1; c < table.columns.size(); ++c) {
    if (!IsSummed(table.columns[c].kind)) continue;
    int64_t total = c == table.rank_column ? table.omitted_bytes : 0;
    if (rows) {
      for (size_t row : *rows) total += NumberOf(table.rows[row][c]);
    } else {
      for (const Row& row : table.rows) total += NumberOf(row[c]);
    }
    sum[c] = total;
  }
  sum[0] = std::move(label);
  return sum;
}

std::vector<ByteUnit> UnitsOf(const Table& table, ByteUnit chosen) {
  std::vector<ByteUnit> units(table.columns.size(), ByteUnit::kAuto);
  for (size_t c = 0; c < table.columns.size(); ++c) {
    int64_t largest = 0, sum = 0;
    for (const Row& row : table.rows) {
      largest = std::max(largest, NumberOf(row[c]));
      sum += NumberOf(row[c]);
    }
    units[c] = ColumnUnit(table.has_total ? sum : largest, chosen);
  }
  return units;
}

// What -v adds under a row: "module layer1.0; made by /Conv_3; kept by ...".
std::string DetailText(const Table& table, const Row& row, const Screen& screen) {
  std::string text;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].show != Show::kDetail) continue;
    const std::string value = CellText(row[c], table.columns[c].kind, ByteUnit::kAuto);
    if (value.empty() || value == "-") continue;
    const std::string& title = table.columns[c].title;
    absl::StrAppendFormat(&text, "%s%s%s%s", text.empty() ? "" : "; ", title, title.empty() ? "" : " ", value);
  }
  return text.empty() ? text : Wrapped(text, screen.width, 4 * kIndent, 4 * kIndent) + '\n';
}

std::string LawText(const Scaling& law, const RunSummary& run, const Screen& screen) {
  const std::string sign = law.fixed_bytes < 0 ? "-" : "";
  const int64_t fixed = law.fixed_bytes < 0 ? -law.fixed_bytes : law.fixed_bytes;
  std::string text = absl::StrFormat("alive at the %speak %s %s%s + %s x batch", run.training ? "training " : "",
                                     law.exact ? "=" : "is about", sign, FormatBytesIn(fixed, screen.units),
                                     FormatBytesIn(law.bytes_per_sample, screen.units));
  if (law.exact) absl::StrAppendFormat(&text, " (exactly, from batch %d to %d)", law.from_batch, law.to_batch);
  return Sentence(text, screen);
}

}  // namespace

std::string ListText(const Table& table, const Report& report, const Screen& screen) {
  const std::vector<size_t> shown = TopRows(table, report.top);
  std::vector<size_t> columns;  // those side by side
  TextTable text_table;
  text_table.rows.emplace_back();
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].show != Show::kAlways) continue;
    const ColumnKind kind = table.columns[c].kind;
    // The name and the numbers that the list is about stay whatever the width.
    const bool optional = !columns.empty() && c != table.rank_column;
    columns.push_back(c);
    text_table.columns.push_back({.right = IsNumber(kind), .shrinks = kind == ColumnKind::kText, .optional = optional});
    text_table.rows.front().push_back(table.columns[c].title);
  }
  const std::vector<ByteUnit> units = UnitsOf(table, screen.units);
  const auto add = [&](const Row& row) {
    auto& line = text_table.rows.emplace_back();
    for (size_t c : columns) line.push_back(CellText(row[c], table.columns[c].kind, units[c]));
  };
  for (size_t row : shown) add(table.rows[row]);
  const auto others = static_cast<int64_t>(table.rows.size() - shown.size()) + table.omitted_rows;
  if (others > 0 && table.has_total) {
    add(SumOf(table, HiddenRows(table, shown), "(" + Others(others) + ")"));
  }
  if (table.has_total) add(SumOf(table, std::nullopt, "total"));
  std::string text = absl::StrFormat("%s%s\n", std::string(kIndent, ' '), Painted(table.title, Paint::kBold, screen));
  const std::vector<std::string> lines = Aligned(std::move(text_table), 2 * kIndent, kGap, screen);
  for (size_t i = 0; i < lines.size(); ++i) {
    text += lines[i] + '\n';
    const bool row = i > 0 && i <= shown.size();
    if (row && report.verbose) text += DetailText(table, table.rows[shown[i - 1]], screen);
  }
  return text;
}

std::string SweepText(const std::vector<RunSummary>& runs, const AnalyzePart& sweep, const Screen& screen) {
  const bool training = runs.front().training.has_value();
  const bool both = training && runs.front().inference.has_value();
  int64_t largest = 0;
  for (const RunSummary& run : runs) largest = std::max(largest, MainPart(run).device_bytes);
  const ByteUnit unit = ColumnUnit(largest, screen.units);
  TextTable table;
  table.columns = {{.right = true}, {.right = true}, {.right = true, .optional = true}, {.right = true}};
  table.rows = {{"batch", "alive", "allocated", "on the GPU"}};
  const auto add_column = [&](TextColumn column, std::string title) {
    table.columns.push_back(column);
    table.rows.front().push_back(std::move(title));
  };
  if (both) add_column({.right = true, .optional = true}, "inference");
  const Limit* const limit = sweep.limits.size() == 1 ? &sweep.limits.front() : nullptr;
  add_column({.optional = limit == nullptr}, limit != nullptr ? "of " + LimitText(*limit, screen.units) : "");
  for (const RunSummary& run : runs) {
    const PartSummary& part = MainPart(run);
    auto& row = table.rows.emplace_back();
    row = {absl::StrFormat("%d", run.batch), SizeIn(part.peak_bytes, unit), SizeIn(part.allocated_peak_bytes, unit),
           (part.at_least ? ">= " : "") + SizeIn(part.device_bytes, unit)};
    if (both) row.push_back(SizeIn(run.inference->device_bytes, unit));
    const double share = largest > 0 ? static_cast<double>(part.device_bytes) / static_cast<double>(largest) : 0;
    row.push_back(limit != nullptr ? ShortVerdict(NeedOf(part), *limit, screen.units)
                                   : Bar(share, kSweepBar, screen.utf8));
  }
  std::string text = absl::StrFormat("%s%s needs\n", std::string(kIndent, ' '), training ? "TRAINING" : "INFERENCE");
  text += AlignedText(std::move(table), 2 * kIndent, kGap, screen);
  if (sweep.limits.size() > 1) text += SweepCardsText(runs, sweep.limits, screen);
  if (sweep.scaling) text += LawText(*sweep.scaling, runs.front(), screen);
  return text;
}

}  // namespace onnx_mem
