// One enacted training step -> the planners' step graph (planner/problem.h): what any schedule may run again, and what
// none can change.
//
//   node of the forward       operator that may run at any time; its buffers are activations
//   node that works in place  one operator with the maker of the buffer that it overwrites: to have the result again,
//                             both must run
//   step of loss or backward  operator that runs once, in this order; what it allocates stays as long as in the enacted
//                             step (gradients, temporaries)
//   parameters, optimizer state, inputs    base
//
// Everything in the graph is needed by every plan that keeps the backward's order, checkpoints of modules among them;
// an edge that is not certain is left out. So a bound that is proven for the graph holds for the accountant's live
// bytes.
#ifndef ONNX_MEM_PLANNER_MEASURE_STEP_GRAPH_H_
#define ONNX_MEM_PLANNER_MEASURE_STEP_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analysis/enact.h"
#include "solver/problem/problem.h"

namespace onnx_mem {

// `cost`: of each step of the trace's program. `always_bytes`: alive throughout beside what the program has (optimizer
// state). The graph verifies.
StepGraph StepGraphOf(const StepTrace& trace, const std::vector<int64_t>& cost, int64_t always_bytes);

// The operator that no schedule can do without and that needs most: what it reads, makes and works with, and what
// cannot be dropped at that time.
struct NeediestOp {
  int64_t bytes = 0;
  StepOpId op;
};
NeediestOp NeediestOf(const StepGraph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_STEP_GRAPH_H_
