#include "solver/methods/tradeoff.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "analyzer/graph/status_macros.h"
#include "solver/problem/no_recompute.h"
#include "solver/problem/simulate.h"
#include "solver/problem/stages.h"

namespace onnx_mem {
namespace {

using Clock = std::chrono::steady_clock;

int64_t PeakOfKeepingAll(const StepGraph& graph) {
  const std::optional<Schedule> schedule = ScheduleOf(graph, RunOnce(BuildStages(graph)));
  if (!schedule) return 0;
  const absl::StatusOr<ScheduleMeasure> measure = Simulate(graph, *schedule);
  return measure.ok() ? measure->peak_bytes : 0;
}

void SetCost(Solution& solution) {
  solution.optimal = solution.cost == solution.lower_bound;
  solution.gap = solution.cost > 0
                     ? static_cast<double>(solution.cost - solution.lower_bound) / static_cast<double>(solution.cost)
                     : 0.0;
}

// Plans and proofs serve their neighbours.
void MakeMonotone(std::vector<TradeoffPoint>& curve) {
  for (size_t i = curve.size() - 1; i-- > 0;) {
    const Solution& smaller = curve[i + 1].solution;
    Solution& larger = curve[i].solution;
    const bool has_plan = smaller.status == SolveStatus::kFeasible;
    if (!has_plan || (larger.status == SolveStatus::kFeasible && larger.cost <= smaller.cost)) continue;
    const int64_t bound = larger.lower_bound;
    larger = smaller;
    larger.lower_bound = bound;
  }
  for (size_t i = 1; i < curve.size(); ++i) {
    Solution& smaller = curve[i].solution;
    smaller.lower_bound = std::max(smaller.lower_bound, curve[i - 1].solution.lower_bound);
  }
  for (TradeoffPoint& point : curve) {
    if (point.solution.status == SolveStatus::kFeasible) SetCost(point.solution);
  }
}

}  // namespace

int64_t LeastBudget(const StepGraph& graph) {
  int64_t most = 0;
  const StageProblem problem = BuildStages(graph);
  for (const StageAnchor& anchor : problem.anchors) most = std::max(most, LeastBytes(problem, anchor));
  return most;
}

absl::StatusOr<std::vector<TradeoffPoint>> Tradeoff(const StepGraph& graph, int points, const SolveOptions& options) {
  const auto start = Clock::now();
  const int64_t most = PeakOfKeepingAll(graph);
  const int64_t least = std::min(LeastBudget(graph), most);
  std::vector<TradeoffPoint> curve;
  for (int i = 0; i < points; ++i) {
    SolveOptions part = options;
    if (options.time_limit_s > 0) {
      const double left = options.time_limit_s - std::chrono::duration<double>(Clock::now() - start).count();
      part.time_limit_s = std::max(left / (points - i), 1e-3);
    }
    if (options.iteration_limit > 0) part.iteration_limit = std::max<int64_t>(1, options.iteration_limit / points);
    const int64_t budget = most - (most - least) / (points - 1) * i;
    ASSIGN_OR_RETURN(Solution solution, Solve(graph, budget, part));
    curve.push_back({budget, std::move(solution)});
  }
  MakeMonotone(curve);
  return curve;
}

}  // namespace onnx_mem
