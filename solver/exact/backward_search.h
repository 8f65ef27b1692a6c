// Exact search (A*) over every schedule of a small step graph, from its end back to its start: any order of forward
// runs, any number of re-runs. Certifies optima and infeasibility.
//
// A state is "in gap t, these items must be resident now, and all that follows is decided". Going back over a run takes
// its results off the set and puts its inputs on it; an item that is neither made nor used here simply stays required.
// So nothing is ever dropped: no state holds an item that nobody will use, and how the first forward pass gets to the
// chosen set is settled last, when little is left to choose.
//
//   after B1: {}        before B1: {a1}       before the re-run of F1: {}   or keep a1 and go back over B2: {a1, a2}
//
// States are taken in the order of the cost of what is decided plus PrecedingCost; the first one at the start of the
// schedule that requires nothing is optimal.
#ifndef ONNX_MEM_SOLVER_EXACT_BACKWARD_SEARCH_H_
#define ONNX_MEM_SOLVER_EXACT_BACKWARD_SEARCH_H_

#include <cstdint>
#include <functional>
#include <limits>

#include "solver/exact/preceding_cost.h"
#include "solver/problem/op_sequence.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

struct ExactSearchLimits {
  int64_t state_limit = 1000000;  // states kept
  int64_t better_than = 0;        // only look for costs (anchors included) below this; 0 = any
  int64_t work_limit = std::numeric_limits<int64_t>::max();  // nanoseconds or thereabouts, counted
  PrecedingEffort effort;
  std::function<bool()> stop = [] { return false; };  // called now and then; true ends the search
};

struct ExactSearchResult {
  bool finished = false;  // the search ended by itself: what it says is proven
  bool found = false;     // `runs` is a schedule that costs `cost`
  int64_t cost = 0;
  int64_t lower_bound = 0;  // proven for every schedule (up to better_than); kImpossible if there is none
  OpSequence runs;
  int64_t states = 0;
};

ExactSearchResult SearchBackward(const StageProblem& problem, int64_t budget_bytes, const ExactSearchLimits& limits);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EXACT_BACKWARD_SEARCH_H_
