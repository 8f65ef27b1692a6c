#include "solver/methods/solve.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "solver/methods/incumbent.h"
#include "solver/methods/methods.h"
#include "solver/problem/stages.h"

namespace onnx_mem {
namespace {

bool IsKnown(std::string_view method) {
  const auto rows = MethodRows();
  return method == "auto" ||
         std::any_of(rows.begin(), rows.end(), [&](const MethodRow& row) { return row.choice == method; });
}

// What is under way when time is up, and the last simulation, still belong to the time given.
constexpr double kPartOfLimit = 0.985;

SolveLimits LimitsOf(const SolveOptions& options) {
  SolveLimits limits;
  limits.iteration_limit = options.iteration_limit;
  if (options.time_limit_s > 0) {
    const std::chrono::duration<double> span(kPartOfLimit * std::min(options.time_limit_s, 1e9));
    limits.deadline = SolveLimits::Clock::now() + std::chrono::duration_cast<SolveLimits::Clock::duration>(span);
  }
  return limits;
}

Solution SolutionOf(const Incumbent& incumbent) {
  Solution solution;
  solution.lower_bound = incumbent.lower_bound();
  if (incumbent.feasible()) {
    solution.status = SolveStatus::kFeasible;
    solution.schedule = incumbent.schedule();
    solution.cost = incumbent.cost();
    solution.peak_bytes = incumbent.peak_bytes();
    solution.optimal = solution.cost == solution.lower_bound;
    if (solution.cost > 0) {
      solution.gap = static_cast<double>(solution.cost - solution.lower_bound) / static_cast<double>(solution.cost);
    }
    solution.method = incumbent.method();
  } else if (incumbent.infeasible()) {
    solution.status = SolveStatus::kInfeasible;
    solution.why = incumbent.why_infeasible();
  }
  return solution;
}

}  // namespace

absl::StatusOr<Solution> Solve(const StepGraph& graph, int64_t budget_bytes, const SolveOptions& options) {
  if (!IsKnown(options.method)) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUnknownMethod,
                       absl::StrCat("a step graph has no planning method '", options.method, "'"),
                       {"try: ... --method auto"});
  }
  const SolveLimits limits = LimitsOf(options);
  const StageProblem problem = BuildStages(graph);
  const PlanningTask task{graph, problem, budget_bytes, limits};
  Incumbent incumbent(graph, budget_bytes);
  for (const MethodRow& row : MethodRows()) {
    if (incumbent.done()) break;
    // Keeping everything is tried first whatever the method: where it fits, there is nothing to plan.
    if (options.method == "auto" || row.choice == options.method || row.choice == "none") row.run(task, incumbent);
  }
  return SolutionOf(incumbent);
}

}  // namespace onnx_mem
