// From an order of operator runs to the schedule that needs the least memory for it: every tensor is freed right after
// the last use of each of its lives, and runs whose results nobody uses are left out.
//
//   runs  F1 F2 F1 B2 B1   ->   C F1  C F2  F a1  C F1  C B2  F a1  F a2  C B1
#ifndef ONNX_MEM_SOLVER_PROBLEM_OP_SEQUENCE_H_
#define ONNX_MEM_SOLVER_PROBLEM_OP_SEQUENCE_H_

#include <optional>
#include <vector>

#include "solver/problem/problem.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

using OpSequence = std::vector<StepOpId>;

// Nothing if some run reads what no earlier run made.
std::optional<Schedule> ScheduleOf(const StepGraph& graph, const OpSequence& runs);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_PROBLEM_OP_SEQUENCE_H_
