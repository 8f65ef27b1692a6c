// Exact search (A*) over every schedule of a small step graph: any order of forward runs, any number of re-runs, any
// tensor dropped at any moment. Certifies optima and infeasibility.
//
// A state is "before anchor t, with these items resident"; a move runs one operator, after dropping just enough where
// it would not fit (a smallest set: dropping more can always wait). States are taken in the order of cost so far plus
// RemainingCost; the first state behind the last anchor is optimal.
#ifndef ONNX_MEM_PLANNER_EXACT_EXACT_SEARCH_H_
#define ONNX_MEM_PLANNER_EXACT_EXACT_SEARCH_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "planner/exact/remaining_cost.h"
#include "planner/schedule/op_sequence.h"
#include "planner/schedule/stages.h"

namespace onnx_mem {

struct ExactSearchLimits {
  int64_t state_limit = 1000000;         // states kept
  int64_t better_than = 0;               // only look for costs (anchors included) below this; 0 = any
  int64_t work_limit = std::numeric_limits<int64_t>::max();  // nanoseconds or thereabouts, counted (SearchBackward only)
  bool depth_first = false;              // the first schedule that comes up, in place of the best; proves nothing
  std::function<bool()> stop;            // asked now and then; true ends the search
};

struct ExactSearchResult {
  bool finished = false;    // the search ended by itself: what it says is proven
  bool found = false;       // `runs` is a schedule that costs `cost`
  int64_t cost = 0;
  int64_t lower_bound = 0;  // proven for every schedule (up to better_than); kImpossible if there is none
  OpSequence runs;
  int64_t states = 0;
};

// `cuts` as for RemainingCost.
ExactSearchResult SearchExactly(const StageProblem& problem, int64_t budget_bytes, const std::vector<CutChain>& cuts,
                                const ExactSearchLimits& limits);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_EXACT_EXACT_SEARCH_H_
