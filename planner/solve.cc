#include "planner/solve.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "planner/no_recompute.h"
#include "planner/simulate.h"

namespace onnx_mem {

absl::StatusOr<Solution> Solve(const StepGraph& graph, int64_t budget_bytes, const SolveOptions& options) {
  if (options.method != "auto" && options.method != "none") {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, "unknown-method",
                       absl::StrCat("no planning method '", options.method, "'"));
  }
  Solution solution;
  solution.lower_bound = OnceCost(graph);
  std::optional<Schedule> schedule = ScheduleOf(graph, RunOnce(BuildStages(graph)));
  if (!schedule) return absl::InternalError("a run without recomputation reads what it did not make");
  ASSIGN_OR_RETURN(const ScheduleMeasure measure, Simulate(graph, *schedule));
  if (measure.peak_bytes > budget_bytes) return solution;
  solution.status = SolveStatus::kFeasible;
  solution.schedule = std::move(*schedule);
  solution.cost = measure.cost;
  solution.peak_bytes = measure.peak_bytes;
  solution.optimal = solution.cost == solution.lower_bound;
  if (solution.cost > 0) {
    solution.gap = static_cast<double>(solution.cost - solution.lower_bound) / static_cast<double>(solution.cost);
  }
  solution.method = "none";
  return solution;
}

}  // namespace onnx_mem
