// The planners' front door: the cheapest schedule found for a step graph within a budget, with its
// proof.
#ifndef ONNX_MEM_SOLVER_METHODS_SOLVE_H_
#define ONNX_MEM_SOLVER_METHODS_SOLVE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "solver/problem/problem.h"

namespace onnx_mem {

struct SolveOptions {
  std::string method = "auto";  // a row of the method table (methods.h), or "auto" for the whole ladder
  double time_limit_s = 2.0;    // of processor time; 0 = none
  int64_t iteration_limit = 0;  // search iterations; the same limit gives the same plan on any machine; 0 = none
};

enum class SolveStatus {
  kFeasible,    // `schedule` fits the budget
  kInfeasible,  // proven: no schedule fits (with this order of required operators)
  kUnknown,     // no plan found; none is ruled out either
};

struct Solution {
  SolveStatus status = SolveStatus::kUnknown;
  Schedule schedule;        // empty unless feasible
  int64_t cost = 0;         // of the whole step, first runs included, as the simulator measures it
  int64_t peak_bytes = 0;   // as the simulator measures it
  int64_t lower_bound = 0;  // proven: no schedule within the budget costs less
  bool optimal = false;     // cost == lower_bound
  double gap = 0.0;         // (cost - lower_bound) / cost
  std::string method;       // the method that found the schedule
  std::string why;          // for kInfeasible: the operator that cannot run and what it needs
};

// Solves `graph` (which must verify) within `budget_bytes`. Every schedule returned has been simulated and fits.
// Errors: unknown-method.
absl::StatusOr<Solution> Solve(const StepGraph& graph, int64_t budget_bytes, const SolveOptions& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_SOLVE_H_
