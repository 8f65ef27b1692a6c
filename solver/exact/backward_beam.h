// A schedule where little fits, by the search back in time (backward_search.h) with a beam: of the states of
// a gap only the most promising are followed, gap after gap. Whatever state it holds can be carried to the end within
// the budget, so what remains is to get there; searches that start from keeping everything and give up one result after
// the other find nothing where most results must go several times.
#ifndef ONNX_MEM_SOLVER_EXACT_BACKWARD_BEAM_H_
#define ONNX_MEM_SOLVER_EXACT_BACKWARD_BEAM_H_

#include <cstdint>
#include <functional>

#include "solver/problem/op_sequence.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

struct BeamLimits {
  int width = 100;          // states of a gap that are followed into the gap before it
  double price = 0;         // of what a state requires: of the whole budget, in parts of the cost of all anchors
  int64_t better_than = 0;  // only look for costs (anchors included) below this; 0 = any
  std::function<bool()> stop = [] { return false; };
};

// Empty if the beam ends nowhere.
OpSequence PlanByBeam(const StageProblem& problem, int64_t budget_bytes, const BeamLimits& limits);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EXACT_BACKWARD_BEAM_H_
