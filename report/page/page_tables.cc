// The tables of the page.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "report/analyze/answer.h"
#include "report/compare/comparison.h"
#include "report/page/page.h"
#include "report/parts/figures.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostPageRows = 300;

// What sorting compares; the cell's own text where there is no number.
std::string SortValue(const Cell& cell) {
  if (const auto* number = std::get_if<int64_t>(&cell)) return absl::StrFormat(" data-v=\"%d\"", *number);
  if (const auto* decimal = std::get_if<double>(&cell)) return absl::StrFormat(" data-v=\"%g\"", *decimal);
  return "";
}

ByteUnit UnitOfColumn(const Table& table, size_t column, ByteUnit chosen) {
  int64_t largest = 0;
  for (const Row& row : table.rows) {
    if (const auto* bytes = std::get_if<int64_t>(&row[column])) largest = std::max(largest, std::abs(*bytes));
  }
  return ColumnUnit(largest, chosen);
}

// Words of a command line are there to be copied.
std::string CellHtml(const Cell& cell, ColumnKind kind, ByteUnit unit) {
  const bool flags = std::holds_alternative<CommandWords>(cell);
  const std::string text = HtmlText(CellText(cell, kind, unit), flags ? kLongestFlags : kLongestName);
  // A line may end between two of them, not within: "--" and "segment" would be two words.
  return flags ? "<code><span>" + absl::StrReplaceAll(text, {{" ", "</span> <span>"}}) + "</span></code>" : text;
}

// What changed, by category and total and by layer; of each head two tables.
std::vector<Table> ChangeTables(const ComparedReports& comparison) {
  const std::vector<std::string> names = SideNames(comparison);
  std::vector<Table> tables;
  for (size_t h = 0; h < comparison.heads.size(); ++h) {
    const std::string head = comparison.heads.size() > 1 ? " of " + names[h + 1] : "";
    const std::string number = comparison.heads.size() > 1 ? absl::StrFormat("-%d", h + 1) : "";
    Table figures{"changed-figures" + number,
                  "Figures" + head,
                  {{"part", "of"},
                   {"figure", "figure"},
                   {"base", names[0], ColumnKind::kBytes},
                   {"head", names[h + 1], ColumnKind::kBytes},
                   {"delta", "change", ColumnKind::kBytes}},
                  {},
                  4};
    for (const ComparedFigure& figure : FiguresOf(comparison.base.run(), comparison.heads[h].run())) {
      figures.rows.push_back({figure.part, figure.title, figure.base, figure.head, figure.delta()});
    }
    tables.push_back(std::move(figures));
    if (!comparison.changes[h].layers) continue;
    Table layers{"changed-layers" + number,
                 "Layers" + head,
                 {{"layer", "layer"},
                  {"base", names[0], ColumnKind::kBytes},
                  {"head", names[h + 1], ColumnKind::kBytes},
                  {"delta", "change", ColumnKind::kBytes}},
                 {},
                 3};
    for (const LayerChange& layer : *comparison.changes[h].layers) {
      layers.rows.push_back({layer.name, layer.base_bytes, layer.head_bytes, layer.delta_bytes()});
    }
    tables.push_back(std::move(layers));
  }
  return tables;
}

// What a change costs stands before its flags, which are long.
Table WithFlagsLast(Table table) {
  const auto flags = std::find_if(table.columns.begin(), table.columns.end(),
                                  [](const Column& column) { return column.key == "flags"; });
  if (flags == table.columns.end()) return table;
  const auto at = flags - table.columns.begin();
  std::rotate(flags, flags + 1, table.columns.end());
  for (Row& row : table.rows) std::rotate(row.begin() + at, row.begin() + at + 1, row.end());
  if (table.rank_column > static_cast<size_t>(at)) --table.rank_column;
  return table;
}

}  // namespace

std::string TableHtml(const Table& table, const Screen& screen, bool stacks) {
  std::vector<size_t> columns;
  std::vector<ByteUnit> units;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    units.push_back(UnitOfColumn(table, c, screen.units));
    const Column& column = table.columns[c];
    if (column.show == Show::kAlways || (column.show == Show::kDetail && !column.title.empty())) columns.push_back(c);
  }
  std::string html = absl::StrFormat("<table class=\"data%s\" id=\"table-%s\"><caption>%s</caption><thead><tr>",
                                     stacks ? " stacks" : "", HtmlText(table.key), HtmlText(table.title));
  for (size_t c : columns) {
    absl::StrAppendFormat(&html, "<th scope=\"col\"%s>%s</th>", IsNumber(table.columns[c].kind) ? " class=\"n\"" : "",
                          HtmlText(table.columns[c].title));
  }
  html += "</tr></thead><tbody>\n";
  const bool whole = table.rows.size() <= kMostPageRows;
  const std::vector<size_t> rows = TopRows(table, whole ? 0 : static_cast<int64_t>(kMostPageRows));
  for (size_t r : rows) {
    html += "<tr>";
    for (size_t c : columns) {
      const Column& column = table.columns[c];
      const Cell& cell = table.rows[r][c];
      absl::StrAppendFormat(&html, "<td%s%s%s>%s</td>", IsNumber(column.kind) ? " class=\"n\"" : "", SortValue(cell),
                            stacks ? absl::StrFormat(" data-l=\"%s\"", HtmlText(column.title)) : "",
                            CellHtml(cell, column.kind, units[c]));
    }
    html += "</tr>\n";
  }
  html += "</tbody></table>\n";
  const int64_t left_out = static_cast<int64_t>(table.rows.size() - rows.size()) + table.omitted_rows;
  if (left_out > 0) {
    absl::StrAppendFormat(&html, "<p class=\"hint\">%s smaller rows are left out here.</p>\n", WithThousands(left_out));
  }
  return html;
}

Table CheapestWaysTable(const Table& savings) {
  Table ways = savings;
  ways.title = "How to need less, cheapest first";
  ways.rows.clear();
  for (size_t way : CheapestWays(savings)) ways.rows.push_back(savings.rows[way]);
  return WithFlagsLast(std::move(ways));
}

std::string TablesHtml(const Report& report, const Screen& screen) {
  std::string html;
  const auto add = [&](const Table& table) {
    if (!table.rows.empty()) html += TableHtml(table, screen);
  };
  if (const auto* compared = std::get_if<ComparePart>(&report.part)) {
    for (const Table& table : ChangeTables(**compared)) add(table);
  }
  if (!IsOneRun(report)) return html;
  if (const auto* planned = std::get_if<PlanPart>(&report.part)) add(SegmentsTable(*planned));
  for (std::string_view key : {"layers", "live_at_peak", "ops", "shapes"}) {
    if (const Table* table = TableNamed(report, key)) add(*table);
  }
  for (const Table& table : report.tables) {
    const bool shown = table.key == "layers" || table.key == "live_at_peak" || table.key == "ops" ||
                       table.key == "shapes" || table.key == "tensors" || table.key == "categories";
    if (!shown) add(table);
  }
  return html;
}

}  // namespace onnx_mem
