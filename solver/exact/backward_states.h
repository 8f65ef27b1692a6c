// The states of a search back in time (backward_search.h, backward_beam.h) and the moves between them.
#ifndef ONNX_MEM_SOLVER_EXACT_BACKWARD_STATES_H_
#define ONNX_MEM_SOLVER_EXACT_BACKWARD_STATES_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "solver/exact/bits.h"
#include "solver/exact/preceding_cost.h"
#include "solver/exact/state_table.h"
#include "solver/problem/op_sequence.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

struct BackwardState {
  int64_t cost = 0;      // of what is decided
  int64_t estimate = 0;  // cost + what must precede it, or what was known of that
  int32_t after = -1;    // the state that this one leads to
  int32_t run = -1;      // operator that leads there, an index into ops; kAnchorRun for the anchor of this state's gap
  bool is_bounded = false;  // else the estimate is the next state's
  bool is_closed = false;
};

class BackwardStates {
 public:
  // All must outlive this object.
  BackwardStates(const StageProblem& problem, int64_t budget_bytes, PrecedingCost& preceding);

  // The end of every schedule: state 0, which requires nothing.
  void AddEnd();

  int32_t size() const { return table_.size(); }
  int GapOf(int32_t id) const { return table_.MomentOf(id); }
  const Word* Row(int32_t id) const { return table_.Row(id); }
  const BackwardState& operator[](int32_t id) const { return states_[id]; }
  void Close(int32_t id) { states_[id].is_closed = true; }

  // In gap 0, and nothing is required.
  bool IsStart(int32_t id) const;

  // Whether a state with `few` requires nothing that one with `row` does not.
  bool IsInside(const Word* few, const Word* row) const;

  // Puts the true bound in place of what was known. `most_cost`: what costs as much is of no interest.
  void Estimate(int32_t id, int64_t most_cost);

  // Every run that can precede the state, in each way in which its inputs can be chosen. `reached` is called with
  // states that are new, or cheaper than they were.
  void Expand(int32_t id, int64_t most_cost, absl::FunctionRef<void(int32_t)> reached);

  // The runs from this state to the end.
  OpSequence PathFrom(int32_t id) const;

 private:
  static constexpr int32_t kAnchorRun = -2;

  struct Move {
    int32_t id = -1;
    int32_t run = -1;
    const std::vector<int>* needs = nullptr;
    int64_t room_bytes = 0;  // for all that must be resident before, beside the outputs
    int64_t cost = 0;
  };

  void GoBack(int32_t id, int32_t run, const std::vector<int>& needs, const std::vector<int>& outputs,
              int64_t fixed_bytes, absl::FunctionRef<void(int32_t)> reached);
  void Choose(const Move& move, size_t next_need, absl::FunctionRef<void(int32_t)> reached);
  void Add(int t, int64_t cost, int32_t after, int32_t run, absl::FunctionRef<void(int32_t)> reached);

  const StageProblem& problem_;
  const int64_t budget_;
  PrecedingCost& preceding_;
  const int words_;
  StateTable table_;
  std::vector<BackwardState> states_;
  std::vector<Word> row_;
  std::vector<int> producers_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EXACT_BACKWARD_STATES_H_
