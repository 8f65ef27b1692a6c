// The runs of a report that viewers of other projects can show: those of which every step is known.
#ifndef ONNX_MEM_REPORT_VIEWERS_DRAWN_RUNS_H_
#define ONNX_MEM_REPORT_VIEWERS_DRAWN_RUNS_H_

#include <string_view>
#include <utility>
#include <vector>

#include "report/analyze/report.h"

namespace onnx_mem {

struct ViewedRun {
  std::string_view name;  // "training"
  const Analysis* analysis = nullptr;
  const RunFigures* figures = nullptr;
};

// Training first. Empty for a report without steps. Of a plan: the step without any.
inline std::vector<ViewedRun> ViewedRuns(const Report& report) {
  const Analysis* analysis = nullptr;
  if (const auto* part = std::get_if<AnalyzePart>(&report.part)) analysis = part->analysis.get();
  if (const auto* part = std::get_if<PlanPart>(&report.part)) analysis = part->baseline.get();
  std::vector<ViewedRun> runs;
  if (analysis == nullptr) return runs;
  for (const Part& part : analysis->parts) runs.push_back({part.name, analysis, part.figures.get()});
  return runs;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_VIEWERS_DRAWN_RUNS_H_
