// Report -> CSV (RFC 4180 with plain newlines): the list that --by asks for, else a row of figures per batch. Bytes.
// Of fit a row for each card and each way to make it fit, of check a row for each finding.
#include "report/analyze/findings_table.h"
#include "report/analyze/fit_table.h"
#include "report/analyze/report.h"
#include "report/analyze/run_table.h"
#include "report/compare/compare_forms.h"
#include "report/parts/csv_field.h"
#include "report/parts/figures.h"
#include "report/parts/formats.h"

namespace onnx_mem {
namespace {

std::string FieldOf(const Cell& cell) {
  const bool words = std::holds_alternative<std::string>(cell) || std::holds_alternative<CommandWords>(cell);
  return words ? CsvText(CellRaw(cell)) : CsvField(CellRaw(cell));
}

std::string CsvTable(const Table& table, int64_t top) {
  std::string text;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) text += ',';
    text += table.columns[i].key;
  }
  text += '\n';
  for (size_t row : TopRows(table, top)) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (i > 0) text += ',';
      text += FieldOf(table.rows[row][i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string RenderCsv(const Report& report, const Screen&) {
  if (const auto* compared = std::get_if<ComparePart>(&report.part)) return CompareCsv(**compared, report);
  if (const auto* fit = std::get_if<FitPart>(&report.part)) {
    return CsvTable(FitTable(*fit, TableNamed(report, "ways"), TableNamed(report, "together")), 0);
  }
  if (report.command == "check") return CsvTable(FindingsTable(report.notes), 0);
  const Table* shown = TableNamed(report, report.shown_table);
  return shown ? CsvTable(*shown, report.top) : CsvTable(RunTable(report), 0);
}

}  // namespace onnx_mem
