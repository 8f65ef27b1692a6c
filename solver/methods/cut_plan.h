// A schedule that follows a cut: what the cut keeps is kept, what it makes again is dropped when room runs out and made
// again just in time.
//
//   keep a2, room for two:   F1 F2 F3 (drop a1) B3 B2 | F1 B1
//
// Nothing is dropped before memory forces it; of what the cut does not keep, what is needed last is dropped first.
#ifndef ONNX_MEM_SOLVER_METHODS_CUT_PLAN_H_
#define ONNX_MEM_SOLVER_METHODS_CUT_PLAN_H_

#include <cstdint>
#include <functional>

#include "solver/bound/cut_value.h"
#include "solver/problem/op_sequence.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

// Where not everything fits even so, the runs exceed the budget. Empty where the same runs come again and again,
// and where `stop` has said so before the end.
OpSequence FollowCut(const StageProblem& problem, int64_t budget_bytes, const CutValue& cut,
                     const std::function<bool()>& stop);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_CUT_PLAN_H_
