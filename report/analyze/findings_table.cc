#include "report/analyze/findings_table.h"

#include <string>

#include "absl/strings/str_join.h"
#include "report/analyze/report.h"

namespace onnx_mem {

Table FindingsTable(const std::vector<Diagnostic>& findings) {
  Table table{"findings",
              "Findings",
              {{"severity", "severity", ColumnKind::kWord},
               {"code", "code", ColumnKind::kText},
               {"count", "count", ColumnKind::kStep},
               {"bytes", "bytes", ColumnKind::kBytes},
               {"message", "message"},
               {"details", "details"}},
              {},
              2};
  table.has_total = false;
  for (const Diagnostic& finding : findings) {
    table.rows.push_back({std::string(NameOf(finding.severity)), CodeOf(finding), finding.count,
                          finding.bytes ? Cell(*finding.bytes) : Cell(), finding.message,
                          absl::StrJoin(finding.details, "; ")});
  }
  return table;
}

}  // namespace onnx_mem
