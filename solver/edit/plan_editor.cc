#include "solver/edit/plan_editor.h"

#include <algorithm>

namespace onnx_mem {

PlanEditor::PlanEditor(RunTimeline& timeline, int64_t limit_bytes)
    : timeline_(timeline), limit_bytes_(limit_bytes), variants_(timeline.problem().group_count) {
  for (size_t op = 0; op < timeline.problem().ops.size(); ++op) {
    auto& variants = variants_[timeline.problem().ops[op].group];
    variants.push_back(static_cast<int>(op));
    has_variants_ = has_variants_ || variants.size() > 1;
  }
}

// Keeping the item from its last use to `key` fits.
bool PlanEditor::Extends(int item, TimeKey key) const {
  const int after = timeline_.AccessAfter(item, key);
  if (after == 0) return false;
  const TimeKey last_use = timeline_.accesses(item)[after - 1].key;
  return timeline_.StaysWithin(last_use, key, limit_bytes_ - timeline_.problem().items[item].bytes);
}

// The operator can run in the gap of `slot` to make the item for `key`, and has not done so already.
bool PlanEditor::RunsAgain(int item, int op, int slot, TimeKey key) const {
  if (!timeline_.CanRerun(op) || timeline_.HomeSlot(op) >= slot) return false;
  const TimeKey run = timeline_.RerunKey(op, slot);
  if (run >= key) return false;
  const int after = timeline_.AccessAfter(item, key - 1);
  return after == 0 || timeline_.accesses(item)[after - 1].key < run;
}

int64_t PlanEditor::EstimateItem(int item, TimeKey key, int slot, int64_t most_cost, int& visits) const {
  if (timeline_.Spans(item, key) || Extends(item, key)) return 0;
  int64_t best = kNever;
  for (int op : timeline_.problem().items[item].producers) {
    if (RunsAgain(item, op, slot, key)) best = std::min(best, Estimate(op, slot, std::min(best, most_cost), visits));
  }
  return best;
}

int64_t PlanEditor::Estimate(int op, int slot, int64_t most_cost, int& visits) const {
  const StageOp& run = timeline_.problem().ops[op];
  int64_t cost = run.cost;
  if (cost >= most_cost || --visits < 0) return kNever;
  const TimeKey key = timeline_.RerunKey(op, slot);
  for (int need : run.needs) {
    int64_t best = kNever;
    for (int item : timeline_.problem().requirements[need].alternatives) {
      best = std::min(best, EstimateItem(item, key, slot, std::min(best, most_cost - cost), visits));
      if (best == 0) break;
    }
    cost += best;
    if (cost >= most_cost) return kNever;
  }
  return cost;
}

PlanEditor::Drop PlanEditor::FindDrop(int item, TimeKey key, int64_t most_cost) const {
  Drop best;
  best.cost = kNever;
  const auto& list = timeline_.accesses(item);
  const int next = timeline_.AccessAfter(item, key);
  if (next == 0 || next == static_cast<int>(list.size()) || list[next].makes || list[next - 1].key == key) return best;
  const int slot = timeline_.SlotOf(list[next].key);
  for (int op : timeline_.problem().items[item].producers) {
    if (!RunsAgain(item, op, slot, list[next].key)) continue;
    const TimeKey run = timeline_.RerunKey(op, slot);
    if (run <= key || run <= list[next - 1].key) continue;
    int visits = most_visits_;
    const int64_t cost = Estimate(op, slot, std::min(most_cost, best.cost), visits);
    if (cost < best.cost) best = {item, op, slot, list[next - 1].key, run, cost};
  }
  return best;
}

bool PlanEditor::Provide(int run, size_t need) {
  const StageProblem& problem = timeline_.problem();
  const TimeKey key = timeline_.run(run).key;
  const int slot = timeline_.run(run).slot;
  const auto& alternatives = problem.requirements[timeline_.NeedsOf(run)[need]].alternatives;
  const auto use = [&](int item) {
    timeline_.SetUse(run, need, item);
    return true;
  };
  for (int item : alternatives) {
    if (timeline_.Spans(item, key)) return use(item);
  }
  for (int item : alternatives) {
    if (Extends(item, key)) return use(item);
  }
  int best_item = -1;
  int best_op = -1;
  int64_t best_cost = kNever;
  for (int item : alternatives) {
    for (int op : problem.items[item].producers) {
      if (!RunsAgain(item, op, slot, key)) continue;
      int visits = most_visits_;
      const int64_t cost = Estimate(op, slot, kNever, visits);
      if (best_op >= 0 && cost >= best_cost) continue;
      best_item = item;
      best_op = op;
      best_cost = cost;
    }
  }
  if (best_op >= 0) return AddRunWithInputs(best_op, slot) && use(best_item);
  for (int item : alternatives) {
    if (timeline_.AccessAfter(item, key) > 0) return use(item);
  }
  return false;
}

bool PlanEditor::ProvideAll(int run) {
  for (size_t need = 0; need < timeline_.NeedsOf(run).size(); ++need) {
    if (!Provide(run, need)) return false;
  }
  return true;
}

bool PlanEditor::AddRunWithInputs(int op, int slot) { return ProvideAll(timeline_.AddRerun(op, slot)); }

bool PlanEditor::Apply(const Drop& drop) {
  if (!AddRunWithInputs(drop.op, drop.slot)) return false;
  Prune(drop.item, drop.until - 1);
  return true;
}

bool PlanEditor::IsUsed(int run) const {
  for (int item : timeline_.OutputsOf(run)) {
    const auto& list = timeline_.accesses(item);
    const int after = timeline_.AccessAfter(item, timeline_.run(run).key);
    if (after < static_cast<int>(list.size()) && !list[after].makes) return true;
  }
  return false;
}

// Removes the run that made the item last before `key` if nobody uses its results, then what only that run used.
void PlanEditor::Prune(int item, TimeKey key) {
  const int start = timeline_.LifeStart(item, timeline_.AccessAfter(item, key) - 1);
  if (start < 0) return;
  const int run = timeline_.accesses(item)[start].run;
  if (timeline_.IsRequired(run) || IsUsed(run)) return;
  const TimeKey at = timeline_.run(run).key;
  const std::vector<int> uses = timeline_.run(run).uses;
  timeline_.RemoveRun(run);
  for (int used : uses) {
    if (used >= 0) Prune(used, at);
  }
}

bool PlanEditor::Remove(int run) {
  const int op = timeline_.run(run).op;
  const TimeKey key = timeline_.run(run).key;
  bool earlier = true;
  for (int item : timeline_.OutputsOf(run)) {
    const auto& list = timeline_.accesses(item);
    const int after = timeline_.AccessAfter(item, key);
    const bool used = after < static_cast<int>(list.size()) && !list[after].makes;
    if (used && after < 2) earlier = false;
  }
  if (!earlier) {
    if (!timeline_.HomeIsEmpty(op) || timeline_.HomeSlot(op) >= timeline_.run(run).slot) return false;
    if (!ProvideAll(timeline_.AddFirstRun(op))) return false;
  }
  const std::vector<int> uses = timeline_.run(run).uses;
  timeline_.RemoveRun(run);
  for (int used : uses) {
    if (used >= 0) Prune(used, key);
  }
  return true;
}

bool PlanEditor::Move(int run, int slot) {
  const int op = timeline_.run(run).op;
  const TimeKey key = timeline_.RerunKey(op, slot);
  if (timeline_.HomeSlot(op) >= slot || key == timeline_.run(run).key) return false;
  for (int item : timeline_.OutputsOf(run)) {
    for (const ItemAccess& access : timeline_.accesses(item)) {
      if (access.key == key) return false;
    }
  }
  // Every use of the results must have them from the moved run or from an earlier life.
  if (!AddRunWithInputs(op, slot)) return false;
  return Remove(run);
}

}  // namespace onnx_mem
