// What a cut costs at least, and which choice reaches that: the minimum over what to keep (cut_graph.h) with the bytes
// kept held to the room.
//
// The room is priced (Lagrange): with a price per byte the cheapest choice is one minimum cut, and the best price gives
// a bound that is proven whatever the rounding. What is left between bound and best choice is closed by branch and
// bound on what to keep, the most promising branch first.
#ifndef ONNX_MEM_SOLVER_BOUND_CUT_VALUE_H_
#define ONNX_MEM_SOLVER_BOUND_CUT_VALUE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "solver/bound/cut_graph.h"

namespace onnx_mem {

struct CutLimits {
  int branch_limit = 0;                                  // branchings after the first bound
  int64_t enough = std::numeric_limits<int64_t>::max();  // a bound from here on is as good as any
  std::function<bool()> stop = [] { return false; };     // called between minimum cuts
};

struct CutValue {
  bool impossible = false;   // no choice fits: no schedule does
  int64_t lower_bound = 0;   // proven: of all runs behind the anchor, beyond what FirstRuns charges there
  int64_t cost = -1;         // of the best choice found, -1 if none
  std::vector<int> kept;     // requirements that it keeps at the instant
  std::vector<int> dropped;  // requirements that it makes again afterwards
};

// `cost_unit`: all costs are multiples of it.
CutValue SolveCut(CutGraph& graph, int64_t cost_unit, const CutLimits& limits);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_BOUND_CUT_VALUE_H_
