#include "solver/methods/methods.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "solver/methods/dag_search.h"
#include "solver/problem/no_recompute.h"

namespace onnx_mem {
namespace {

// Cheap ones first; what a row finds, later rows start from.
constexpr auto kRows = std::to_array<MethodRow>({
    {"none", "none", PlanNoRecompute},
    {"bound", "none", ProveBound},
    {"cut", "dag", PlanCut},
    {"exact", "dag", PlanSmallExactly},
    {"bound", "none", ProveBoundThoroughly},
    {"cut", "dag", PlanCut},
    {"beam", "dag", PlanBeam},
    {"exact", "dag", PlanExactlyFromBeam},
    {"demand", "dag", PlanOnDemand},
    {"dag", "dag", PlanDag},
    {"exact", "dag", PlanExactly},
});

}  // namespace

ProcessorClock::time_point ProcessorClock::now() {
#if defined(CLOCK_PROCESS_CPUTIME_ID)
  timespec spent = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return time_point(std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec));
#else
  return time_point(std::chrono::duration_cast<duration>(
      std::chrono::duration<double>(static_cast<double>(std::clock()) / CLOCKS_PER_SEC)));
#endif
}

SolveLimits SolveLimits::AtMost(double seconds) const {
  SolveLimits limits = *this;
  if (deadline) {
    const auto span = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    limits.deadline = std::min(*deadline, Clock::now() + span);
  }
  return limits;
}

SolveLimits SolveLimits::Share(double part) const {
  if (!deadline) return *this;
  return AtMost(std::chrono::duration<double>(*deadline - Clock::now()).count() * part);
}

absl::Span<const MethodRow> MethodRows() { return kRows; }

void PlanNoRecompute(const PlanningTask& task, Incumbent& incumbent) { incumbent.Offer(RunOnce(task.problem), "none"); }

}  // namespace onnx_mem
