// Diagnostics as a table, a row each: what csv prints of onnx-mem check.
#ifndef ONNX_MEM_REPORT_ANALYZE_FINDINGS_TABLE_H_
#define ONNX_MEM_REPORT_ANALYZE_FINDINGS_TABLE_H_

#include <vector>

#include "analyzer/graph/diagnostic.h"
#include "report/parts/table.h"

namespace onnx_mem {

// "findings": severity, code, count, bytes, message, details (its lines joined).
Table FindingsTable(const std::vector<Diagnostic>& findings);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_ANALYZE_FINDINGS_TABLE_H_
