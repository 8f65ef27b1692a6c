// The key figures of a report's runs as a table: a row per batch, and of several limits for each. What csv and md show
// where no list is wanted.
#ifndef ONNX_MEM_REPORT_ANALYZE_RUN_TABLE_H_
#define ONNX_MEM_REPORT_ANALYZE_RUN_TABLE_H_

#include <string>
#include <vector>

#include "report/analyze/report.h"
#include "report/parts/table.h"

namespace onnx_mem {

Table RunTable(const Report& report);

// "Tesla T4", "budget", "GPU memory".
std::string NameOfLimit(const Limit& limit);

// "Tesla-T4", which --gpu takes too: for lines of words; "-" for none.
std::string OneWord(std::string name);

// "gpus": for people, a row for each limit and batch with what each part needs there and its verdict.
Table GpusTable(const std::vector<RunSummary>& runs, const std::vector<Limit>& limits);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_ANALYZE_RUN_TABLE_H_
