#include "solver/methods/dag_search.h"

#include <algorithm>
#include <array>

#include "solver/methods/plan_repair.h"
#include "solver/problem/no_recompute.h"

namespace onnx_mem {
namespace {

// Annealing does not end by itself. With no limit given it only gives the exact search, which does, a start.
constexpr int64_t kUnlimitedIterations = 100;
constexpr uint32_t kUnlimitedStarts = 20;
constexpr size_t kExactRequirements = 128;  // up to here the exact search is left some time
constexpr double kPartBesideExact = 0.5;

// One annealing run after the other, from the best plan or from a new one.
struct SearchPhase {
  double part;       // of what time and iterations are left
  int64_t coolness;  // a plan dearer by this part of the recomputation is still accepted at first
  bool afresh;
};
constexpr std::array kPhases = {SearchPhase{0.25, 3, false}, SearchPhase{0.3, 1, true}, SearchPhase{0.6, 2, false},
                                SearchPhase{1.0, 32, false}};

// How the first plan is looked for; the next way where one finds none.
struct Descent {
  int visits;
  bool lean;
};
constexpr std::array kDescents = {Descent{60, true}, Descent{60, false}, Descent{300, true}, Descent{2000, true},
                                  Descent{2000, false}};

class DagSearch {
 public:
  DagSearch(const PlanningTask& task, Incumbent& incumbent, const Schedule& start, uint32_t seed, int64_t coolness)
      : task_(task),
        incumbent_(incumbent),
        coolness_(coolness),
        repair_(task, start, seed),
        timeline_(repair_.timeline()),
        editor_(repair_.editor()) {}

  void Run(const Descent& descent) {
    constexpr int kRounds = 400;
    int rounds = kRounds;
    editor_.set_most_visits(descent.visits);
    const bool fits = repair_.Descend(rounds, descent.lean);
    iteration_ += kRounds - rounds;
    if (!fits) return;
    repair_.Tidy();
    Offer();
    Anneal();
  }

  int64_t iterations() const { return iteration_; }

 private:
  int Draw(int below) { return repair_.Draw(below); }

  bool Stop() {
    if (incumbent_.done()) return true;
    if (!task_.limits.Allows(iteration_)) return true;
    if ((iteration_ & 15) == 0) time_is_up_ = task_.limits.TimeIsUp();
    return time_is_up_;
  }

  void Offer() {
    if (timeline_.PeakBytes() <= task_.budget_bytes && timeline_.cost() < incumbent_.cost()) {
      incumbent_.Offer(timeline_.Runs(), "dag");
    }
  }

  void Anneal() {
    int64_t current = timeline_.cost();
    const auto start = SolveLimits::Clock::now();
    const int64_t first_iteration = iteration_;
    const bool unlimited = !task_.limits.deadline && task_.limits.iteration_limit == 0;
    while (!timeline_.reruns().empty()) {
      ++iteration_;
      if (Stop()) return;
      if (unlimited && iteration_ - first_iteration > kUnlimitedIterations) return;
      Perturb();
      if (!repair_.Repair(/*noise=*/Draw(2) * 64)) {
        timeline_.TakeBack(0);
        continue;
      }
      Tidy();
      const int64_t change = timeline_.cost() - current;
      if (change > 0 && change > Allowance(start, first_iteration)) {
        timeline_.TakeBack(0);
        continue;
      }
      timeline_.Commit();
      current = timeline_.cost();
      Offer();
    }
  }

  int64_t Allowance(SolveLimits::Clock::time_point start, int64_t first_iteration) {
    int64_t left = 512;  // of 1024
    if (task_.limits.iteration_limit > 0) {
      const int64_t all = task_.limits.iteration_limit - first_iteration + 1;
      left = (task_.limits.iteration_limit - iteration_) * 1024 / std::max<int64_t>(all, 1);
    } else if (task_.limits.deadline) {
      const auto all = (*task_.limits.deadline - start).count();
      left = (*task_.limits.deadline - SolveLimits::Clock::now()).count() * 1024 / std::max<int64_t>(all, 1);
    }
    const int64_t extra = std::max<int64_t>(timeline_.cost() - std::min(timeline_.cost(), incumbent_.lower_bound()), 1);
    const int64_t widest = extra / coolness_ + 1;
    return widest * left / 1024 * Draw(1024) / 1024 * left / 1024;
  }

  void Perturb() {
    const int kind = Draw(8);
    if (kind == 0) {
      DropSomething();
      return;
    }
    const int run = timeline_.reruns()[Draw(static_cast<int>(timeline_.reruns().size()))];
    const int slot = timeline_.run(run).slot;
    if (kind == 1) {
      const size_t mark = timeline_.Mark();
      const int to = slot + 1 + Draw(8) - Draw(16);
      if (to <= 0 || to >= timeline_.slot_count() || !editor_.Move(run, to)) timeline_.TakeBack(mark);
      return;
    }
    if (kind < 4 && editor_.has_variants()) {
      const size_t mark = timeline_.Mark();
      if (!editor_.Merge(run)) timeline_.TakeBack(mark);
      return;
    }
    repair_.Take(run);
    for (int more = Draw(3); more > 0 && !timeline_.reruns().empty(); --more) {
      repair_.Take(repair_.NearestRerun(slot, 6));
    }
  }

  void DropSomething() {
    for (int tries = 0; tries < 10; ++tries) {
      const int item = Draw(task_.problem.item_count());
      const auto& list = timeline_.accesses(item);
      if (list.size() < 2) continue;
      const ItemAccess& access = list[Draw(static_cast<int>(list.size()) - 1)];
      const PlanEditor::Drop drop = editor_.FindDrop(item, access.key + 1, PlanEditor::kNever);
      if (drop.cost >= PlanEditor::kNever) continue;
      const size_t mark = timeline_.Mark();
      if (editor_.Apply(drop)) return;
      timeline_.TakeBack(mark);
    }
  }

  // Repeated runs that are not needed any more, of a few drawn.
  void Tidy() {
    for (int tries = 0; tries < 4 && !timeline_.reruns().empty(); ++tries) {
      repair_.TakeIfNotNeeded(timeline_.reruns()[Draw(static_cast<int>(timeline_.reruns().size()))]);
    }
  }

  const PlanningTask& task_;
  Incumbent& incumbent_;
  const int64_t coolness_;
  PlanRepair repair_;
  RunTimeline& timeline_;
  PlanEditor& editor_;
  int64_t iteration_ = 0;
  bool time_is_up_ = false;
};

}  // namespace

namespace {

// Whether there was something to start from. Uses up some of `iterations_left`.
bool RunPhase(const PlanningTask& task, const SearchPhase& phase, const Descent& descent, uint32_t seed,
              int64_t& iterations_left, Incumbent& incumbent) {
  const bool afresh = phase.afresh || !incumbent.feasible();
  const auto start = ScheduleOf(task.graph, afresh ? RunOnce(task.problem) : incumbent.runs());
  if (!start) return false;
  SolveLimits limits = task.limits.Share(phase.part);
  if (limits.iteration_limit > 0) {
    const double part = static_cast<double>(iterations_left) * phase.part;
    limits.iteration_limit = std::max<int64_t>(1, static_cast<int64_t>(part));
  }
  const PlanningTask part{task.graph, task.problem, task.budget_bytes, limits};
  DagSearch search(part, incumbent, *start, seed, phase.coolness);
  search.Run(descent);
  iterations_left -= search.iterations();
  return true;
}

}  // namespace

void PlanDag(const PlanningTask& task, Incumbent& incumbent) {
  const bool exact_follows = task.problem.requirements.size() <= kExactRequirements;
  const SolveLimits limits = task.limits.Share(exact_follows ? kPartBesideExact : 1.0);
  const PlanningTask all{task.graph, task.problem, task.budget_bytes, limits};
  int64_t iterations_left = limits.iteration_limit;
  uint32_t seed = 0;
  Descent descent = kDescents.front();
  const auto ended = [&] {
    return incumbent.done() || limits.TimeIsUp() || (limits.iteration_limit > 0 && iterations_left <= 0);
  };
  const bool unlimited = !limits.deadline && limits.iteration_limit == 0;
  while (!incumbent.feasible() && !ended() && (!unlimited || seed < kUnlimitedStarts)) {
    descent = kDescents[seed % kDescents.size()];
    if (!RunPhase(all, kPhases.front(), descent, ++seed, iterations_left, incumbent)) return;
  }
  for (const SearchPhase& phase : kPhases) {
    if (ended() || !incumbent.feasible()) return;
    RunPhase(all, phase, descent, ++seed, iterations_left, incumbent);
  }
}

}  // namespace onnx_mem
