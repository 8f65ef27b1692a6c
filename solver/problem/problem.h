// The planner's problem: a step graph, in the memory model OM1.
//
// A step graph is one training step (or one inference) reduced to what rematerialization can decide: tensors with
// sizes, operators with costs, and which operator reads and writes what. A schedule is a list of "compute operator"
// and "free tensor" steps; simulate.h says what a schedule's peak and cost are.
//
//   input   x        resident from the start, counted in base_bytes
//   forward F1: x -> a1      may run any number of times
//   forward F2: a1 -> a2
//   backward B2: a1, a2 -> d1      runs exactly once; gradients are never dropped or re-made
//   backward B1: x, d1 -> (nothing)
//
//   keep everything:  C F1  C F2  C B2  C B1
//   keep a2 only:     C F1  C F2  F a1  C F1  C B2  C B1     (F1 runs twice: cheaper in memory, dearer in time)
#ifndef ONNX_MEM_SOLVER_PROBLEM_PROBLEM_H_
#define ONNX_MEM_SOLVER_PROBLEM_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/graph/ids.h"

namespace onnx_mem {

using StepTensorId = Id<struct StepTensorTag>;
using StepOpId = Id<struct StepOpTag>;

enum class StepTensorKind {
  kInput,              // always resident; its bytes are part of base_bytes
  kActivation,         // may be freed and re-made any number of times
  kGradient,           // appears with its first contribution, vanishes when its last backward reader has run
  kParameterGradient,  // appears with its first contribution, stays to the end
};

enum class StepOpKind {
  kForward,   // may run any number of times, at any moment
  kBackward,  // runs exactly once
  kOrdered,   // must run; first runs follow the listed order, re-runs are free (graphs without a backward distinction)
};

struct StepTensor {
  std::string name;
  int64_t size_bytes = 0;
  StepTensorKind kind = StepTensorKind::kActivation;
  friend bool operator==(const StepTensor&, const StepTensor&) = default;
};

struct StepOp {
  std::string name;
  StepOpKind kind = StepOpKind::kForward;
  int64_t cost = 0;        // time units or FLOPs of one run
  int64_t work_bytes = 0;  // transient bytes, only while it runs
  // Every entry is satisfied by any one resident tensor of its list (an output may be read from the plain tensor or
  // from a saved bundle that contains it).
  std::vector<std::vector<StepTensorId>> inputs;
  std::vector<StepTensorId> outputs;
  std::string group;  // operators of one group are variants of one computation; empty = a group of its own
  friend bool operator==(const StepOp&, const StepOp&) = default;
};

struct StepGraph {
  std::string name;
  int64_t base_bytes = 0;
  IdVector<StepTensorId, StepTensor> tensors;
  IdVector<StepOpId, StepOp> ops;
  friend bool operator==(const StepGraph&, const StepGraph&) = default;
};

struct ScheduleStep {
  enum class Kind { kCompute, kFree };
  static ScheduleStep Compute(StepOpId op) { return {Kind::kCompute, op.value()}; }
  static ScheduleStep Free(StepTensorId tensor) { return {Kind::kFree, tensor.value()}; }
  StepOpId op() const { return StepOpId(id); }
  StepTensorId tensor() const { return StepTensorId(id); }

  Kind kind = Kind::kCompute;
  int32_t id = -1;  // a StepOpId for kCompute, a StepTensorId for kFree
  friend bool operator==(const ScheduleStep&, const ScheduleStep&) = default;
};
using Schedule = std::vector<ScheduleStep>;

// Error (code bad-instance) unless every id is in range, sizes and costs are not negative and cannot overflow when
// summed, kinds fit (forward operators write activations only, nothing writes an input, only gradients are
// gradients), and every operator that must run can run.
absl::Status VerifyStepGraph(const StepGraph& graph);

// Cost of one step without recomputation: of each group, the cheapest operator once.
int64_t OnceCost(const StepGraph& graph);
// The same without forward operators that no operator that must run depends on (a BatchNorm's counter): a step runs
// them once, but a schedule need not run them at all.
int64_t NeededOnceCost(const StepGraph& graph);

// Operators that must run (backward and ordered), in the order in which every planner runs them: the listed order
// where it is legal, otherwise the first legal one by id. `graph` must verify.
std::vector<StepOpId> RequiredOrder(const StepGraph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_PROBLEM_PROBLEM_H_
