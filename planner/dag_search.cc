#include "planner/dag_search.h"

#include <algorithm>
#include <random>

#include "planner/no_recompute.h"
#include "planner/plan_editor.h"
#include "planner/run_timeline.h"

namespace onnx_mem {
namespace {

// Annealing does not end by itself. With no limit given it only gives the exact search, which does, a start.
constexpr int64_t kUnlimitedIterations = 100;

class Search {
 public:
  Search(const PlanningTask& task, Incumbent& incumbent, const Schedule& start)
      : task_(task), incumbent_(incumbent), timeline_(task.problem, start), editor_(timeline_, task.budget_bytes) {
    int64_t total = 1;
    for (const StageOp& op : task.problem.ops) total += op.cost;
    while ((total >> cost_shift_) >= (int64_t{1} << 34)) ++cost_shift_;
    int64_t bytes = task.budget_bytes + 1;
    while ((bytes >> byte_shift_) >= (int64_t{1} << 24)) ++byte_shift_;
  }

  void Run() {
    if (!Descend()) return;
    Offer();
    Anneal();
  }

 private:
  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }

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

  // From any plan to one within the budget, by way of limits that fall.
  bool Descend() {
    constexpr int kTries = 20;
    while (timeline_.PeakBytes() > task_.budget_bytes) {
      const int64_t excess = timeline_.PeakBytes() - task_.budget_bytes;
      bool fits = false;
      for (int64_t part = 1; !fits && part <= 64; part *= 2) {
        if (part > 1 && excess / part == 0) break;
        editor_.set_limit_bytes(timeline_.PeakBytes() - (excess + part - 1) / part);
        for (int i = 0; !fits && i < (part == 1 ? 2 : kTries / 4); ++i) {
          ++iteration_;
          if (Stop()) return false;
          fits = Repair(/*noise=*/i * 128);
          if (fits) {
            timeline_.Commit();
          } else {
            timeline_.TakeBack(0);
          }
        }
      }
      if (!fits) return false;
    }
    editor_.set_limit_bytes(task_.budget_bytes);
    return true;
  }

  // Gives items up until everything fits under the limit.
  bool Repair(int noise) {
    int steps = 40 + 4 * timeline_.slot_count();
    while (timeline_.PeakBytes() > editor_.limit_bytes()) {
      if (--steps < 0) return false;
      if (steps % 16 == 0 && task_.limits.TimeIsUp()) return false;
      const PlanEditor::Drop drop = BestDrop(noise);
      if (drop.item < 0 || !editor_.Apply(drop)) return false;
    }
    return true;
  }

  TimeKey FullestMoment(int slot) const {
    int fullest = timeline_.RunsIn(slot).front();
    for (int run : timeline_.RunsIn(slot)) {
      if (timeline_.run(run).bytes > timeline_.run(fullest).bytes) fullest = run;
    }
    return timeline_.run(fullest).key;
  }

  PlanEditor::Drop BestDrop(int noise) {
    constexpr int kReach = 24;
    const int slot = timeline_.PeakSlot();
    const TimeKey key = FullestMoment(slot);
    int first = slot;
    int last = slot;
    while (first > 0 && slot - first < kReach && timeline_.SlotBytes(first - 1) > editor_.limit_bytes()) --first;
    while (last + 1 < timeline_.slot_count() && last - slot < kReach &&
           timeline_.SlotBytes(last + 1) > editor_.limit_bytes()) {
      ++last;
    }
    const int64_t excess = timeline_.PeakBytes() - editor_.limit_bytes();
    PlanEditor::Drop best;
    int64_t best_score = PlanEditor::kNever;
    for (int item = 0; item < task_.problem.item_count(); ++item) {
      const auto& list = timeline_.accesses(item);
      if (list.empty() || list.front().key >= key || list.back().key <= key) continue;
      const int64_t bytes = task_.problem.items[item].bytes;
      if (bytes == 0) continue;
      const PlanEditor::Drop drop = editor_.FindDrop(item, key, PlanEditor::kNever);
      if (drop.cost >= PlanEditor::kNever) continue;
      const int overlap =
          std::min(last, timeline_.SlotOf(drop.until)) - std::max(first, timeline_.SlotOf(drop.after)) + 1;
      const int64_t relief = (std::min(bytes, excess) >> byte_shift_) + 1;
      int64_t score = ((drop.cost >> cost_shift_) + 1) * (int64_t{1} << 24) / (relief * overlap);
      if (noise > 0) score += score * Draw(noise) / 128;
      if (score < best_score) {
        best_score = score;
        best = drop;
      }
    }
    return best;
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
      if (!Repair(/*noise=*/Draw(2) * 64)) {
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
    const int64_t widest = extra / 32 + 1;
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
    Take(run);
    for (int more = Draw(3); more > 0 && !timeline_.reruns().empty(); --more) {
      // A neighbour in time, of a few drawn.
      int nearest = -1;
      for (int i = 0; i < 6; ++i) {
        const int other = timeline_.reruns()[Draw(static_cast<int>(timeline_.reruns().size()))];
        if (nearest < 0 ||
            std::abs(timeline_.run(other).slot - slot) < std::abs(timeline_.run(nearest).slot - slot)) {
          nearest = other;
        }
      }
      Take(nearest);
    }
  }

  void Take(int run) {
    const size_t mark = timeline_.Mark();
    if (!editor_.Remove(run)) timeline_.TakeBack(mark);
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

  // Repeated runs that are not needed any more.
  void Tidy() {
    for (int tries = 0; tries < 4 && !timeline_.reruns().empty(); ++tries) {
      const int run = timeline_.reruns()[Draw(static_cast<int>(timeline_.reruns().size()))];
      const size_t mark = timeline_.Mark();
      const int64_t before = timeline_.cost();
      if (!editor_.Remove(run) || timeline_.PeakBytes() > editor_.limit_bytes() || timeline_.cost() > before) {
        timeline_.TakeBack(mark);
      }
    }
  }

  const PlanningTask& task_;
  Incumbent& incumbent_;
  RunTimeline timeline_;
  PlanEditor editor_;
  std::mt19937 random_{12345};
  int64_t iteration_ = 0;
  int cost_shift_ = 0;
  int byte_shift_ = 0;
  bool time_is_up_ = false;
};

}  // namespace

void PlanDag(const PlanningTask& task, Incumbent& incumbent) {
  const OpSequence start = incumbent.feasible() ? incumbent.runs() : RunOnce(task.problem);
  const std::optional<Schedule> schedule = ScheduleOf(task.graph, start);
  if (!schedule) return;
  Search(task, incumbent, *schedule).Run();
}

}  // namespace onnx_mem
