// What would save most, and what fits a card, as text.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "cli/report/analyze/answer.h"
#include "cli/report/parts/figures.h"
#include "cli/report/parts/layout.h"
#include "cli/report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostSavings = 4;
constexpr size_t kLongestWayFlags = 22;
constexpr size_t kMostWays = 5;
constexpr size_t kMostOfKind = 3;     // of runs that compute the same numbers, and of those that do not
constexpr size_t kLongestFlags = 34;  // beside a row of the first screen

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

ByteUnit UnitOf(const Table& table, const Screen& screen) {
  return ColumnUnit(std::get<int64_t>(CellAt(table, table.rows.front(), "device_bytes")), screen.units);
}

std::string MoreLine(size_t more) {
  return more > 0 ? absl::StrFormat("%s(%d more: -v)\n", std::string(2 * kIndent, ' '), more) : "";
}

// One line, or several that a shell joins again.
std::string PastedText(const std::string& flags, const Screen& screen) {
  std::string text = Wrapped(flags, screen.width - 2, 4 * kIndent, 5 * kIndent);
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 3)) text.replace(at, 1, " \\\n");
  return text + "\n";
}

// Every row with its flags below it.
std::string RowsWithFlags(const Table& table, const Screen& screen) {
  const ByteUnit unit = UnitOf(table, screen);
  const bool batches = std::any_of(table.columns.begin(), table.columns.end(),
                                   [](const Column& column) { return column.key == "largest_batch"; });
  TextTable text{{{}, {.right = true}, {.right = true}, {.shrinks = true, .prose = true}}, {}};
  text.rows.push_back({"", "on the GPU", batches ? "max batch" : "saves", "costs"});
  for (const Row& row : table.rows) {
    const std::string third = batches
                                  ? CellText(CellAt(table, row, "largest_batch"), ColumnKind::kStep, ByteUnit::kAuto)
                                  : SizeOf(table, row, "saves_bytes", unit);
    text.rows.push_back({"  " + TextOf(table, row, "change"), SizeOf(table, row, "device_bytes", unit), third,
                         TextOf(table, row, "cost")});
  }
  const std::vector<std::string> lines = Aligned(std::move(text), kIndent, 2, screen);
  std::string result = std::string(kIndent, ' ') + table.title + "\n" + lines.front() + "\n";
  for (size_t i = 0; i < table.rows.size(); ++i) {
    result += lines[i + 1] + "\n" + PastedText(TextOf(table, table.rows[i], "flags"), screen);
  }
  return result;
}

// "Batch 256 of training needs 21.6 GiB: too large for Tesla T4 (14.7 GiB) by 6.86 GiB."
std::string PartText(const CardFit& card, const CardFit::Part& part, int64_t batch, const Screen& screen) {
  const std::string verdict =
      VerdictText(part.device_bytes, part.device_bytes, {Limit::Kind::kGpu, card.name, card.usable_bytes}, screen.units);
  std::string text = absl::StrFormat("%sBatch %d of %s needs %s:", std::string(kIndent, ' '), batch, part.name,
                                     FormatBytesIn(part.device_bytes, screen.units));
  const bool beside = DisplayWidth(text) + 1 + DisplayWidth(verdict) <= screen.width;
  text += beside ? " " : "\n" + std::string(2 * kIndent, ' ');
  text += Painted(verdict, part.fits ? Paint::kGreen : Paint::kRed, screen);
  text += absl::StrFormat("\n%sLargest batch that fits: %s", std::string(2 * kIndent, ' '), LargestText(part));
  if (const std::string proof = LargestProofText(part, screen.units); !proof.empty()) text += "  " + proof;
  return text + "\n";
}

}  // namespace

std::string SavingsText(const Table& table, bool verbose, const Screen& screen) {
  if (table.rows.empty()) return "";
  if (verbose) return RowsWithFlags(table, screen);
  const size_t shown = std::min(table.rows.size(), kMostSavings);
  const ByteUnit unit = UnitOf(table, screen);
  TextTable text{{{.shrinks = true}, {.right = true}, {.shrinks = true, .prose = true}, {}}, {}};
  text.rows.push_back({table.title, "saves", "costs", "flags"});
  for (size_t i = 0; i < shown; ++i) {
    const Row& row = table.rows[i];
    const std::string flags = TextOf(table, row, "flags");
    text.rows.push_back({"  " + TextOf(table, row, "change"), SizeOf(table, row, "saves_bytes", unit),
                         TextOf(table, row, "cost"), DisplayWidth(flags) > kLongestFlags ? "(-v)" : flags});
  }
  return Lines(Aligned(std::move(text), kIndent, 2, screen)) + MoreLine(table.rows.size() - shown);
}

std::string WaysText(const Table& table, bool verbose, const Screen& screen) {
  if (verbose) return RowsWithFlags(table, screen);
  const size_t shown = std::min(table.rows.size(), kMostWays);
  const ByteUnit unit = UnitOf(table, screen);
  TextTable text{{{.shrinks = true}, {.right = true}, {.right = true}, {.shrinks = true, .prose = true}, {}}, {}};
  text.rows.push_back({"", "on the GPU", "max batch", "costs", "flags"});
  for (size_t i = 0; i < shown; ++i) {
    const Row& row = table.rows[i];
    const std::string flags = TextOf(table, row, "flags");
    text.rows.push_back({"  " + TextOf(table, row, "change"), SizeOf(table, row, "device_bytes", unit),
                         CellText(CellAt(table, row, "largest_batch"), ColumnKind::kStep, ByteUnit::kAuto),
                         TextOf(table, row, "cost"), DisplayWidth(flags) > kLongestWayFlags ? "(-v)" : flags});
  }
  return std::string(kIndent, ' ') + table.title + "\n" + Lines(Aligned(std::move(text), kIndent, 2, screen)) +
         MoreLine(table.rows.size() - shown);
}

std::string TogetherText(const Table& table, const Report& report, const Screen& screen) {
  Table shown = table;
  const auto numbers = std::find_if(shown.columns.begin(), shown.columns.end(),
                                    [](const Column& column) { return column.key == "numbers"; });
  const auto place = static_cast<size_t>(numbers - shown.columns.begin());
  numbers->title = "computes";
  size_t same = 0, other = 0;
  std::erase_if(shown.rows, [&](Row& row) {
    const bool is_same = row[place] == Cell(std::string("same"));
    const int64_t* const sees = std::get_if<int64_t>(&CellAt(table, row, "batch_norm_sees"));
    row[place] = !is_same          ? std::string("other numbers")
                 : sees == nullptr ? std::string("the same numbers")
                                   : absl::StrFormat("BatchNorm sees %d", *sees);
    return ++(is_same ? same : other) > kMostOfKind && !report.verbose;
  });
  return ListText(shown, report, screen) + MoreLine(table.rows.size() - shown.rows.size());
}

std::string FitText(const FitPart& fit, const Screen& screen) {
  if (fit.cards.size() == 1) {
    std::string text;
    const CardFit& card = fit.cards.front();
    for (const CardFit::Part& part : card.parts) text += PartText(card, part, fit.asked_batch, screen);
    return text;
  }
  TextTable table;
  table.columns = {{.shrinks = true}, {.right = true}};
  std::vector<std::string> head = {absl::StrFormat("batch %d", fit.asked_batch), "usable"};
  for (const CardFit::Part& part : fit.cards.front().parts) {
    head.insert(head.end(), {part.name, "", "largest batch"});
    table.columns.insert(table.columns.end(), {{.right = true}, {}, {.right = true}});
  }
  table.rows.push_back(std::move(head));
  for (const CardFit& card : fit.cards) {
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
