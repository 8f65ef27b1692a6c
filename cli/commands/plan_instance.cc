// onnx-mem plan --instance FILE --budget N: the cheapest schedule found for a step graph, with its proof.
#include "analyzer/graph/status_macros.h"
#include "cli/commands/plan.h"
#include "cli/options/option_values.h"
#include "report/plan/solution.h"
#include "solver/methods/solution_json.h"
#include "solver/methods/solve.h"
#include "solver/problem/instance.h"

namespace onnx_mem {

absl::StatusOr<CommandAnswer> PlanInstance(const Options& options) {
  if (!options.budget_bytes) return UsageError("--instance needs a --budget");
  if (options.format != "table" && options.format != "json") {
    return UsageError("a schedule is printed as table or json");
  }
  if (!options.exports.empty()) {
    return UsageError("--export: a schedule is printed and not written", {"way out: --format json > FILE"});
  }
  ASSIGN_OR_RETURN(const StepGraph graph, ReadInstance(options.instance_file));
  SolveOptions solve;
  solve.method = options.plan_request.method;
  solve.time_limit_s = options.time_limit_s.value_or(solve.time_limit_s);
  solve.iteration_limit = options.plan_request.iteration_limit;
  ASSIGN_OR_RETURN(const Solution solution, Solve(graph, *options.budget_bytes, solve));
  const bool json = options.format == "json";
  return CommandAnswer{
      .text = json ? SolutionToJson(solution) + "\n" : SolutionText(graph, *options.budget_bytes, solution),
      .yes = solution.status == SolveStatus::kFeasible};
}

}  // namespace onnx_mem
