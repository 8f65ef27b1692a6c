// A solution as JSON, one line, keys in a fixed order:
//   {"schema": "onnx-mem/1", "command": "plan", "status": "feasible", "cost": 145, "peak": 532, "lower_bound": 145,
//    "optimal": true, "gap": 0.0, "method": "cut", "schedule": [["C", 0], ["F", 3], ...]}
// Without a plan, cost, peak, gap and method are null and the schedule is empty; lower_bound is null when infeasible.
#ifndef ONNX_MEM_SOLVER_METHODS_SOLUTION_JSON_H_
#define ONNX_MEM_SOLVER_METHODS_SOLUTION_JSON_H_

#include <string>

#include "solver/methods/solve.h"

namespace onnx_mem {

std::string SolutionToJson(const Solution& solution);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_SOLUTION_JSON_H_
