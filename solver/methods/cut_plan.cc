// A schedule that follows a cut: what the cut keeps is kept, what it makes again is dropped when room runs out and made
// again just in time.
//
//   keep a2, room for two:   F1 F2 F3 (drop a1) B3 B2 | F1 B1
//
// Nothing is dropped before memory forces it; of what the cut does not keep, what is needed last is dropped first.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

#include "analyzer/order/stable_sort.h"
#include "solver/bound/cut_value.h"
#include "solver/methods/methods.h"
#include "solver/methods/plan_repair.h"
#include "solver/problem/no_recompute.h"
#include "solver/problem/op_sequence.h"
#include "solver/problem/stages.h"

namespace onnx_mem {
namespace {

constexpr int kNeverAgain = std::numeric_limits<int>::max();

class Execution {
 public:
  Execution(const StageProblem& problem, int64_t budget, const CutValue& cut)
      : problem_(problem),
        budget_(budget),
        kept_(problem.items.size(), false),
        dropped_(problem.items.size(), false),
        there_(problem.items.size(), false),
        held_(problem.items.size(), 0),
        uses_(problem.items.size()),
        running_(problem.ops.size(), false) {
    for (int requirement : cut.kept) Mark(requirement, kept_);
    for (int requirement : cut.dropped) Mark(requirement, dropped_);
    most_runs_ = 4 * (problem.ops.size() + problem.anchors.size());
    for (size_t i = 0; i < problem.ops.size(); ++i) op_of_[problem.ops[i].id] = static_cast<int>(i);
    for (size_t t = 0; t < problem.anchors.size(); ++t) anchor_of_[problem.anchors[t].id] = static_cast<int>(t);
  }

  OpSequence Run(const std::function<bool()>& stop) {
    const OpSequence once = RunOnce(problem_);
    for (size_t i = 0; i < once.size(); ++i) {
      for (int need : NeedsOf(once[i])) {
        for (int item : problem_.requirements[need].alternatives) uses_[item].push_back(static_cast<int>(i));
      }
    }
    for (now_ = 0; now_ < static_cast<int>(once.size()); ++now_) {
      if (stop()) return {};
      const StepOpId id = once[now_];
      const auto anchor = anchor_of_.find(id);
      if (anchor == anchor_of_.end()) {
        RunOperator(op_of_.at(id));
      } else {
        const StageAnchor& required = problem_.anchors[anchor->second];
        Perform(id, required.needs, required.outputs, required.fixed_bytes);
        next_anchor_ = std::min(anchor->second + 1, problem_.anchor_count() - 1);
      }
    }
    if (runs_.size() >= most_runs_) runs_.clear();
    return std::move(runs_);
  }

 private:
  void Mark(int requirement, std::vector<bool>& marks) const {
    for (int item : problem_.requirements[requirement].alternatives) marks[item] = true;
  }

  const std::vector<int>& NeedsOf(StepOpId id) const {
    const auto anchor = anchor_of_.find(id);
    return anchor == anchor_of_.end() ? problem_.ops[op_of_.at(id)].needs : problem_.anchors[anchor->second].needs;
  }

  void RunOperator(int op) {
    const StageOp& run = problem_.ops[op];
    running_[op] = true;
    Perform(run.id, run.needs, run.outputs, problem_.anchors[next_anchor_].gap_bytes + run.work_bytes);
    running_[op] = false;
  }

  void Perform(StepOpId id, const std::vector<int>& needs, const std::vector<int>& outputs, int64_t own_bytes) {
    std::vector<int> held;
    for (int need : needs) {
      const int item = Provide(need);
      if (item < 0) continue;
      ++held_[item];
      held.push_back(item);
    }
    for (int item : outputs) {
      ++held_[item];
      if (there_[item]) continue;
      there_[item] = true;
      bytes_ += problem_.items[item].bytes;
    }
    MakeRoom(budget_ - own_bytes);
    runs_.push_back(id);
    for (int item : held) --held_[item];
    for (int item : outputs) --held_[item];
  }

  // An item that serves the requirement, made again if need be; -1 if none can be.
  int Provide(int requirement) {
    const auto& alternatives = problem_.requirements[requirement].alternatives;
    for (int item : alternatives) {
      if (there_[item]) return item;
    }
    std::tuple<int64_t, int, int64_t> best_rank;
    int best_item = -1;
    int best_op = -1;
    for (int item : alternatives) {
      for (int op : problem_.items[item].producers) {
        const std::tuple rank(problem_.ops[op].cost, NextUse(item), problem_.items[item].bytes);
        if (running_[op] || (best_op >= 0 && rank >= best_rank)) continue;
        best_rank = rank;
        best_item = item;
        best_op = op;
      }
    }
    if (best_op < 0 || runs_.size() >= most_runs_) return -1;
    RunOperator(best_op);
    return best_item;
  }

  int NextUse(int item) const {
    const auto next = std::upper_bound(uses_[item].begin(), uses_[item].end(), now_);
    return next == uses_[item].end() ? kNeverAgain : *next;
  }

  void MakeRoom(int64_t room) {
    if (bytes_ <= room) return;
    std::vector<std::tuple<int, int, int64_t, int>> order;  // the first to go first
    for (size_t i = 0; i < there_.size(); ++i) {
      const auto item = static_cast<int>(i);
      if (!there_[i] || held_[i] > 0 || problem_.items[i].producers.empty()) continue;
      const int next = NextUse(item);
      const int rank = dropped_[i] ? 1 : kept_[i] || next != kNeverAgain ? 2 : 0;
      order.emplace_back(rank, -next, -problem_.items[i].bytes, item);
    }
    std::make_heap(order.begin(), order.end(), std::greater<>());
    for (; !order.empty() && bytes_ > room; order.pop_back()) {
      std::pop_heap(order.begin(), order.end(), std::greater<>());
      const int item = std::get<3>(order.back());
      there_[item] = false;
      bytes_ -= problem_.items[item].bytes;
    }
  }

  const StageProblem& problem_;
  const int64_t budget_;
  std::vector<bool> kept_;              // by item
  std::vector<bool> dropped_;           // by item
  std::vector<bool> there_;             // by item
  std::vector<int> held_;               // by item: by how many runs under way
  std::vector<std::vector<int>> uses_;  // by item: positions in the order without recomputation
  std::vector<bool> running_;           // by operator
  std::map<StepOpId, int> op_of_;
  std::map<StepOpId, int> anchor_of_;
  size_t most_runs_ = 0;
  int now_ = 0;
  int next_anchor_ = 0;
  int64_t bytes_ = 0;
  OpSequence runs_;
};

// Where not everything fits even so, the runs exceed the budget. Empty where the same runs come again and again,
// and where `stop` has said so before the end.
OpSequence FollowCut(const StageProblem& problem, int64_t budget_bytes, const CutValue& cut,
                     const std::function<bool()>& stop) {
  return Execution(problem, budget_bytes, cut).Run(stop);
}

// From keeping everything: what the cut makes again is given up at the cut. Results that others are made from are given
// up last, so that one run serves all.
void GiveUpDropped(const StageProblem& problem, const SolvedCut& cut, const SolveLimits& limits, PlanRepair& repair) {
  RunTimeline& timeline = repair.timeline();
  const TimeKey key = timeline.KeyOfAnchor(cut.anchor);
  std::vector<std::pair<int, int>> items;  // by where they are made first
  for (int requirement : cut.value.dropped) {
    for (int item : problem.requirements[requirement].alternatives) {
      for (int op : problem.items[item].producers) {
        if (timeline.CanRerun(op)) items.emplace_back(-timeline.HomeSlot(op), item);
      }
    }
  }
  std::sort(items.begin(), items.end());
  for (const auto& [slot, item] : items) {
    if (limits.TimeIsUp()) return;
    const PlanEditor::Drop drop = repair.editor().FindDrop(item, key, PlanEditor::kNever);
    if (drop.cost >= PlanEditor::kNever) continue;
    if (repair.editor().Apply(drop)) {
      timeline.Commit();
    } else {
      timeline.TakeBack(0);
    }
  }
}

void Mend(const Schedule& start, const SolvedCut* given_up, const PlanningTask& task, Incumbent& incumbent) {
  PlanRepair repair(task, start);
  if (given_up != nullptr) GiveUpDropped(task.problem, *given_up, task.limits, repair);
  int rounds = 40;
  if (!repair.Descend(rounds)) return;
  repair.Tidy();
  if (repair.timeline().cost() < incumbent.cost()) incumbent.Offer(repair.timeline().Runs(), "cut");
}

}  // namespace

// The cuts that cost most come first: any plan within the budget has to pay for them. Each is followed in two ways; the
// plans are mended where they exceed the budget, and rid of runs that nobody needs.
void PlanCut(const PlanningTask& task, Incumbent& incumbent) {
  constexpr size_t kMostCuts = 8;
  constexpr double kShare = 0.3;  // where these plans fail, others need the time
  const SolveLimits limits = task.limits.Share(kShare);
  const PlanningTask part{task.graph, task.problem, task.budget_bytes, limits};
  std::vector<const SolvedCut*> cuts;
  for (const SolvedCut& cut : incumbent.cuts()) {
    if (cut.value.cost >= 0) cuts.push_back(&cut);
  }
  StableSort(cuts, [](const SolvedCut* a, const SolvedCut* b) { return a->value.cost > b->value.cost; });
  const std::optional<Schedule> once = ScheduleOf(task.graph, RunOnce(task.problem));
  for (size_t i = 0; i < std::min(cuts.size(), kMostCuts); ++i) {
    if (incumbent.done() || limits.TimeIsUp()) return;
    if (once) Mend(*once, cuts[i], part, incumbent);
    if (incumbent.done() || limits.TimeIsUp()) return;
    const auto stop = [&] { return limits.TimeIsUp(); };
    const OpSequence runs = FollowCut(task.problem, task.budget_bytes, cuts[i]->value, stop);
    const std::optional<Schedule> lazy = ScheduleOf(task.graph, runs);
    if (!runs.empty() && lazy) Mend(*lazy, nullptr, part, incumbent);
  }
}

}  // namespace onnx_mem
