// The whole trade-off of a step graph: what each budget costs at least, from keeping everything down to the least that
// any schedule needs.
//
//   budget   100   80   60   40
//   cost     500  500  512  590     never less for fewer bytes: a plan found for 60 serves 80 as well
//   bound    500  500  510  571     never more for more bytes: what 80 cannot do, 60 cannot either
#ifndef ONNX_MEM_SOLVER_METHODS_TRADEOFF_H_
#define ONNX_MEM_SOLVER_METHODS_TRADEOFF_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "solver/methods/solve.h"

namespace onnx_mem {

struct TradeoffPoint {
  int64_t budget_bytes = 0;
  Solution solution;
};

// `points` (at least 2) budgets, evenly spaced, falling from the peak of keeping everything to the least that some
// operator needs for itself. `graph` must verify. The limits of `options` are those of the whole curve.
// Errors: unknown-method.
absl::StatusOr<std::vector<TradeoffPoint>> Tradeoff(const StepGraph& graph, int points, const SolveOptions& options);

// Bytes below which some operator cannot run, whatever else is dropped.
int64_t LeastBudget(const StepGraph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_TRADEOFF_H_
