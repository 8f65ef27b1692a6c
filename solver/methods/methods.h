// The planning methods: one row each, one file each. A method looks for cheaper schedules, or for proof, and tells the
// incumbent; solve.cc climbs the rows in the order of the table until the plan meets the bound or time is up.
#ifndef ONNX_MEM_SOLVER_METHODS_METHODS_H_
#define ONNX_MEM_SOLVER_METHODS_METHODS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/types/span.h"
#include "solver/methods/incumbent.h"
#include "solver/problem/problem.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

// Time that this process has computed, so that a busy machine plans no worse than an idle one.
struct ProcessorClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ProcessorClock>;
  static constexpr bool is_steady = true;
  static time_point now();
};

// When to stop. Iterations are whatever a method counts; with an iteration limit and no deadline the outcome is the
// same on every machine.
struct SolveLimits {
  using Clock = ProcessorClock;

  int64_t iteration_limit = 0;  // per method; 0 = none
  std::optional<Clock::time_point> deadline;

  // Reads the clock: to be called between pieces of work of a few microseconds or more.
  bool TimeIsUp() const { return deadline && Clock::now() >= *deadline; }
  bool Allows(int64_t iteration) const { return iteration_limit == 0 || iteration < iteration_limit; }

  // The same limits, but at most this part of the time left, if there is a deadline at all.
  SolveLimits Share(double part) const;

  // The same limits, but at most `seconds` from now, if there is a deadline at all.
  SolveLimits AtMost(double seconds) const;
};

struct PlanningTask {
  const StepGraph& graph;
  const StageProblem& problem;  // BuildStages(graph)
  int64_t budget_bytes;
  const SolveLimits& limits;
};

struct MethodRow {
  std::string_view name;    // as Solution::method says it
  std::string_view choice;  // value of --method that runs it: auto runs every row
  void (*run)(const PlanningTask& task, Incumbent& incumbent);
};

absl::Span<const MethodRow> MethodRows();

// "bound": what no schedule can do without (cut_bound.h), and budgets in which none fits. Finds no schedule.
void ProveBound(const PlanningTask& task, Incumbent& incumbent);

// "bound" again, with windows and every cut solved to the end, where the first plans leave a gap.
void ProveBoundThoroughly(const PlanningTask& task, Incumbent& incumbent);

// "cut": keeps what the best cut keeps (cut_plan.h).
void PlanCut(const PlanningTask& task, Incumbent& incumbent);

// "exact": every schedule, the most promising first (backward_search.h); for small graphs, or to a limit.
void PlanExactly(const PlanningTask& task, Incumbent& incumbent);

// "exact" too, early on: small graphs only, and briefly.
void PlanSmallExactly(const PlanningTask& task, Incumbent& incumbent);

// "exact" again, where the plans found since then leave less to look at.
void PlanExactlyFromBeam(const PlanningTask& task, Incumbent& incumbent);

// "beam": back in time, following only the most promising states of every gap (backward_beam.h).
void PlanBeam(const PlanningTask& task, Incumbent& incumbent);

// "demand": makes again what each operator needs when it needs it, where nothing else fits (demand_plan.h).
void PlanOnDemand(const PlanningTask& task, Incumbent& incumbent);

// "none": keeps everything (no_recompute.h).
void PlanNoRecompute(const PlanningTask& task, Incumbent& incumbent);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_METHODS_H_
