// How much running is still unavoidable: a lower bound from a state of a schedule to its end.
//
// A state is "before anchor t, with these items resident". Whatever later anchors need and is neither resident nor made
// by a later anchor must be produced, with everything that takes (the closure). On top of that, only so much fits while
// an anchor k runs: of what anchors k+1..j need, something must be dropped at k and produced again before j. The
// cheapest such drop is a small knapsack, solved exactly and remembered. Windows (k, j] that do not overlap add up, as
// no run lies in two of them.
//
//   a(10), b(10), c(10) resident, all needed after anchor k, room for 25 bytes at k: at least min(cost a, b, c).
#ifndef ONNX_MEM_PLANNER_EXACT_REMAINING_COST_H_
#define ONNX_MEM_PLANNER_EXACT_REMAINING_COST_H_

#include <cstdint>
#include <vector>

#include "planner/exact/bits.h"
#include "planner/exact/drop_knapsack.h"
#include "planner/exact/row_map.h"
#include "planner/schedule/stages.h"

namespace onnx_mem {

// Anchors k1 < k2 < ...: the windows (k1, k2], (k2, k3], ..., (km, end].
using CutChain = std::vector<int>;

class RemainingCost {
 public:
  // `problem` must outlive this object.
  RemainingCost(const StageProblem& problem, int64_t budget_bytes, const std::vector<CutChain>& chains);

  // Width of a row of resident items, in words (bits beyond the items must be zero).
  int words() const { return words_; }

  // A lower bound on the cost of all runs of re-runnable operators from here on (first runs of forward operators
  // included, anchors not); kImpossible if no continuation exists. Once the bound reaches `enough`, any value between
  // `enough` and the true bound may come back.
  int64_t Bound(int t, const Word* resident, int64_t enough = kImpossible);

  // The part of Bound that ignores memory: everything needed and missing, produced once.
  int64_t ClosureCost(int t, const Word* resident);

  // After Bound or ClosureCost: the requirements found missing (to be produced), as a row.
  const Word* missing() const { return visited_.data(); }

 private:
  struct Window {
    size_t moment = 0;            // index of its first anchor k in moments_
    std::vector<int> droppable;   // items that anchors of the window need and anchor k does not
    std::vector<int> choices;     // requirements of anchors of the window that several other items could serve
    std::vector<int> between;     // choices, and what producing again may take, down to droppable items
    RowMap known;                 // drop costs found so far
  };
  struct Moment {
    int anchor = 0;
    int64_t room_bytes = 0;        // for items needed later, after what the anchor itself needs
    std::vector<int64_t> bytes;    // per item: its bytes, less what room_bytes already has of it
    BitRows needed_until;          // per t <= anchor: needed_after_ restricted to anchors t..anchor
    std::vector<Word> there;       // in the state at hand: what may be resident at the anchor
    std::vector<int64_t> charged;  // per group: the part of the closure that is due before the anchor
    std::vector<int> charged_groups = {};
  };

  Moment DescribeMoment(int anchor, int64_t budget_bytes) const;
  Window DescribeWindow(size_t moment, int until) const;
  void Satisfy(int t, const Word* resident);
  void Visit(const Word* needed);
  int64_t Covered(const Moment& moment, int group) const;
  int64_t Price(const Moment& moment, int requirement) const;
  int64_t DropCost(Window& window);

  const StageProblem& problem_;
  int words_;
  std::vector<Moment> moments_;  // by anchor
  std::vector<std::vector<Window>> chains_;
  BitRows made_later_;    // per t: requirements that an anchor >= t serves
  BitRows needed_after_;  // per t: requirements of anchors >= t that none of them serves itself
  BitRows subs_;
  BitRows group_outputs_;
  std::vector<Word> satisfied_;
  std::vector<Word> visited_;
  std::vector<Word> produced_;  // satisfied_ and whatever the visited requirements bring
  std::vector<Word> stack_;
  std::vector<int64_t> charged_;  // per group
  std::vector<int> charged_groups_;
  int64_t cost_ = 0;
  std::vector<Word> key_;
  std::vector<int> items_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_EXACT_REMAINING_COST_H_
