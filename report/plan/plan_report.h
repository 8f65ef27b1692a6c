// Checkpoint plans in the forms of a report: the screen, JSON, and the curve as a table for csv and md.
#ifndef ONNX_MEM_REPORT_PLAN_PLAN_REPORT_H_
#define ONNX_MEM_REPORT_PLAN_PLAN_REPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "report/analyze/report.h"
#include "report/parts/json_writer.h"
#include "report/parts/screen.h"

namespace onnx_mem {

std::string_view NameOf(PlanStatus status);  // "feasible", "infeasible", "unknown"

// All that take a report want its PlanPart and report.runs[0], the step without any plan.

// The answer, the segments to checkpoint, the trade-off, the course of memory.
std::string PlanText(const Report& report, const Screen& screen);

// The keys of the contract that follow the envelope: "baseline" to "plans".
void WritePlan(JsonWriter& json, const PlanPart& part);

// "resnet50.onnx batch=64 plan=4108006195 slowdown=0.0856": bytes on the device; "plan=none" when none fits.
std::string PlanLine(const Report& report);

// What was chosen, or why nothing was, in sentences without colours and indents: for Markdown.
std::vector<std::string> PlanAnswerLines(const Report& report, const Screen& screen);

Table CurveTable(const PlanPart& part);

// The segments of the chosen plan; no rows where there is none.
Table SegmentsTable(const PlanPart& part);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PLAN_PLAN_REPORT_H_
