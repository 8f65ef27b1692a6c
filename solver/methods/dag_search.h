// Local search on whole schedules (large neighbourhood search, planning notes 3.5 c): take a few repeated runs away,
// which makes some moments too full; repair those by giving up other items, the cheapest per byte first; keep the
// outcome if it is not much dearer. Exact on bytes at every move, in O(log n) per changed life.
//
// Starts from the incumbent's plan. Where there is none, from keeping everything, with a limit that comes down to the
// budget step by step.
#ifndef ONNX_MEM_SOLVER_METHODS_DAG_SEARCH_H_
#define ONNX_MEM_SOLVER_METHODS_DAG_SEARCH_H_

#include "solver/methods/methods.h"

namespace onnx_mem {

// Row of the method table. The same iteration limit gives the same plan.
void PlanDag(const PlanningTask& task, Incumbent& incumbent);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_DAG_SEARCH_H_
