// Which runs no schedule does without, and by when: the closure of what the anchors need, memory aside.
//
//   F1: x -> a1, F2: a1 -> a2, anchor 0 needs a2, anchor 1 needs a1
//   due by anchor 0: F2, and F1 for its input; by anchor 1: nothing more
#ifndef ONNX_MEM_SOLVER_PROBLEM_FIRST_RUNS_H_
#define ONNX_MEM_SOLVER_PROBLEM_FIRST_RUNS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "solver/problem/stages.h"

namespace onnx_mem {

class FirstRuns {
 public:
  explicit FirstRuns(const StageProblem& problem);

  // Of all runs that must happen, anchors aside.
  int64_t cost() const { return cost_; }

  // The cost of runs of the group that is part of cost() and may lie behind anchor k.
  int64_t CostAfter(int k, int group) const;

 private:
  void Need(const StageProblem& problem, int k, const std::vector<int>& needs);

  int64_t cost_ = 0;
  std::vector<bool> seen_;                                 // by requirement
  std::vector<std::vector<std::pair<int, int64_t>>> due_;  // by group: from which anchor on how much, ascending
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_PROBLEM_FIRST_RUNS_H_
