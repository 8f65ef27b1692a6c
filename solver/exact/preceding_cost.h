// How much running must lie before a moment: a lower bound for the search back in time (backward_search.h).
//
// A state is "in gap t, these items must be resident". Whatever they and the anchors before t need must have been made,
// with everything that takes (the closure). On top of that, only so much fits while an anchor k < t runs: of what is
// required at t, and of what anchors k+1..t-1 need, some is made again after k (a small knapsack, solved exactly and
// remembered). What precedes k does not depend on the state: windows (j, k] between earlier anchors add up to it, once.
//
//   required a(10), b(10), c(10), room for 25 bytes at anchor k: at least min(cost a, b, c) between k and t.
#ifndef ONNX_MEM_SOLVER_EXACT_PRECEDING_COST_H_
#define ONNX_MEM_SOLVER_EXACT_PRECEDING_COST_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "solver/exact/bits.h"
#include "solver/exact/drop_knapsack.h"
#include "solver/exact/row_map.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

// How much to spend on it.
struct PrecedingEffort {
  size_t moments = 64;                // that a state is held against, beside the anchor before it
  int knapsack_nodes = 2000;          // what takes more is solved by minimum cuts,
  int cut_branches = 60;              // with so many branchings; -1: not at all
  int64_t window_work = 100'000'000;  // for the windows between earlier anchors; see PrecedingCost::work
};

class PrecedingCost {
 public:
  // `problem` must outlive this object. Earlier windows are added up until `stop`, called now and then, says true, or
  // until that has taken long enough; then what has been found is taken.
  PrecedingCost(const StageProblem& problem, int64_t budget_bytes, const PrecedingEffort& effort,
                const std::function<bool()>& stop);

  // Width of a row of required items, in words (bits beyond the items must be zero).
  int words() const { return words_; }

  // A lower bound on the cost of all runs of re-runnable operators up to this moment in gap t; kImpossible if nothing
  // can lead to it. Once the bound reaches `enough`, any value between `enough` and the true bound may come back.
  int64_t Bound(int t, const Word* required, int64_t enough = kImpossible);

  // What has been spent on knapsacks and minimum cuts so far, in nanoseconds or thereabouts: the same on every machine.
  int64_t work() const { return work_; }

 private:
  // A drop cost found not long ago.
  struct Recent {
    std::vector<Word> needed;
    int64_t cost = 0;
  };
  struct Moment {
    int anchor = 0;
    int64_t room_bytes = 0;      // for items needed later, after what the anchor itself needs
    std::vector<int64_t> bytes;  // per item: its bytes, less what room_bytes already has of it
    std::vector<Word> there;     // requirements that cost nothing after the anchor: served by it or by a later one
    BitRows needs_until;         // per t: requirements of anchors k+1..t-1; empty if only gap k+1 looks at it
    int64_t before = 0;          // lower bound on what runs up to the anchor cost
    RowMap known;                // drop costs found so far
    std::vector<Recent> recent = {};
    size_t next_recent = 0;
  };

  Moment DescribeMoment(int k) const;
  void DescribeNeedsUntil(Moment& moment) const;
  void AddUpWindows(const std::function<bool()>& stop);
  void OrderMoments(const std::function<bool()>& stop);
  void Reach(int requirement, const Word* there, Word* row) const;
  int64_t CostOf(const Word* requirements);
  int64_t ClosureCost(int t, const Word* required);
  bool ServedBy(int requirement, const Word* row) const;
  // A cost below `least` is of no use, one from `enough` on is as good as any.
  int64_t DropCost(Moment& moment, int t, const Word* required, int64_t least = 0, int64_t enough = kImpossible);
  const Recent* Similar(const Moment& moment, int64_t least, int64_t enough) const;
  int64_t SolveDrop(const Moment& moment, const Word* needed, int64_t enough);
  int64_t CutBehind(const Moment& moment, const Word* needed, int64_t enough);

  const StageProblem& problem_;
  const int64_t budget_bytes_;
  const PrecedingEffort effort_;
  int64_t work_ = 0;
  int words_;
  std::vector<Word> made_by_anchor_;            // requirements that some anchor serves
  BitRows reach_;                               // per requirement: itself and all that making it takes
  BitRows due_;                                 // per t: the closure of what anchors before t need
  std::vector<int64_t> due_cost_;               // per t
  std::vector<Moment> moments_;                 // by anchor
  std::vector<int> chosen_;                     // anchors whose moments later gaps look at, ascending
  std::vector<std::vector<int>> best_moments_;  // per t: which moments bound best
  std::vector<int64_t> group_cost_;
  std::vector<int> groups_;
  std::vector<Word> row_;
  std::vector<Word> needed_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EXACT_PRECEDING_COST_H_
