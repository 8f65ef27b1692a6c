// What a page draws: its runs, and the plans that they are of.
#ifndef ONNX_MEM_REPORT_PAGE_PAGE_RUNS_H_
#define ONNX_MEM_REPORT_PAGE_PAGE_RUNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "report/analyze/report.h"
#include "report/parts/json_writer.h"

namespace onnx_mem {

struct PageRun {
  std::string name;  // "training", "plan 3"
  const Analysis* analysis = nullptr;
  const RunFigures* figures = nullptr;
  int64_t limit_bytes = 0;  // LiveLimit of the first limit, or 0
  int64_t base = -1;        // the run that this one is compared with
};

std::vector<PageRun> PageRunsOf(const Report& report);

// The members "plans", "budget_bytes", "budget_on", "cost_in". `runs`: PageRunsOf the report.
void WritePagePlans(JsonWriter& json, const PlanPart& part, const std::vector<PageRun>& runs);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PAGE_PAGE_RUNS_H_
