// Report -> Markdown for a pull request or a job summary: the answer first (a cut-off comment still tells it), then
// tables of at most 50 rows.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "analyzer/graph/bytes.h"
#include "report/analyze/answer.h"
#include "report/analyze/fit_table.h"
#include "report/analyze/report.h"
#include "report/analyze/run_table.h"
#include "report/compare/compare_forms.h"
#include "report/parts/figures.h"
#include "report/parts/formats.h"
#include "report/parts/markdown.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {
namespace {

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
  for (size_t i = 0; i < std::min(rows.size(), kMostRowsOfMarkdown); ++i) {
    text += '|';
    for (size_t c : columns) {
      absl::StrAppendFormat(&text, " %s |",
                            MarkdownText(CellText(table.rows[rows[i]][c], table.columns[c].kind, screen.units)));
    }
    text += '\n';
  }
  const int64_t left_out =
      static_cast<int64_t>(table.rows.size() - std::min(rows.size(), kMostRowsOfMarkdown)) + table.omitted_rows;
  if (left_out > 0) absl::StrAppendFormat(&text, "\n%d more rows.\n", left_out);
  return text;
}

std::string AssumedMarkdown(const Report& report) {
  return report.assumptions.empty() ? "" : absl::StrFormat("\n%s\n", AssumptionsText(report));
}

// Does it fit, the batches that do, and what makes it fit: of several cards a table in place of the sentences.
std::string FitMarkdown(const Report& report, const FitPart& fit, const Screen& screen) {
  std::string text;
  const std::string model = MarkdownText(BaseName(report.model.path));
  if (fit.cards.size() > 1) {
    absl::StrAppendFormat(&text, "**%s, %s**\n\n", model, SizeText(fit));
    text += MarkdownTable(CardsTable(fit), 0, screen);
  } else {
    const CardFit& card = fit.cards.front();
    for (const CardFit::Part& part : card.parts) {
      const std::string size = FormatBytesIn(part.need.expected_bytes, screen.units);
      const std::string interval = IntervalText(part.need, size);
      absl::StrAppendFormat(
          &text, "%s**%s, %s: %s needs %s%s** - %s\n\n", text.empty() ? "" : "\n", model, SizeText(fit), PartName(part),
          size, interval.empty() ? "" : absl::StrFormat(" (%s)", interval),
          MarkdownText(VerdictText(part.need, {Limit::Kind::kGpu, card.name, card.usable_bytes}, screen.units)));
      for (const std::string& line : BatchLines(part, fit.over, screen.units))
        absl::StrAppendFormat(&text, "- %s\n", line);
      if (part.ranks) absl::StrAppendFormat(&text, "- %s\n", RanksLine(part));
    }
  }
  for (const Table& table : report.tables) {
    if (table.rows.empty()) continue;
    absl::StrAppendFormat(&text, "\n%s:\n\n%s", table.title, MarkdownTable(table, 0, screen));
  }
  return text + AssumedMarkdown(report);
}

// What was understood of a file, then what to know of it.
std::string CheckMarkdown(const Report& report, const Screen& screen) {
  std::string text = absl::StrFormat("**%s**\n\n", MarkdownText(BaseName(report.model.path)));
  for (const Table& table : report.tables) text += MarkdownTable(table, 0, screen);
  if (!report.notes.empty()) text += '\n';
  for (const Diagnostic& note : report.notes) {
    absl::StrAppendFormat(&text, "- **%s %s** (%d%s): %s\n", NameOf(note.severity), CodeOf(note), note.count,
                          note.bytes ? ", " + FormatBytesIn(*note.bytes, screen.units) : "",
                          MarkdownText(note.message));
    for (const std::string& line : note.details) absl::StrAppendFormat(&text, "  - %s\n", MarkdownText(line));
  }
  return text;
}

}  // namespace

std::string RenderMarkdown(const Report& report, const Screen& screen) {
  if (const auto* compared = std::get_if<ComparePart>(&report.part)) return CompareMarkdown(**compared, report, screen);
  if (const auto* fit = std::get_if<FitPart>(&report.part)) return FitMarkdown(report, *fit, screen);
  if (report.command == "check") return CheckMarkdown(report, screen);
  std::string text;
  const std::vector<Limit>& limits = LimitsOf(report);
  for (const RunSummary& run : report.runs) {
    for (const AnswerLine& line : AnswerLines(run, limits, screen.units)) {
      absl::StrAppendFormat(&text, "**%s%s: %s needs %s%s**%s%s%s\n\n", MarkdownText(BaseName(report.model.path)),
                            absl::StrFormat(", batch %d", run.batch), line.part, line.at_least ? "at least " : "",
                            line.size, line.interval.empty() ? "" : absl::StrFormat(" (%s)", line.interval),
                            line.verdict.empty() ? "" : " - ", line.verdict);
    }
  }
  if (const auto* planned = std::get_if<PlanPart>(&report.part)) {
    const std::vector<std::string> lines = PlanAnswerLines(report, screen);
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string_view mark = i == 0 ? "**" : "";
      absl::StrAppendFormat(&text, "%s%s%s\n\n", mark, MarkdownText(lines[i]), mark);
    }
    if (const Table segments = SegmentsTable(*planned); !segments.rows.empty()) {
      text += MarkdownTable(segments, 0, screen) + "\n";
    }
  }
  if (const Table* findings = TableNamed(report, "findings")) text += MarkdownTable(*findings, 0, screen) + '\n';
  const Table* shown = TableNamed(report, report.shown_table);
  if (shown == nullptr) shown = TableNamed(report, "categories");
  if (limits.size() > 1) text += MarkdownTable(GpusTable(report.runs, limits), 0, screen) + '\n';
  if (!report.runs.empty()) text += MarkdownTable(RunTable(report), 0, screen);
  if (shown != nullptr) {
    if (!report.runs.empty()) text += '\n';
    text += MarkdownTable(*shown, report.top, screen);
  }
  if (const Table* range = TableNamed(report, "range"); range != nullptr) {
    absl::StrAppendFormat(&text, "\n%s:\n\n%s", range->title, MarkdownTable(*range, 0, screen));
  }
  return text + AssumedMarkdown(report);
}

}  // namespace onnx_mem
