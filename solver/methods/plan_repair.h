// Mends a schedule under change (run_timeline.h) where it exceeds the budget: gives items up, the cheapest per byte and
// moment first, until everything fits; and takes runs away that are not needed any more.
#ifndef ONNX_MEM_SOLVER_METHODS_PLAN_REPAIR_H_
#define ONNX_MEM_SOLVER_METHODS_PLAN_REPAIR_H_

#include <cstdint>
#include <random>

#include "solver/edit/plan_editor.h"
#include "solver/edit/run_timeline.h"
#include "solver/methods/methods.h"

namespace onnx_mem {

class PlanRepair {
 public:
  // `start`: a legal schedule. `task` must outlive this object.
  PlanRepair(const PlanningTask& task, const Schedule& start, uint32_t seed = 1);

  RunTimeline& timeline() { return timeline_; }
  PlanEditor& editor() { return editor_; }

  // From any plan to one within the budget, by way of limits that fall; what has been done is committed. At most
  // `rounds` repairs, which are counted down. A lean plan has no run to spare on
  // the way, which costs less, but leaves less to build on. Says whether the plan fits.
  bool Descend(int& rounds, bool lean = true);

  // Gives items up until everything fits under the editor's limit. `noise` of 128 doubles some scores. What was done
  // is left uncommitted, and half done where it says no.
  bool Repair(int noise);

  // Takes a run away for good or ill; what needs it is served by keeping. Commits nothing.
  void Take(int run);

  // Of some repeated runs drawn at random (there must be one), the nearest in time.
  int NearestRerun(int slot, int draws);

  // Takes every repeated run away that is not needed, the most costly first. Commits.
  void Tidy();

  // Takes the run away if the plan still fits and costs less. Commits nothing.
  bool TakeIfNotNeeded(int run);

  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }

 private:
  TimeKey FullestMoment(int slot) const;
  PlanEditor::Drop BestDrop(int noise);

  const PlanningTask& task_;
  RunTimeline timeline_;
  PlanEditor editor_;
  std::mt19937 random_;
  int cost_shift_ = 0;
  int byte_shift_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_PLAN_REPAIR_H_
