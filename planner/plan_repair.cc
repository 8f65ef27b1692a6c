#include "planner/plan_repair.h"

#include <algorithm>

namespace onnx_mem {

PlanRepair::PlanRepair(const PlanningTask& task, const Schedule& start)
    : task_(task), timeline_(task.problem, start), editor_(timeline_, task.budget_bytes) {
  int64_t total = 1;
  for (const StageOp& op : task.problem.ops) total += op.cost;
  while ((total >> cost_shift_) >= (int64_t{1} << 34)) ++cost_shift_;
  int64_t bytes = task.budget_bytes + 1;
  while ((bytes >> byte_shift_) >= (int64_t{1} << 24)) ++byte_shift_;
}

bool PlanRepair::Descend(int rounds) {
  constexpr int kTries = 5;
  while (timeline_.PeakBytes() > task_.budget_bytes) {
    const int64_t excess = timeline_.PeakBytes() - task_.budget_bytes;
    bool fits = false;
    for (int64_t part = 1; !fits && part <= 64; part *= 2) {
      if (part > 1 && excess / part == 0) break;
      editor_.set_limit_bytes(timeline_.PeakBytes() - (excess + part - 1) / part);
      for (int i = 0; !fits && i < (part == 1 ? 2 : kTries); ++i) {
        if (--rounds < 0 || task_.limits.TimeIsUp()) return false;
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

bool PlanRepair::Repair(int noise) {
  int steps = 40 + 4 * timeline_.slot_count();
  while (timeline_.PeakBytes() > editor_.limit_bytes()) {
    if (--steps < 0) return false;
    if (steps % 16 == 0 && task_.limits.TimeIsUp()) return false;
    const PlanEditor::Drop drop = BestDrop(noise);
    if (drop.item < 0 || !editor_.Apply(drop)) return false;
  }
  return true;
}

TimeKey PlanRepair::FullestMoment(int slot) const {
  int fullest = timeline_.RunsIn(slot).front();
  for (int run : timeline_.RunsIn(slot)) {
    if (timeline_.run(run).bytes > timeline_.run(fullest).bytes) fullest = run;
  }
  return timeline_.run(fullest).key;
}

PlanEditor::Drop PlanRepair::BestDrop(int noise) {
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

bool PlanRepair::TakeIfNotNeeded(int run) {
  const size_t mark = timeline_.Mark();
  const int64_t before = timeline_.cost();
  const bool taken =
      editor_.Remove(run) && timeline_.PeakBytes() <= editor_.limit_bytes() && timeline_.cost() <= before;
  if (!taken) timeline_.TakeBack(mark);
  return taken;
}

void PlanRepair::Tidy() {
  for (bool taken = true; taken;) {
    taken = false;
    std::vector<int> runs(timeline_.reruns());
    const auto cost_of = [&](int run) { return task_.problem.ops[timeline_.run(run).op].cost; };
    std::stable_sort(runs.begin(), runs.end(), [&](int a, int b) { return cost_of(a) > cost_of(b); });
    for (int run : runs) {
      const int index = timeline_.run(run).rerun_index;
      const bool is_there = index >= 0 && timeline_.reruns()[index] == run;
      if (is_there && TakeIfNotNeeded(run)) taken = true;
      timeline_.Commit();
    }
  }
}

}  // namespace onnx_mem
