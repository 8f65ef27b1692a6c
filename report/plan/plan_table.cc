// The trade-off curve as a table, and as one line.
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/analyze/answer.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {

Table CurveTable(const PlanPart& part) {
  Table table{"trade_off", "Trade-off", {}, {}, 0};
  table.has_total = false;
  table.columns = {{"id", "", ColumnKind::kStep, Show::kData},
                   {"plan", "plan", ColumnKind::kText},
                   {"device_bytes", "on the GPU", ColumnKind::kBytes},
                   {"peak_bytes", "alive", ColumnKind::kBytes},
                   {"recompute_flops", "recompute", ColumnKind::kWork},
                   {"slowdown", "slowdown", ColumnKind::kDecimal},
                   {"chosen", "", ColumnKind::kWord},
                   {"modules", "modules", ColumnKind::kText, Show::kData}};
  for (size_t i = 0; i < part.answer.plans.size(); ++i) {
    const ModulePlan& plan = part.answer.plans[i];
    std::vector<std::string> segments;
    for (const PlannedSegment& segment : plan.segments) {
      segments.push_back(
          absl::StrJoin(segment.segment.modules.empty() ? segment.segment.nodes : segment.segment.modules, "+"));
    }
    const std::string mark = part.answer.chosen == i ? "chosen" : plan.dominated ? "dominated" : "";
    table.rows.push_back({plan.id, plan.label, plan.measured.device_bytes, plan.measured.peak_bytes,
                          plan.measured.recompute_flops, plan.measured.slowdown, mark, absl::StrJoin(segments, " ")});
  }
  return table;
}

std::string PlanLine(const Report& report) {
  const PlanAnswer& answer = std::get<PlanPart>(report.part).answer;
  std::string text = absl::StrFormat("%s batch=%d", BaseName(report.model.path), report.runs.front().batch);
  if (!answer.chosen) return text + " plan=none\n";
  const Measured& chosen = answer.plans[*answer.chosen].measured;
  absl::StrAppendFormat(&text, " plan=%d slowdown=%.4f\n", chosen.device_bytes, chosen.slowdown);
  return text;
}

}  // namespace onnx_mem
