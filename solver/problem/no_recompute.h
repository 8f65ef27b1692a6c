// The plan without a plan: every operator that is needed runs once, in the listed order, and every tensor is kept to
// its last use. Where variants of one computation differ in what they save, those are run that serve every reader.
#ifndef ONNX_MEM_SOLVER_PROBLEM_NO_RECOMPUTE_H_
#define ONNX_MEM_SOLVER_PROBLEM_NO_RECOMPUTE_H_

#include "solver/problem/op_sequence.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

OpSequence RunOnce(const StageProblem& problem);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_PROBLEM_NO_RECOMPUTE_H_
