#include "solver/methods/plan_repair.h"

#include <algorithm>
#include <limits>

#include "analyzer/order/stable_sort.h"

namespace onnx_mem {

PlanRepair::PlanRepair(const PlanningTask& task, const Schedule& start, uint32_t seed)
    : task_(task), timeline_(task.problem, start), editor_(timeline_, task.budget_bytes), random_(seed) {
  int64_t total = 1;
  for (const StageOp& op : task.problem.ops) total += op.cost;
  while ((total >> cost_shift_) >= (int64_t{1} << 34)) ++cost_shift_;
  int64_t bytes = task.budget_bytes + 1;
  while ((bytes >> byte_shift_) >= (int64_t{1} << 24)) ++byte_shift_;
}

bool PlanRepair::Descend(int& rounds, bool lean) {
  int64_t step = std::max<int64_t>(timeline_.PeakBytes() - task_.budget_bytes, 1);
  int failures = 0;
  while (timeline_.PeakBytes() > task_.budget_bytes) {
    if (--rounds < 0 || task_.limits.TimeIsUp()) return false;
    const int64_t peak = timeline_.PeakBytes();
    editor_.set_limit_bytes(std::max(task_.budget_bytes, peak - step));
    // The same again with other choices, and after a few failures from a plan that is shaken first.
    for (int i = failures / 2; i > 0 && !timeline_.reruns().empty(); --i) Take(NearestRerun(timeline_.PeakSlot(), 4));
    if (Repair(/*noise=*/failures % 4 * 128)) {
      lean ? Tidy() : timeline_.Commit();
      failures = 0;
      step = std::min(2 * step, std::max<int64_t>(timeline_.PeakBytes() - task_.budget_bytes, 1));
    } else {
      timeline_.TakeBack(0);
      ++failures;
      step = std::max<int64_t>(step / 2, 1);
    }
  }
  editor_.set_limit_bytes(task_.budget_bytes);
  return true;
}

void PlanRepair::Take(int run) {
  const size_t mark = timeline_.Mark();
  if (!editor_.Remove(run)) timeline_.TakeBack(mark);
}

int PlanRepair::NearestRerun(int slot, int draws) {
  int nearest = -1;
  for (int i = 0; i < draws; ++i) {
    const int run = timeline_.reruns()[Draw(static_cast<int>(timeline_.reruns().size()))];
    const auto distance = [&](int other) { return std::abs(timeline_.run(other).slot - slot); };
    if (nearest < 0 || distance(run) < distance(nearest)) nearest = run;
  }
  return nearest;
}

bool PlanRepair::Repair(int noise) {
  int steps = 40 + 4 * timeline_.slot_count();
  while (timeline_.PeakBytes() > editor_.limit_bytes()) {
    if (--steps < 0) return false;
    if (task_.limits.TimeIsUp()) return false;  // a step looks at every item
    if (editor_.has_variants() && editor_.ShrinkSomething(FullestMoment(timeline_.PeakSlot()))) continue;
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
  constexpr int kScoreBits = 24;  // costs are below 2^34, what is relieved below 2^29
  constexpr int64_t kMostScore = std::numeric_limits<int64_t>::max();
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
    const int next = timeline_.AccessAfter(item, key);
    const int until = timeline_.SlotOf(list[next].key);
    const int overlap = std::min(last, until) - std::max(first, timeline_.SlotOf(list[next - 1].key)) + 1;
    const int64_t relief = ((std::min(bytes, excess) >> byte_shift_) + 1) * overlap;
    int64_t most_cost = PlanEditor::kNever;
    if (best.item >= 0 && best_score < kMostScore / relief) {
      most_cost = ((best_score * relief >> kScoreBits) + 1) << cost_shift_;
    }
    const PlanEditor::Drop drop = editor_.FindDrop(item, key, most_cost);
    if (drop.cost >= PlanEditor::kNever) continue;
    int64_t score = ((drop.cost >> cost_shift_) + 1) * (int64_t{1} << kScoreBits) / relief;
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
    StableSort(runs, [&](int a, int b) { return cost_of(a) > cost_of(b); });
    for (int run : runs) {
      if (task_.limits.TimeIsUp()) return;  // of a large graph a run takes milliseconds
      const int index = timeline_.run(run).rerun_index;
      const bool is_there = index >= 0 && timeline_.reruns()[index] == run;
      if (is_there && TakeIfNotNeeded(run)) taken = true;
      timeline_.Commit();
    }
  }
}

}  // namespace onnx_mem
