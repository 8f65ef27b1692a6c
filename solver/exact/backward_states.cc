#include "solver/exact/backward_states.h"

#include <algorithm>

namespace onnx_mem {

BackwardStates::BackwardStates(const StageProblem& problem, int64_t budget_bytes, PrecedingCost& preceding)
    : problem_(problem),
      budget_(budget_bytes),
      preceding_(preceding),
      words_(preceding.words()),
      table_(words_),
      row_(words_) {}

void BackwardStates::AddEnd() {
  Add(problem_.anchor_count(), problem_.anchor_cost, -1, -1, [](int32_t) {});
}

bool BackwardStates::IsStart(int32_t id) const {
  const Word* row = Row(id);
  return GapOf(id) == 0 && std::all_of(row, row + words_, [](Word word) { return word == 0; });
}

bool BackwardStates::IsInside(const Word* few, const Word* row) const {
  for (int w = 0; w < words_; ++w) {
    if ((few[w] & ~row[w]) != 0) return false;
  }
  return true;
}

void BackwardStates::Estimate(int32_t id, int64_t most_cost) {
  BackwardState& state = states_[id];
  state.is_bounded = true;
  const int64_t before = preceding_.Bound(GapOf(id), Row(id), most_cost - state.cost);
  state.estimate = std::max(state.estimate, before >= kImpossible ? kImpossible : state.cost + before);
}

void BackwardStates::Expand(int32_t id, int64_t most_cost, absl::FunctionRef<void(int32_t)> reached) {
  const int t = GapOf(id);
  if (t > 0) {
    const StageAnchor& anchor = problem_.anchors[t - 1];
    GoBack(id, kAnchorRun, anchor.needs, anchor.outputs, anchor.fixed_bytes, reached);
  }
  if (t == problem_.anchor_count()) return;
  producers_.clear();
  ForEachBit(Row(id), words_, [&](int item) {
    for (int op : problem_.items[item].producers) producers_.push_back(op);
  });
  std::sort(producers_.begin(), producers_.end());
  producers_.erase(std::unique(producers_.begin(), producers_.end()), producers_.end());
  for (int i : producers_) {
    const StageOp& op = problem_.ops[i];
    if (op.first_gap > t || states_[id].cost + op.cost >= most_cost) continue;
    GoBack(id, i, op.needs, op.outputs, problem_.anchors[t].gap_bytes + op.work_bytes, reached);
  }
}

void BackwardStates::GoBack(int32_t id, int32_t run, const std::vector<int>& needs, const std::vector<int>& outputs,
                            int64_t fixed_bytes, absl::FunctionRef<void(int32_t)> reached) {
  std::copy_n(Row(id), words_, row_.begin());
  int64_t output_bytes = 0;
  for (int item : outputs) {
    output_bytes += problem_.items[item].bytes;
    ClearBit(row_.data(), item);
  }
  const int64_t cost = run == kAnchorRun ? 0 : problem_.ops[run].cost;
  Choose({id, run, &needs, budget_ - fixed_bytes - output_bytes, states_[id].cost + cost}, 0, reached);
}

void BackwardStates::Choose(const Move& move, size_t next_need, absl::FunctionRef<void(int32_t)> reached) {
  for (size_t i = next_need; i < move.needs->size(); ++i) {
    const auto& alternatives = problem_.requirements[(*move.needs)[i]].alternatives;
    if (std::any_of(alternatives.begin(), alternatives.end(), [&](int a) { return TestBit(row_.data(), a); })) continue;
    for (int item : alternatives) {
      SetBit(row_.data(), item);
      Choose(move, i + 1, reached);
      ClearBit(row_.data(), item);
    }
    return;
  }
  int64_t bytes = 0;
  ForEachBit(row_.data(), words_, [&](int item) { bytes += problem_.items[item].bytes; });
  if (bytes > move.room_bytes) return;
  Add(GapOf(move.id) - (move.run == kAnchorRun ? 1 : 0), move.cost, move.id, move.run, reached);
}

// The state in row_, unless it is known to be reached as cheaply.
void BackwardStates::Add(int t, int64_t cost, int32_t after, int32_t run, absl::FunctionRef<void(int32_t)> reached) {
  const auto [id, is_new] = table_.FindOrAdd(t, row_.data());
  const int64_t estimate = after >= 0 ? states_[after].estimate : 0;
  const BackwardState state{cost, std::max(cost, estimate), after, run};
  if (is_new) {
    states_.push_back(state);
  } else {
    if (states_[id].cost <= cost) return;
    states_[id] = state;
  }
  reached(id);
}

OpSequence BackwardStates::PathFrom(int32_t id) const {
  OpSequence runs;
  for (; states_[id].after >= 0; id = states_[id].after) {
    const int32_t run = states_[id].run;
    runs.push_back(run == kAnchorRun ? problem_.anchors[GapOf(id)].id : problem_.ops[run].id);
  }
  return runs;
}

}  // namespace onnx_mem
