// Report -> Markdown for a pull request or a job summary: the answer first (a cut-off comment still tells it), then
// one table of at most 50 rows.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "analyzer/memory/bytes.h"
#include "cli/report/answer.h"
#include "cli/report/compare_forms.h"
#include "cli/report/figures.h"
#include "cli/report/formats.h"
#include "cli/report/markdown.h"
#include "cli/report/report.h"
#include "cli/report/run_table.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostRows = 50;

bool IsNumber(ColumnKind kind) {
  return kind != ColumnKind::kText && kind != ColumnKind::kWord && kind != ColumnKind::kShape;
}

std::string MarkdownTable(const Table& table, int64_t top, const Screen& screen) {
  std::string text = "|", rule = "|";
  std::vector<size_t> columns;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    if (column.show != Show::kAlways) continue;
    columns.push_back(c);
    absl::StrAppendFormat(&text, " %s |", column.title);
    rule += IsNumber(column.kind) ? " ---: |" : " --- |";
  }
  text += '\n' + rule + '\n';
  const std::vector<size_t> rows = TopRows(table, top);
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    text += '|';
    for (size_t c : columns) {
      absl::StrAppendFormat(&text, " %s |",
                            MarkdownText(CellText(table.rows[rows[i]][c], table.columns[c].kind, screen.units)));
    }
    text += '\n';
  }
  const int64_t left_out =
      static_cast<int64_t>(table.rows.size() - std::min(rows.size(), kMostRows)) + table.omitted_rows;
  if (left_out > 0) absl::StrAppendFormat(&text, "\n%d more rows.\n", left_out);
  return text;
}

}  // namespace

std::string RenderMarkdown(const Report& report, const Screen& screen) {
  if (report.comparison) return CompareMarkdown(*report.comparison, report, screen);
  std::string text;
  for (const RunSummary& run : report.runs) {
    for (const AnswerLine& line : AnswerLines(report, run, screen.units)) {
      absl::StrAppendFormat(&text, "**%s%s: %s needs %s%s**%s%s\n\n", MarkdownText(BaseName(report.model.path)),
                            absl::StrFormat(", batch %d", run.batch), line.part, line.at_least ? "at least " : "",
                            line.size, line.verdict.empty() ? "" : " - ", line.verdict);
    }
  }
  const Table* shown = TableNamed(report, report.shown_table);
  if (shown == nullptr) shown = TableNamed(report, "categories");
  text += MarkdownTable(shown ? *shown : RunTable(report), shown ? report.top : 0, screen);
  if (!report.assumptions.empty()) absl::StrAppendFormat(&text, "\n%s\n", AssumptionsText(report));
  return text;
}

}  // namespace onnx_mem
