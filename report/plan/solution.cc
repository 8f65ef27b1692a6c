#include "report/plan/solution.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/order/stable_sort.h"
#include "report/parts/layout.h"

namespace onnx_mem {
namespace {

double PercentOf(int64_t part, int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

std::string Proof(const Solution& solution) {
  if (solution.optimal) return absl::StrFormat("proven: no schedule costs less\n");
  return absl::StrFormat("proven: no schedule costs less than %d (gap %.3g %%)\n", solution.lower_bound,
                         100.0 * solution.gap);
}

// Operators that run more than once, the one that costs most first.
std::string RunsAgain(const StepGraph& graph, const Schedule& schedule) {
  std::vector<int64_t> runs(graph.ops.size(), 0);
  for (const ScheduleStep& step : schedule) {
    if (step.kind == ScheduleStep::Kind::kCompute) ++runs[static_cast<size_t>(step.id)];
  }
  std::vector<StepOpId> again;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i] > 1) again.push_back(StepOpId(static_cast<int32_t>(i)));
  }
  if (again.empty()) return "";
  const auto times = [&](StepOpId op) { return runs[op.index()] - 1; };
  const auto cost = [&](StepOpId op) { return times(op) * graph.ops[op].cost; };
  StableSort(again, [&](StepOpId a, StepOpId b) { return cost(a) > cost(b); });
  TextTable table{{{.shrinks = true}, {.right = true}, {.right = true}}, {{"runs again", "times", "cost"}}};
  for (StepOpId op : again) {
    table.rows.push_back({graph.ops[op].name, absl::StrCat(times(op)), absl::StrCat(cost(op))});
  }
  std::string text = "\n";
  text += AlignedText(std::move(table), 0, 3, Screen{});
  return text;
}

}  // namespace

std::string SolutionText(const StepGraph& graph, int64_t budget_bytes, const Solution& solution) {
  switch (solution.status) {
    case SolveStatus::kInfeasible:
      return absl::StrFormat("%s: no schedule fits %d: %s\n", graph.name, budget_bytes, solution.why);
    case SolveStatus::kUnknown:
      return absl::StrFormat("%s: no plan found within %d; none is ruled out\nproven: no schedule costs less than %d\n",
                             graph.name, budget_bytes, solution.lower_bound);
    case SolveStatus::kFeasible: break;
  }
  const int64_t once = OnceCost(graph);
  return absl::StrFormat("%s: cost %d within %d (peak %d), %d more than with each operator run once (+%.3g %%)\n",
                         graph.name, solution.cost, budget_bytes, solution.peak_bytes, solution.cost - once,
                         PercentOf(solution.cost - once, once)) +
         Proof(solution) + RunsAgain(graph, solution.schedule);
}

}  // namespace onnx_mem
