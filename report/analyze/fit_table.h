// What onnx-mem fit answers, as one table: what csv prints.
#ifndef ONNX_MEM_REPORT_ANALYZE_FIT_TABLE_H_
#define ONNX_MEM_REPORT_ANALYZE_FIT_TABLE_H_

#include "report/analyze/report.h"
#include "report/parts/table.h"

namespace onnx_mem {

// "fit": a row for each card and part as the question has it ("change" is empty), then a row for each way to make it
// fit, which is of the first card that is too small.
// `ways`: the report's table of them, or nullptr.
Table FitTable(const FitPart& fit, const Table* ways, const Table* together);

// "cards": a row for each card and part, for people.
Table CardsTable(const FitPart& fit);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_ANALYZE_FIT_TABLE_H_
