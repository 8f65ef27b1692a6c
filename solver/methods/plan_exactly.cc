// The methods that prove: the lower bound of the best cuts, budgets in which some operator cannot run, and the exact
// search with both in hand; and the beam, which is that search cut short.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "solver/bound/cut_bound.h"
#include "solver/exact/backward_beam.h"
#include "solver/exact/backward_search.h"
#include "solver/methods/methods.h"

namespace onnx_mem {
namespace {

constexpr double kBoundShare = 0.2;
constexpr int64_t kWorkWithoutDeadline = 200'000'000;
constexpr int64_t kStateLimit = 2'000'000;
constexpr int64_t kNanosecondsPerState = 20'000;  // nanoseconds, on average; for searches without a deadline
constexpr int kMostSmallAnchors = 128;
constexpr int64_t kSmallStateLimit = 150'000;
constexpr double kSmallShare = 0.6;
constexpr double kSmallSeconds = 0.46;
constexpr int64_t kNearlyDone = 100'000;  // a gap below this part of the cost is left to the search alone
constexpr double kSecondShare = 0.4;
constexpr double kBeamShare = 0.15;
constexpr int kMostWidth = 300;
constexpr int kStatesPerWidth = 40;  // that a beam looks at, in iterations
constexpr int kMostAnchors = 400;    // beyond, choosing cuts and searching take longer than they give

// The operator that needs most, if that is more than the budget.
std::string WhyNothingFits(const PlanningTask& task) {
  int64_t most = task.budget_bytes;
  std::string why;
  for (const StageAnchor& anchor : task.problem.anchors) {
    const int64_t bytes = LeastBytes(task.problem, anchor);
    if (bytes <= most) continue;
    most = bytes;
    why = absl::StrCat("operator '", task.graph.ops[anchor.id].name, "' alone needs ", bytes);
  }
  return why;
}

int64_t StatesAllowed(const PlanningTask& task, int64_t most) {
  return task.limits.iteration_limit > 0 ? std::min(task.limits.iteration_limit, most) : most;
}

void RaiseByCuts(const PlanningTask& task, CutEffort effort, Incumbent& incumbent) {
  const SolveLimits share = task.limits.Share(kBoundShare);
  CutBoundLimits limits;
  limits.effort = effort;
  limits.enough = incumbent.cost();
  if (!share.deadline) limits.work_limit = kWorkWithoutDeadline;
  limits.stop = [&] { return share.TimeIsUp(); };
  CutBound bound = BoundByCuts(task.problem, task.budget_bytes, limits);
  incumbent.RaiseBound(std::min(bound.lower_bound, incumbent.cost()));
  incumbent.RememberCuts(std::move(bound.cuts));
  if (bound.impossible_at < 0) return;
  const StageAnchor& anchor = task.problem.anchors[bound.impossible_at];
  incumbent.ProveInfeasible(absl::StrCat("what must be there while operator '", task.graph.ops[anchor.id].name,
                                         "' runs, for itself and for those after it, does not fit"));
}

void SearchAll(const PlanningTask& task, int64_t state_limit, const SolveLimits& time, Incumbent& incumbent) {
  ExactSearchLimits limits;
  limits.state_limit = StatesAllowed(task, state_limit);
  limits.better_than = incumbent.feasible() ? incumbent.cost() : 0;
  if (!time.deadline) limits.work_limit = limits.state_limit * kNanosecondsPerState;
  limits.stop = [&] { return time.TimeIsUp(); };
  const ExactSearchResult result = SearchBackward(task.problem, task.budget_bytes, limits);
  if (result.found) incumbent.Offer(result.runs, "exact");
  if (result.finished && result.lower_bound >= kImpossible) {
    return incumbent.ProveInfeasible("every schedule has been tried");
  }
  incumbent.RaiseBound(result.lower_bound);
}

}  // namespace

void ProveBound(const PlanningTask& task, Incumbent& incumbent) {
  if (std::string why = WhyNothingFits(task); !why.empty()) return incumbent.ProveInfeasible(std::move(why));
  RaiseByCuts(task, CutEffort::kQuick, incumbent);
}

void ProveBoundThoroughly(const PlanningTask& task, Incumbent& incumbent) {
  RaiseByCuts(task, CutEffort::kThorough, incumbent);
}

void PlanSmallExactly(const PlanningTask& task, Incumbent& incumbent) {
  if (task.problem.anchor_count() > kMostSmallAnchors) return;
  const bool nearly_done =
      incumbent.feasible() && incumbent.cost() - incumbent.lower_bound() < incumbent.cost() / kNearlyDone;
  const SolveLimits time = task.limits.Share(kSmallShare).AtMost(nearly_done ? 4 * kSmallSeconds : kSmallSeconds);
  SearchAll(task, kSmallStateLimit, time, incumbent);
}

void PlanBeam(const PlanningTask& task, Incumbent& incumbent) {
  if (task.problem.anchor_count() > kMostAnchors) return;
  const SolveLimits time = task.limits.Share(kBeamShare);
  BeamLimits limits;
  limits.stop = [&] { return time.TimeIsUp(); };
  for (limits.width = 10; limits.width <= kMostWidth && !incumbent.done() && !limits.stop(); limits.width *= 3) {
    if (!task.limits.Allows(int64_t{kStatesPerWidth} * limits.width)) return;
    limits.better_than = incumbent.feasible() ? incumbent.cost() : 0;
    if (const OpSequence runs = PlanByBeam(task.problem, task.budget_bytes, limits); !runs.empty()) {
      incumbent.Offer(runs, "beam");
    }
  }
}

void PlanExactlyFromBeam(const PlanningTask& task, Incumbent& incumbent) {
  if (task.problem.anchor_count() > kMostSmallAnchors || !incumbent.feasible()) return;
  SearchAll(task, kStateLimit, task.limits.Share(kSecondShare), incumbent);
}

void PlanExactly(const PlanningTask& task, Incumbent& incumbent) {
  if (task.problem.anchor_count() > kMostAnchors) return;
  SearchAll(task, kStateLimit, task.limits, incumbent);
}

}  // namespace onnx_mem
