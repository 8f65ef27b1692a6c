// The moves of the plan editor that exchange variants of a computation: a forward that saves for one that does not.
#include <algorithm>

#include "solver/edit/plan_editor.h"

namespace onnx_mem {

std::vector<PlanEditor::Use> PlanEditor::UsesOf(int run) const {
  std::vector<Use> uses;
  for (int item : timeline_.OutputsOf(run)) {
    const auto& list = timeline_.accesses(item);
    auto i = static_cast<size_t>(timeline_.AccessAfter(item, timeline_.run(run).key));
    for (; i < list.size() && !list[i].makes; ++i) {
      const auto& served = timeline_.run(list[i].run).uses;
      for (size_t need = 0; need < served.size(); ++need) {
        if (served[need] == item) uses.push_back({list[i].run, need, item});
      }
    }
  }
  return uses;
}

// Changes the items of the uses to those that the variant makes; false if it does not make what some use needs.
bool PlanEditor::Serves(int variant, std::vector<Use>& uses) const {
  const auto& outputs = timeline_.problem().ops[variant].outputs;
  for (Use& use : uses) {
    const int need = timeline_.NeedsOf(use.run)[use.need];
    const auto& alternatives = timeline_.problem().requirements[need].alternatives;
    const auto item = std::find_if(alternatives.begin(), alternatives.end(), [&](int alternative) {
      return std::find(outputs.begin(), outputs.end(), alternative) != outputs.end();
    });
    if (item == alternatives.end()) return false;
    use.item = *item;
  }
  return true;
}

int64_t PlanEditor::OutputBytes(int op) const {
  int64_t bytes = 0;
  for (int item : timeline_.problem().ops[op].outputs) bytes += timeline_.problem().items[item].bytes;
  return bytes;
}

bool PlanEditor::Swap(int run, int variant, int& swapped) {
  const int op = timeline_.run(run).op;
  if (op < 0 || op == variant || timeline_.IsRequired(run) || !timeline_.CanRerun(variant)) return false;
  const bool is_first = timeline_.run(run).rerun_index < 0;
  const int slot = timeline_.run(run).slot;
  const TimeKey key = is_first ? timeline_.run(run).key : timeline_.RerunKey(variant, slot);
  std::vector<Use> uses = UsesOf(run);
  for (const Use& use : uses) {
    if (timeline_.run(use.run).key <= key) return false;  // the variant would come too late in the gap
  }
  const std::vector<Use> before = uses;
  if (!Serves(variant, uses)) return false;
  for (int item : timeline_.problem().ops[variant].outputs) {
    const auto& list = timeline_.accesses(item);
    const int at = timeline_.AccessAfter(item, key);
    if (at > 0 && list[at - 1].key == key) return false;  // it runs there already
  }
  for (const Use& use : before) timeline_.SetUse(use.run, use.need, -1);
  timeline_.RemoveRun(run);
  swapped = is_first ? timeline_.AddFirstRun(variant) : timeline_.AddRerun(variant, slot);
  if (!ProvideAll(swapped)) return false;
  for (const Use& use : uses) timeline_.SetUse(use.run, use.need, use.item);
  return true;
}

bool PlanEditor::Merge(int run) {
  const int op = timeline_.run(run).op;
  const TimeKey key = timeline_.run(run).key;
  int earlier = -1;
  for (int variant : variants_[timeline_.problem().ops[op].group]) {
    if (variant == op) continue;
    for (int item : timeline_.problem().ops[variant].outputs) {
      const int start = timeline_.LifeStart(item, timeline_.AccessAfter(item, key) - 1);
      if (start < 0) continue;
      const int made_by = timeline_.accesses(item)[start].run;
      const bool later = earlier < 0 || timeline_.run(made_by).key > timeline_.run(earlier).key;
      if (timeline_.run(made_by).op == variant && later) earlier = made_by;
    }
  }
  int swapped = -1;
  return earlier >= 0 && Swap(earlier, op, swapped) && Remove(run);
}

bool PlanEditor::ShrinkSomething(TimeKey key) {
  const StageProblem& problem = timeline_.problem();
  for (int item = 0; item < problem.item_count(); ++item) {
    const int after = timeline_.AccessAfter(item, key);
    if (after == 0) continue;
    const int start = timeline_.LifeStart(item, after - 1);
    const bool is_there = start >= 0 && (timeline_.Spans(item, key) || timeline_.accesses(item)[start].key == key);
    if (!is_there) continue;
    const int run = timeline_.accesses(item)[start].run;
    const int op = timeline_.run(run).op;
    if (op < 0 || timeline_.IsRequired(run)) continue;
    for (int variant : variants_[problem.ops[op].group]) {
      if (OutputBytes(variant) >= OutputBytes(op) || problem.ops[variant].cost > problem.ops[op].cost) continue;
      const size_t mark = timeline_.Mark();
      int swapped = -1;
      if (Swap(run, variant, swapped)) return true;
      timeline_.TakeBack(mark);
    }
  }
  return false;
}

}  // namespace onnx_mem
