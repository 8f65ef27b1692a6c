#include "planner/search/proof.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/allocators/cuda_allocator.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/run/work.h"
#include "analyzer/runtimes/library_workspace.h"
#include "planner/measure/step_graph.h"
#include "solver/methods/solve.h"

namespace onnx_mem {
namespace {

bool PlansMoveIt(const Buffer& buffer) {
  return buffer.category == Category::kSavedActivations || buffer.category == Category::kTransientActivations;
}

// The dearest step without anything that recomputation moves: a floor for steps that have no step graph.
Minimum ProvenMinimum(const MemoryProgram& steady) {
  std::vector<int64_t> change(steady.steps.size() + 1, 0);
  for (const Buffer& buffer : steady.buffers) {
    const auto begin = static_cast<size_t>(buffer.begin.value());
    change[begin] += buffer.bytes;
    change[PlansMoveIt(buffer) ? begin + 1 : static_cast<size_t>(buffer.end.value())] -= buffer.bytes;
  }
  Minimum minimum;
  int64_t bytes = 0;
  for (StepId id(0); steady.steps.contains(id); id = StepId(id.value() + 1)) {
    bytes += change[static_cast<size_t>(id.value())];
    if (bytes <= minimum.bytes) continue;
    const Step& step = steady.steps[id];
    const std::string& place = step.module.empty() ? step.node : step.module;
    minimum.bytes = bytes;
    minimum.why = absl::StrCat(step.op.str(), place.empty() ? "" : absl::StrCat(" of ", place), " (",
                               std::string(NameOf(step.phase)), ")");
  }
  return minimum;
}

// The program of one micro-step -> a later one's: gradients of parameters are there before it begins, and what each
// backward adds to them lives for a step. Returns the bytes of the former.
int64_t KeepGradients(MemoryProgram& program) {
  int64_t bytes = 0;
  for (Buffer& buffer : program.buffers) {
    if (buffer.category != Category::kGradients || program.steps.contains(buffer.end)) continue;
    bytes += buffer.bytes;
    buffer.end = StepId(buffer.begin.value() + 1);
  }
  return bytes;
}

std::vector<int64_t> CostsOf(const MemoryProgram& program, CostLine line, const Clock& clock) {
  std::vector<int64_t> costs;
  if (line == CostLine::kFlops) {
    for (const Step& step : program.steps) costs.push_back(step.flops);
  } else {
    for (const StepTime& time : StepTimes(program, clock.card, clock.measured)) costs.push_back(time.nanoseconds);
  }
  return costs;
}

int64_t CallCost(CostLine line, const Clock& clock) {
  return line == CostLine::kTime ? clock.card.checkpoint_call_ns : 0;
}

LibraryCase LibrariesOf(const Workload& workload) {
  return LibraryCasesOf(workload.allocator, workload.platform).expected;
}

// A program as PyTorch's allocators see it: with cuBLAS's workspaces, and each buffer with what it counts for.
class CountedProgram {
 public:
  CountedProgram(MemoryProgram& program, const LibraryCase& libraries) : program_(program) {
    program_ = WithLibraryWorkspaces(std::move(program_), libraries);
    for (const Buffer& buffer : program_.buffers) bytes_.push_back(buffer.bytes);
  }

  void CountBy(const BytesOf& bytes_of) {
    auto own = bytes_.begin();
    for (Buffer& buffer : program_.buffers) {
      buffer.bytes = *own++;
      buffer.bytes = bytes_of(program_, buffer);
    }
  }

 private:
  MemoryProgram& program_;
  std::vector<int64_t> bytes_;  // by buffer, as they are
};

MemoryProgram Counted(MemoryProgram program, const LibraryCase& libraries, const BytesOf& bytes_of) {
  CountedProgram(program, libraries).CountBy(bytes_of);
  return program;
}

int64_t HandedOut(const MemoryProgram&, const Buffer& buffer) {
  return buffer.bytes > 0 ? RoundForCuda(buffer.bytes, {}) : 0;
}

// Of the steady step: optimizer state that is there throughout.
int64_t StateBytes(const MemoryProgram& steady) {
  int64_t bytes = 0;
  for (const Buffer& buffer : steady.buffers) {
    const bool throughout = buffer.begin.value() == 0 && !steady.steps.contains(buffer.end);
    if (buffer.category == Category::kOptimizerState && throughout) bytes += buffer.bytes;
  }
  return bytes;
}

// The peak of the optimizer's own steps, which no plan changes.
int64_t OptimizerPeak(const MemoryProgram& steady) {
  const Timeline timeline = ComputeTimeline(steady);
  int64_t peak = 0;
  for (StepId id(0); steady.steps.contains(id); id = StepId(id.value() + 1)) {
    if (steady.steps[id].phase == Phase::kOptimizer)
      peak = std::max(peak, timeline.live_bytes[static_cast<size_t>(id.value())]);
  }
  return peak;
}

// What the step's own code checkpoints is one of the schedules that the graph allows.
absl::StatusOr<StepTrace> TraceWithoutSegments(const Lowered& lowered, Run run) {
  run.segments.clear();
  run.checkpointed.clear();
  if (lowered.checkpointed.empty()) return TraceStep(lowered, run);
  Lowered without = lowered;
  without.checkpointed.clear();
  return TraceStep(without, run);
}

}  // namespace

absl::StatusOr<Prover> Prover::Create(const Accountant& accountant, CostLine cost_line, BudgetLine line,
                                      bool any_schedule) {
  Prover prover;
  prover.accountant_ = &accountant;
  const Run& run = accountant.workload().run;
  prover.own_segments_ = accountant.HasOwnSegments();
  ASSIGN_OR_RETURN(prover.trace_, TraceWithoutSegments(accountant.lowered(), run));
  prover.always_bytes_ = accountant.optimizer_state_bytes();
  if (run.accumulate > 1) prover.always_bytes_ += KeepGradients(prover.trace_.enacted.program);
  prover.cost_line_ = cost_line;
  prover.costs_ = CostsOf(prover.trace_.enacted.program, cost_line, accountant.clock());
  if (any_schedule) RETURN_IF_ERROR(prover.MakeGraph(line));
  return prover;
}

absl::Status Prover::MakeGraph(BudgetLine line) {
  const MemoryProgram& steady = *accountant_->baseline_figures().program;
  work::Spend(work::kOfProof * static_cast<int64_t>(steady.steps.size()));
  RETURN_IF_ERROR(work::CheckLeft());
  if (line == BudgetLine::kDevice && ServesLibraries(accountant_->workload().allocator)) {
    const LibraryCase libraries = LibrariesOf(accountant_->workload());
    const MemoryProgram counted = Counted(steady, libraries, HandedOut);
    minimum_ = ProvenMinimum(counted);
    // Gradients that were kept count as they are: rounding them would only add.
    StepTrace trace = trace_;
    CountedProgram(trace.enacted.program, libraries).CountBy(HandedOut);
    const int64_t kept = always_bytes_ - accountant_->optimizer_state_bytes();
    graph_ = StepGraphOf(trace, costs_, StateBytes(counted) + kept);
  } else {
    minimum_ = ProvenMinimum(steady);
    graph_ = StepGraphOf(trace_, costs_, always_bytes_);
  }
  RETURN_IF_ERROR(VerifyStepGraph(graph_));
  once_cost_ = NeededOnceCost(graph_);
  own_cost_ = accountant_->OwnRecompute();
  const NeediestOp neediest = NeediestOf(graph_);
  if (neediest.bytes > minimum_.bytes) minimum_ = {neediest.bytes, graph_.ops[neediest.op].name};
  return absl::OkStatus();
}

std::optional<SegmentLimits> Prover::LimitSegments(const std::vector<Candidate>& candidates) const {
  return LimitSegments(candidates, cost_line_);
}

std::optional<SegmentLimits> Prover::LimitSegments(const std::vector<Candidate>& candidates, CostLine line) const {
  if (own_segments_) return std::nullopt;
  const bool own = line == cost_line_;
  const Clock& clock = accountant_->clock();
  SegmentLimits limits =
      LimitsOf(accountant_->lowered().graph, trace_, own ? costs_ : CostsOf(trace_.enacted.program, line, clock),
               CallCost(line, clock), always_bytes_, candidates);
  limits.constant_live = std::max(limits.constant_live, accountant_->optimizer_peak_bytes());
  return limits;
}

std::optional<std::vector<SegmentLimits>> Prover::LimitSegments(const std::vector<Candidate>& candidates,
                                                                const std::vector<BytesOf>& counts) const {
  // Gradients of earlier micro-batches have been added up already: their sizes are gone.
  if (own_segments_ || accountant_->workload().run.accumulate > 1) return std::nullopt;
  StepTrace trace = trace_;
  MemoryProgram steady = *accountant_->baseline_figures().program;
  const LibraryCase libraries = LibrariesOf(accountant_->workload());
  CountedProgram traced_bytes(trace.enacted.program, libraries), steady_bytes(steady, libraries);
  std::vector<SegmentLimits> all;
  for (const BytesOf& bytes_of : counts) {
    traced_bytes.CountBy(bytes_of);
    steady_bytes.CountBy(bytes_of);
    all.push_back(LimitsOf(accountant_->lowered().graph, trace, costs_, CallCost(cost_line_, accountant_->clock()),
                           StateBytes(steady), candidates));
    all.back().constant_live = std::max(all.back().constant_live, OptimizerPeak(steady));
  }
  return all;
}

absl::StatusOr<ProvenBound> Prover::BoundFor(const Question& question) {
  if (last_ && last_->first == question) return last_->second;
  ASSIGN_OR_RETURN(ProvenBound bound, Bound(question));
  last_.emplace(question, bound);
  return bound;
}

absl::StatusOr<ProvenBound> Prover::Bound(const Question& question) const {
  ProvenBound bound;
  if (question.peak_bytes < minimum_.bytes) {
    bound.infeasible = true;
    bound.why = minimum_.why;
    return bound;
  }
  SolveOptions options;
  options.method = question.schedules ? "auto" : "none";
  options.time_limit_s = question.seconds;
  options.iteration_limit = question.iterations;
  ASSIGN_OR_RETURN(const Solution solution, Solve(graph_, question.peak_bytes, options));
  bound.infeasible = solution.status == SolveStatus::kInfeasible;
  bound.why = solution.why;
  // Plans are known by what they add to the recomputation that is there already.
  bound.cost = std::max<int64_t>(0, solution.lower_bound - once_cost_ - own_cost_);
  if (solution.status == SolveStatus::kFeasible) {
    bound.best = ProvenBound::Schedule{solution.peak_bytes,
                                       std::max<int64_t>(0, solution.cost - once_cost_ - own_cost_), solution.optimal};
  }
  return bound;
}

}  // namespace onnx_mem
