// The lower bound of the best cuts, at any size: which instants and windows between instants to look at, within a limit
// of time. What one cut costs is cut_value.h's matter; windows (k1, k2], (k2, k3], ... add up, as no run lies in two.
#ifndef ONNX_MEM_SOLVER_BOUND_CUT_BOUND_H_
#define ONNX_MEM_SOLVER_BOUND_CUT_BOUND_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "solver/bound/cut_value.h"
#include "solver/problem/first_runs.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

struct SolvedCut {
  int anchor = 0;
  CutValue value;
};

struct CutBound {
  int64_t lower_bound = 0;      // on the cost of any schedule, anchors included
  int impossible_at = -1;       // an anchor at which what must be there does not fit, -1 if none was found
  std::vector<SolvedCut> cuts;  // single cuts with their best choices, the most costly first
};

enum class CutEffort {
  kQuick,     // single cuts, the best of them solved to the end
  kThorough,  // windows too, and every single cut that may bound higher
};

struct CutBoundLimits {
  CutEffort effort = CutEffort::kThorough;
  int64_t enough = std::numeric_limits<int64_t>::max();  // a schedule of this cost is known
  int64_t work_limit = 1'000'000'000;                    // arcs looked at in minimum cuts; some nanoseconds each
  std::function<bool()> stop = [] { return false; };
};

CutBound BoundByCuts(const StageProblem& problem, int64_t budget_bytes, const CutBoundLimits& limits);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_BOUND_CUT_BOUND_H_
