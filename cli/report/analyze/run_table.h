// The key figures of a report's runs as a table: a row per batch. What csv and md show where no list is asked for.
#ifndef ONNX_MEM_CLI_REPORT_ANALYZE_RUN_TABLE_H_
#define ONNX_MEM_CLI_REPORT_ANALYZE_RUN_TABLE_H_

#include "cli/report/analyze/report.h"
#include "cli/report/parts/table.h"

namespace onnx_mem {

Table RunTable(const Report& report);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_REPORT_ANALYZE_RUN_TABLE_H_
