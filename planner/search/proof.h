// What no plan can do, proven on the step graph of the model (step_graph.h): the least memory, and for a limit on
// memory the least recomputation. Beside it the best schedule found there, in which any operator may run again at any
// time.
#ifndef ONNX_MEM_PLANNER_SEARCH_PROOF_H_
#define ONNX_MEM_PLANNER_SEARCH_PROOF_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/measure/accountant.h"
#include "planner/measure/segment_limits.h"
#include "solver/problem/problem.h"

namespace onnx_mem {

struct Minimum {
  int64_t bytes = 0;  // alive; on the device's line as handed out
  std::string why;    // "conv of layer1.0.conv1 (backward)"
};

struct ProvenBound {
  bool infeasible = false;  // no schedule stays within the limit
  std::string why;          // the operator that cannot run
  int64_t cost = 0;         // of recomputation: no schedule within the limit has less
  struct Schedule {
    int64_t peak_bytes = 0;
    int64_t cost = 0;
    bool optimal = false;
  };
  std::optional<Schedule> best;  // the cheapest schedule found
};

// What a buffer counts for.
using BytesOf = std::function<int64_t(const MemoryProgram& program, const Buffer& buffer)>;

class Prover {
 public:
  // `accountant` outlives the prover. Of several micro-batches a later one is looked at, which finds gradients already.
  // Where `line` is the device, what any schedule needs is in bytes that PyTorch's allocators hand out: rounded, and
  // with the workspaces of cuBLAS. Where `any_schedule` is false, only sets of segments are requested: minimum, graph
  // and BoundFor are not there.
  static absl::StatusOr<Prover> Create(const Accountant& accountant, CostLine cost_line, BudgetLine line,
                                       bool any_schedule = true);

  const Minimum& minimum() const { return minimum_; }
  const StepGraph& graph() const { return graph_; }
  const StepTrace& trace() const { return trace_; }  // without the segments of the step's own code

  // What sets of disjoint `candidates` can do, by live bytes; nullopt where the step's own code checkpoints already.
  std::optional<SegmentLimits> LimitSegments(const std::vector<Candidate>& candidates) const;

  // The same with costs by `line`, whatever the request's.
  std::optional<SegmentLimits> LimitSegments(const std::vector<Candidate>& candidates, CostLine line) const;

  // The same where a buffer counts for what each of `counts` says, in their order; PyTorch's workspaces are among the
  // buffers.
  std::optional<std::vector<SegmentLimits>> LimitSegments(const std::vector<Candidate>& candidates,
                                                          const std::vector<BytesOf>& counts) const;

  // `peak_bytes`: at most, as `minimum` counts them. Limits as those of Solve; `schedules` false: the bound alone.
  struct Question {
    int64_t peak_bytes = 0;
    bool schedules = true;
    double seconds = 0;
    int64_t iterations = 0;
    friend bool operator==(const Question&, const Question&) = default;
  };
  // What several classes of plans ask of one budget is solved once.
  absl::StatusOr<ProvenBound> BoundFor(const Question& question);

 private:
  absl::StatusOr<ProvenBound> Bound(const Question& question) const;
  absl::Status MakeGraph(BudgetLine line);

  const Accountant* accountant_ = nullptr;
  StepTrace trace_;
  CostLine cost_line_ = CostLine::kTime;
  std::vector<int64_t> costs_;  // by step
  StepGraph graph_;
  bool own_segments_ = false;
  int64_t always_bytes_ = 0;
  Minimum minimum_;
  int64_t once_cost_ = 0;
  int64_t own_cost_ = 0;  // of what the step's own code recomputes
  std::optional<std::pair<Question, ProvenBound>> last_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_PROOF_H_
