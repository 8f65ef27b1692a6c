// A schedule under change: which operator runs when, who reads whose result, and the bytes at every run.
//
// The first runs of all operators, in the order in which they happen, are the slots of time. Before each of them lies a
// gap in which operators may run again, each at most once, in the order of their first runs:
//
//   slot   0  1  2  3        4        5
//   runs   F1 F2 F3 B3 | F1 F2 B2 | F1 B1        F1 and F2 run again in the gap of slot 4
//
// A schedule that runs an operator twice in one gap, or in another order, gets slots without a first run in between.
//
// An item lives from a run that makes it to the last use before the next run that makes it. Adding and taking away
// runs and uses costs O(log n) each, and every change can be taken back.
#ifndef ONNX_MEM_SOLVER_EDIT_RUN_TIMELINE_H_
#define ONNX_MEM_SOLVER_EDIT_RUN_TIMELINE_H_

#include <cstdint>
#include <vector>

#include "solver/edit/memory_profile.h"
#include "solver/problem/op_sequence.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

using TimeKey = int64_t;  // (slot, rank of the operator); first runs come last in their slot

struct TimelineRun {
  int op = -1;      // index into StageProblem::ops, -1 for what cannot run again (and for the marker of a slot)
  int anchor = -1;  // index into StageProblem::anchors, -1 unless this is a required run
  int slot = 0;
  TimeKey key = 0;
  int64_t bytes = 0;          // while it runs, relative to the slot's level
  int64_t own_bytes = 0;      // of these: base, gradients and work
  int64_t defined_bytes = 0;  // of these: items that begin a life here
  int rerun_index = -1;       // position in reruns()
  std::vector<int> uses;      // the item that serves each need
};

struct ItemAccess {
  TimeKey key = 0;
  int run = -1;
  bool makes = false;  // else reads
};

class RunTimeline {
 public:
  // `schedule` must be legal on the graph of `problem`.
  RunTimeline(const StageProblem& problem, const Schedule& schedule);

  const StageProblem& problem() const { return problem_; }
  int slot_count() const { return static_cast<int>(slots_.size()); }
  int SlotOf(TimeKey key) const { return static_cast<int>(key >> rank_bits_); }
  TimeKey RerunKey(int op, int slot) const { return (static_cast<TimeKey>(slot) << rank_bits_) + rank_[op]; }
  bool CanRerun(int op) const { return rank_[op] >= 0; }
  // The slot of the first run of the operator's group.
  int HomeSlot(int op) const { return home_[problem_.ops[op].group]; }
  TimeKey KeyOfAnchor(int anchor) const;
  // Whether the first run of that group may be left out, and is.
  bool HomeIsEmpty(int op) const;

  const TimelineRun& run(int id) const { return runs_[id]; }
  bool IsRequired(int id) const { return runs_[id].anchor >= 0; }
  const std::vector<int>& NeedsOf(int id) const;
  const std::vector<int>& OutputsOf(int id) const;
  const std::vector<int>& reruns() const { return reruns_; }  // runs that are not required and may go
  const std::vector<ItemAccess>& accesses(int item) const { return accesses_[item]; }
  const std::vector<int>& RunsIn(int slot) const { return slots_[slot]; }  // the last one is the slot's marker

  int64_t cost() const { return cost_; }
  int64_t PeakBytes() const { return profile_.Max(); }
  int PeakSlot() const { return profile_.ArgMax(); }
  int64_t SlotBytes(int slot) const { return profile_.At(slot); }
  int64_t BytesAt(int id) const { return LevelOf(runs_[id].slot) + runs_[id].bytes; }
  // Whether no run in (after, until] has more than `most_bytes`.
  bool StaysWithin(TimeKey after, TimeKey until, int64_t most_bytes) const;

  // Index of the first access behind `key`.
  int AccessAfter(int item, TimeKey key) const;
  // The item is there at `key` and stays.
  bool Spans(int item, TimeKey key) const;
  // Index of the access that begins the life which access `index` belongs to, -1 if there is none.
  int LifeStart(int item, int index) const;

  // Changes. A run is added with its results but without what it reads; each need is then given with SetUse.
  int AddRerun(int op, int slot);
  int AddFirstRun(int op);
  void SetUse(int id, size_t need, int item);  // -1 takes the use away
  void RemoveRun(int id);                      // and all its uses. Nothing may be left that only its results can serve

  // Changes since the mark can be taken back, or, with Commit, not any more.
  size_t Mark() const { return journal_.size(); }
  void TakeBack(size_t mark);
  void Commit();

  OpSequence Runs() const;

 private:
  struct Change {
    enum class Kind { kAddRun, kRemoveRun, kAddAccess, kRemoveAccess, kSetUse } kind;
    int run;
    int item;
    int need;
    bool makes;
  };

  TimeKey FirstKey(int slot) const {
    return (static_cast<TimeKey>(slot) << rank_bits_) + (TimeKey{1} << rank_bits_) - 2;
  }
  TimeKey MarkerKey(int slot) const { return FirstKey(slot) + 1; }
  void PlaceFirstRuns(const Schedule& schedule);
  void RankOperators();
  void Replay(const Schedule& schedule);
  int AddRun(int op, int anchor, int slot, TimeKey key);
  int64_t LevelOf(int slot) const { return profile_.At(slot) - slot_most_[slot]; }
  void AddRange(TimeKey after, TimeKey until, int64_t bytes);
  void AddWithin(int slot, TimeKey after, TimeKey until, int64_t bytes);
  void UpdateSlot(int slot);
  void InsertRun(int id);
  void EraseRun(int id);
  void InsertAccess(int item, int id, bool makes);
  void EraseAccess(int item, int id, bool makes);
  void ChangeAccess(int item, int id, bool makes, bool insert);

  const StageProblem& problem_;
  int rank_bits_ = 0;
  std::vector<int> rank_;           // by operator; -1: never runs
  std::vector<int> home_;           // by group
  std::vector<int> first_op_;       // by slot: operator of the first run, -1
  std::vector<int> first_anchor_;   // by slot
  std::vector<int64_t> gap_bytes_;  // by slot
  std::vector<TimelineRun> runs_;
  std::vector<int> free_runs_;
  std::vector<std::vector<int>> slots_;
  std::vector<int64_t> slot_most_;  // largest TimelineRun::bytes of the slot
  std::vector<std::vector<ItemAccess>> accesses_;
  std::vector<int> reruns_;
  std::vector<Change> journal_;
  MemoryProfile profile_{1};
  int64_t cost_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EDIT_RUN_TIMELINE_H_
