// What would save most, and what makes a batch fit, as text.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/text_parts.h"

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
  TextTable text{{{.shrinks = true}, {.right = true}, {.right = true}, {.shrinks = true, .prose = true}}, {}};
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

// The first few, with their flags where there is room.
std::string FewWays(const Table& table, const Screen& screen) {
  const size_t shown = std::min(table.rows.size(), kMostWays);
  const ByteUnit unit = UnitOf(table, screen);
  std::vector<std::string> flags;
  for (size_t i = 0; i < shown; ++i) {
    flags.push_back(TextOf(table, table.rows[i], "flags"));
    if (DisplayWidth(flags.back()) > kLongestWayFlags) flags.back() = "(-v)";
  }
  const auto lines_of = [&](bool with_flags) {
    TextTable text{{{.shrinks = true}, {.right = true}, {.right = true}, {.shrinks = true, .prose = true}, {}}, {}};
    text.rows.push_back({"", "on the GPU", "max batch", "costs", with_flags ? "flags" : ""});
    for (size_t i = 0; i < shown; ++i) {
      const Row& row = table.rows[i];
      text.rows.push_back({"  " + TextOf(table, row, "change"), SizeOf(table, row, "device_bytes", unit),
                           CellText(CellAt(table, row, "largest_batch"), ColumnKind::kStep, ByteUnit::kAuto),
                           TextOf(table, row, "cost"), with_flags ? flags[i] : ""});
    }
    return Aligned(std::move(text), kIndent, 2, screen);
  };
  const std::string title = std::string(kIndent, ' ') + table.title + "\n";
  std::vector<std::string> lines = lines_of(true);
  const bool beside = std::all_of(lines.begin(), lines.end(),
                                  [&](const std::string& line) { return DisplayWidth(line) <= screen.width; });
  if (beside) return title + Lines(lines) + MoreLine(table.rows.size() - shown);
  // Each way's flags below it.
  lines = lines_of(false);
  for (size_t i = 0; i < shown; ++i) lines[i + 1] += "\n" + std::string(4 * kIndent, ' ') + flags[i];
  return title + Lines(lines) + MoreLine(table.rows.size() - shown);
}

// The commands that print the plan of a row.
std::string CommandsText(const Table& table, size_t shown) {
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    const Cell* command = FindCell(table, table.rows[i], "command");
    const std::string* line = command == nullptr ? nullptr : std::get_if<std::string>(command);
    if (line == nullptr) continue;
    absl::StrAppendFormat(&text, "%stry: %s   # %s\n", std::string(2 * kIndent, ' '), *line,
                          TextOf(table, table.rows[i], "change"));
  }
  return text;
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
  return AlignedText(std::move(text), kIndent, 2, screen) + MoreLine(table.rows.size() - shown);
}

std::string WaysText(const Table& table, bool verbose, const Screen& screen) {
  const std::string text = verbose ? RowsWithFlags(table, screen) : FewWays(table, screen);
  return text + CommandsText(table, verbose ? table.rows.size() : std::min(table.rows.size(), kMostWays));
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

}  // namespace onnx_mem
