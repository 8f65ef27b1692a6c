#include "planner/exact/backward_search.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "planner/exact/bits.h"
#include "planner/exact/preceding_cost.h"
#include "planner/exact/state_table.h"

namespace onnx_mem {
namespace {

struct State {
  int64_t cost = 0;         // of what is decided
  int64_t estimate = 0;     // cost + what must precede it
  int32_t after = -1;       // the state that this one leads to
  int32_t run = -1;         // operator that leads there, an index into ops; kAnchorRun for the anchor of that state's gap
  bool is_bounded = false;  // else the estimate is the next state's
  bool is_closed = false;
};
constexpr int32_t kAnchorRun = -2;
constexpr size_t kMostCompared = 4000;

std::function<bool()> StopOf(const ExactSearchLimits& limits) {
  return limits.stop ? limits.stop : [] { return false; };
}

class Search {
 public:
  Search(const StageProblem& problem, int64_t budget, const ExactSearchLimits& limits)
      : problem_(problem), budget_(budget), limits_(limits), stop_(StopOf(limits)),
        preceding_(problem, budget, stop_), words_(preceding_.words()), table_(words_), row_(words_),
        closed_(problem.anchor_count() + 1) {
    best_ = limits.better_than > 0 ? limits.better_than : kImpossible;
  }

  ExactSearchResult Run() {
    ExactSearchResult result;
    Add(problem_.anchor_count(), problem_.anchor_cost, -1, -1);
    int64_t ticks = 0;
    bool stopped = false;
    while (!open_.empty()) {
      const Entry entry = open_.top();
      if (entry.estimate >= best_) break;
      stopped = table_.size() >= limits_.state_limit || preceding_.work() > limits_.work_limit ||
                ((++ticks & 3) == 0 && stop_());
      if (stopped) break;
      open_.pop();
      const int32_t id = entry.id;
      if (states_[id].is_closed || states_[id].estimate != entry.estimate) continue;
      if (!states_[id].is_bounded && !Estimate(id)) continue;
      result.lower_bound = std::max(result.lower_bound, states_[id].estimate);
      if (IsStart(id)) {
        result.cost = best_ = states_[id].cost;
        result.runs = Path(id);
        result.found = true;
        break;
      }
      states_[id].is_closed = true;
      if (Dominated(id)) continue;
      closed_[table_.MomentOf(id)].push_back(id);
      Expand(id);
    }
    result.finished = !stopped;
    if (result.finished) result.lower_bound = best_;
    result.states = table_.size();
    return result;
  }

 private:
  bool IsStart(int32_t id) const {
    const Word* row = table_.Row(id);
    return table_.MomentOf(id) == 0 && std::all_of(row, row + words_, [](Word word) { return word == 0; });
  }

  // Puts the true bound in place of the next state's; says whether the state is to be taken now, as its estimate has
  // not grown by that.
  bool Estimate(int32_t id) {
    State& state = states_[id];
    state.is_bounded = true;
    const int64_t before = preceding_.Bound(table_.MomentOf(id), table_.Row(id), best_ - state.cost);
    const int64_t estimate = before >= kImpossible ? kImpossible : state.cost + before;
    if (estimate <= state.estimate) return true;
    state.estimate = estimate;
    if (estimate < best_) Push(id);
    return false;
  }

  // As cheap a state that requires less.
  bool Dominated(int32_t id) const {
    const Word* row = table_.Row(id);
    const auto& closed = closed_[table_.MomentOf(id)];
    const size_t from = closed.size() > kMostCompared ? closed.size() - kMostCompared : 0;
    for (size_t i = closed.size(); i-- > from;) {
      if (closed[i] == id || states_[closed[i]].cost > states_[id].cost) continue;  // itself: found again, cheaper
      const Word* small = table_.Row(closed[i]);
      bool inside = true;
      for (int w = 0; w < words_ && inside; ++w) inside = (small[w] & ~row[w]) == 0;
      if (inside) return true;
    }
    return false;
  }

  void Expand(int32_t id) {
    const int t = table_.MomentOf(id);
    if (t > 0) {
      const StageAnchor& anchor = problem_.anchors[t - 1];
      GoBack(id, kAnchorRun, anchor.needs, anchor.outputs, anchor.fixed_bytes, 0);
    }
    if (t == problem_.anchor_count()) return;
    for (size_t i = 0; i < problem_.ops.size(); ++i) {
      const StageOp& op = problem_.ops[i];
      if (op.first_gap > t) continue;
      const Word* row = table_.Row(id);
      const bool serves =
          std::any_of(op.outputs.begin(), op.outputs.end(), [&](int item) { return TestBit(row, item); });
      if (!serves) continue;
      const int64_t fixed_bytes = problem_.anchors[t].gap_bytes + op.work_bytes;
      GoBack(id, static_cast<int32_t>(i), op.needs, op.outputs, fixed_bytes, op.cost);
    }
  }

  // Every way in which the run can precede the state: one for each choice of inputs.
  void GoBack(int32_t id, int32_t run, const std::vector<int>& needs, const std::vector<int>& outputs,
              int64_t fixed_bytes, int64_t cost) {
    if (states_[id].cost + cost >= best_) return;
    std::copy_n(table_.Row(id), words_, row_.begin());
    int64_t output_bytes = 0;
    for (int item : outputs) {
      output_bytes += problem_.items[item].bytes;
      ClearBit(row_.data(), item);
    }
    move_ = {id, run, &needs, budget_ - fixed_bytes - output_bytes, states_[id].cost + cost};
    Choose(0);
  }

  void Choose(size_t i) {
    const std::vector<int>& needs = *move_.needs;
    for (; i < needs.size(); ++i) {
      const auto& alternatives = problem_.requirements[needs[i]].alternatives;
      if (std::any_of(alternatives.begin(), alternatives.end(), [&](int a) { return TestBit(row_.data(), a); })) {
        continue;
      }
      for (int item : alternatives) {
        SetBit(row_.data(), item);
        Choose(i + 1);
        ClearBit(row_.data(), item);
      }
      return;
    }
    int64_t bytes = 0;
    ForEachBit(row_.data(), words_, [&](int item) { bytes += problem_.items[item].bytes; });
    if (bytes > move_.room_bytes) return;
    Add(table_.MomentOf(move_.id) - (move_.run == kAnchorRun ? 1 : 0), move_.cost, move_.id, move_.run);
  }

  // Adds the state in row_, unless it is known to be reached as cheaply.
  void Add(int t, int64_t cost, int32_t after, int32_t run) {
    const auto [id, is_new] = table_.FindOrAdd(t, row_.data());
    const int64_t estimate = after >= 0 ? states_[after].estimate : 0;
    if (is_new) {
      states_.push_back({cost, std::max(cost, estimate), after, run});
    } else {
      State& state = states_[id];
      if (state.cost <= cost) return;
      state = {cost, std::max(cost, estimate), after, run};
    }
    Push(id);
  }

  void Push(int32_t id) {
    open_.push({states_[id].estimate, (int64_t{table_.MomentOf(id)} << 32) - id, id});
  }

  OpSequence Path(int32_t id) const {
    OpSequence runs;
    for (; states_[id].after >= 0; id = states_[id].after) {
      const int32_t run = states_[id].run;
      runs.push_back(run == kAnchorRun ? problem_.anchors[table_.MomentOf(id)].id : problem_.ops[run].id);
    }
    return runs;
  }

  struct MoveInProgress {
    int32_t id = -1;
    int32_t run = -1;
    const std::vector<int>* needs = nullptr;
    int64_t room_bytes = 0;  // for all that must be resident before, beside the outputs
    int64_t cost = 0;
  };
  struct Entry {
    int64_t estimate;
    int64_t order;  // earlier gaps first, then what was found last
    int32_t id;
    friend bool operator<(const Entry& a, const Entry& b) {
      return std::tie(a.estimate, a.order) > std::tie(b.estimate, b.order);
    }
  };

  const StageProblem& problem_;
  const int64_t budget_;
  const ExactSearchLimits& limits_;
  const std::function<bool()> stop_;
  PrecedingCost preceding_;
  const int words_;
  StateTable table_;
  std::vector<State> states_;
  std::vector<Word> row_;
  MoveInProgress move_;
  int64_t best_ = 0;
  std::vector<std::vector<int32_t>> closed_;
  std::priority_queue<Entry> open_;
};

}  // namespace

ExactSearchResult SearchBackward(const StageProblem& problem, int64_t budget_bytes, const ExactSearchLimits& limits) {
  return Search(problem, budget_bytes, limits).Run();
}

}  // namespace onnx_mem
