// Step graphs as plain JSON (format "om1"), so that the planners can be judged against published and exact results
// without a model.
//
//   {"format": "om1", "name": "...", "base": 0,
//    "tensors": [{"id": 0, "name": "x", "size": 0, "kind": "input"}, {"id": 1, "name": "a", "size": 64, "kind": "act"},
//                {"id": 2, "name": "d", "size": 64, "kind": "grad"}, {"id": 3, "name": "dw", "size": 8, "kind":
//                "pgrad"}],
//    "ops": [{"id": 0, "name": "F", "kind": "fwd", "cost": 5, "work": 0, "in": [[0]], "out": [1], "group": "f"},
//            {"id": 1, "name": "B", "kind": "bwd", "cost": 9, "work": 4, "in": [[1]], "out": [2]}]}
//
// Ids are positions. Every entry of "in" is a list of alternatives, any one of which serves. "kind" of an operator may
// also be "ordered" (problem.h). Other keys are ignored.
#ifndef ONNX_MEM_SOLVER_PROBLEM_INSTANCE_H_
#define ONNX_MEM_SOLVER_PROBLEM_INSTANCE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "solver/problem/problem.h"

namespace onnx_mem {

// The verified step graph in `json_text`. Errors: bad-json (with the byte, from 1, where reading stopped), bad-instance
// (with the path of the value that is wrong, e.g. "ops[3].cost").
absl::StatusOr<StepGraph> ParseInstance(std::string_view json_text);

// The same from a file; error not-found when it cannot be read.
absl::StatusOr<StepGraph> ReadInstance(const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_PROBLEM_INSTANCE_H_
