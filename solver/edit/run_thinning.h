// Takes runs out of a schedule whose results could as well stay from earlier on: wherever the bytes between the last
// use and the repeated run leave room. Whatever only such a run used is taken out too. The order of the other runs is
// kept, so any schedule will do (run_timeline.h knows only schedules that run an operator once in a gap).
//
//   F1 F2 F3 F1 B3 F1 B2     room for a1 between B3 and B2:   F1 F2 F3 F1 B3 B2
#ifndef ONNX_MEM_SOLVER_EDIT_RUN_THINNING_H_
#define ONNX_MEM_SOLVER_EDIT_RUN_THINNING_H_

#include <cstdint>
#include <functional>

#include "solver/problem/op_sequence.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

// `runs`: legal on the graph of `problem`, and within the budget; so is what comes back, and no more costly. `stop` is
// called now and then.
OpSequence ThinOut(const StageProblem& problem, const OpSequence& runs, int64_t budget_bytes,
                   const std::function<bool()>& stop);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EDIT_RUN_THINNING_H_
