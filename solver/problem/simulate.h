// The judge: what a schedule on a step graph costs and how many bytes it needs at its worst moment.
//
// While an operator runs: base + everything resident + each activation it writes that is not resident yet + each
// gradient it writes in full (a second contribution needs a temporary as large as the buffer) + its work. Frees cost
// nothing. Nothing about allocator rounding or fragmentation is in this model.
#ifndef ONNX_MEM_SOLVER_PROBLEM_SIMULATE_H_
#define ONNX_MEM_SOLVER_PROBLEM_SIMULATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "solver/problem/problem.h"

namespace onnx_mem {

struct ScheduleMeasure {
  int64_t peak_bytes = 0;
  int64_t cost = 0;
  friend bool operator==(const ScheduleMeasure&, const ScheduleMeasure&) = default;
};

// Error (code illegal-schedule) naming the step when an input is missing or incomplete, a free is not allowed, a
// backward operator runs twice, ordered operators first run out of order, or a required operator never runs.
// `graph` must verify (VerifyStepGraph).
absl::StatusOr<ScheduleMeasure> Simulate(const StepGraph& graph, const Schedule& schedule);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_PROBLEM_SIMULATE_H_
