// Moves on a schedule under change (run_timeline.h): giving up an item over an idle stretch, which runs its producer
// again before its next use, and the reverse.
//
//   before   F1 F2 F3 B3 B2(a1) ...        a1 stays from F1 to B2
//   drop a1  F1 F2 F3 B3 | F1 B2(a1) ...   a1 is freed after F2, its last use, and F1 runs again
#ifndef ONNX_MEM_SOLVER_EDIT_PLAN_EDITOR_H_
#define ONNX_MEM_SOLVER_EDIT_PLAN_EDITOR_H_

#include <cstdint>
#include <vector>

#include "solver/edit/run_timeline.h"

namespace onnx_mem {

class PlanEditor {
 public:
  PlanEditor(RunTimeline& timeline, int64_t limit_bytes);

  int64_t limit_bytes() const { return limit_bytes_; }
  void set_limit_bytes(int64_t bytes) { limit_bytes_ = bytes; }

  // How many runs an estimate follows, in all; what takes more is never done. Deep recomputation takes many.
  void set_most_visits(int visits) { most_visits_ = visits; }

  // How an item can be given up at a moment at which it is idle.
  struct Drop {
    int item = -1;
    int op = -1;        // runs again
    int slot = -1;      // in the gap of this slot
    TimeKey after = 0;  // the use before
    TimeKey until = 0;  // where it is back
    int64_t cost = 0;   // estimate: of this run and of those that it needs in turn
  };
  static constexpr int64_t kNever = int64_t{1} << 60;

  // The cheapest way to give up `item` at `key`; cost kNever if there is none that costs less than `most_cost`.
  Drop FindDrop(int item, TimeKey key, int64_t most_cost) const;

  // Says whether it could be done. Where it could not, the timeline is left in between: take it back.
  bool Apply(const Drop& drop);

  // Takes a run that is not required away; its results stay from their earlier life. False: nothing was changed that
  // need not be taken back.
  bool Remove(int run);

  // The same run in another gap.
  bool Move(int run, int slot);

  // Another variant of the run's computation in its place, for all who use its results. The new run is `swapped`.
  bool Swap(int run, int variant, int& swapped);

  // Where an earlier run of the computation was of another variant: that one takes this run's variant, and this run
  // is freed. Saving at once in place of running again to save.
  bool Merge(int run);

  // Of what is there at `key`, swaps one life that a smaller variant of its run could serve. False if there is none.
  bool ShrinkSomething(TimeKey key);

  // Whether some computation has variants.
  bool has_variants() const { return has_variants_; }

 private:
  struct Use {
    int run = -1;
    size_t need = 0;
    int item = -1;
  };
  std::vector<Use> UsesOf(int run) const;
  bool Serves(int variant, std::vector<Use>& uses) const;
  int64_t OutputBytes(int op) const;
  bool AddRunWithInputs(int op, int slot);
  bool Provide(int run, size_t need);
  bool ProvideAll(int run);
  int64_t Estimate(int op, int slot, int64_t most_cost, int& visits) const;
  int64_t EstimateItem(int item, TimeKey key, int slot, int64_t most_cost, int& visits) const;
  bool Extends(int item, TimeKey key) const;
  bool RunsAgain(int item, int op, int slot, TimeKey key) const;
  bool IsUsed(int run) const;
  void Prune(int item, TimeKey key);

  RunTimeline& timeline_;
  int64_t limit_bytes_;
  std::vector<std::vector<int>> variants_;  // by group: operators
  bool has_variants_ = false;
  int most_visits_ = 60;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EDIT_PLAN_EDITOR_H_
