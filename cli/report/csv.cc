// Report -> CSV (RFC 4180 with plain newlines): the list that --by asks for, else a row of figures per batch. Bytes.
#include "cli/report/compare_forms.h"
#include "cli/report/csv_field.h"
#include "cli/report/figures.h"
#include "cli/report/formats.h"
#include "cli/report/report.h"
#include "cli/report/run_table.h"

namespace onnx_mem {
std::string RenderCsv(const Report& report, const Screen&) {
  if (report.comparison) return CompareCsv(*report.comparison, report);
  const Table* shown = TableNamed(report, report.shown_table);
  const Table runs = shown ? Table() : RunTable(report);
  const Table& table = shown ? *shown : runs;
  std::string text;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) text += ',';
    text += table.columns[i].key;
  }
  text += '\n';
  for (size_t row : TopRows(table, shown ? report.top : 0)) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (i > 0) text += ',';
      text += CsvField(CellRaw(table.rows[row][i]));
    }
    text += '\n';
  }
  return text;
}

}  // namespace onnx_mem
