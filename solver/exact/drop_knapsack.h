// The cheapest set of items to drop at a cut, so that the rest fits: a small knapsack, where what is dropped must be
// produced again, from what is kept or produced again in turn.
//
//   a(10 bytes, cost 4), b(10, 3), c(10, 9), 15 bytes too many: drop a and b, cost 7
#ifndef ONNX_MEM_SOLVER_EXACT_DROP_KNAPSACK_H_
#define ONNX_MEM_SOLVER_EXACT_DROP_KNAPSACK_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "solver/exact/bits.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

inline constexpr int64_t kImpossible = std::numeric_limits<int64_t>::max() / 4;

struct DropQuestion {
  const StageProblem& problem;
  const std::vector<int64_t>& bytes;  // per item, what keeping it takes of the room
  std::vector<int> items;             // that may be dropped
  std::vector<Word> keepable;         // intermediates that could be kept at the cut
  std::vector<Word> intermediates;    // those that cost something to produce
  std::vector<int64_t> covered;       // per group: the cost that is charged already
  int node_limit = 20000;             // of the search
};

struct DropValue {
  int64_t cost = 0;      // kImpossible if nothing suffices
  bool is_exact = true;  // else the search would have taken too long, and the cost is a lower bound
  int nodes = 0;         // of the search
};

// The least cost of dropping `overflow` bytes and of serving `choices` (requirements that must be served in any case).
DropValue CheapestDrop(DropQuestion question, int64_t overflow, const std::vector<int>& choices);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EXACT_DROP_KNAPSACK_H_
