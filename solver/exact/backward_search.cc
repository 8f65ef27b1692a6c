#include "solver/exact/backward_search.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "solver/exact/backward_states.h"
#include "solver/exact/preceding_cost.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostCompared = 4000;

class BackwardSearch {
 public:
  BackwardSearch(const StageProblem& problem, int64_t budget, const ExactSearchLimits& limits)
      : limits_(limits),
        preceding_(problem, budget, limits.effort, limits.stop),
        states_(problem, budget, preceding_),
        closed_(problem.anchor_count() + 1) {
    best_ = limits.better_than > 0 ? limits.better_than : kImpossible;
  }

  ExactSearchResult Run() {
    ExactSearchResult result;
    states_.AddEnd();
    Push(0);
    bool stopped = false;
    while (!open_.empty()) {
      const Entry entry = open_.top();
      if (entry.estimate >= best_) break;
      stopped = Stopped();
      if (stopped) break;
      open_.pop();
      const int32_t id = entry.id;
      if (states_[id].is_closed || states_[id].estimate != entry.estimate) continue;
      if (!states_[id].is_bounded) {
        states_.Estimate(id, best_);
        if (states_[id].estimate > entry.estimate) {
          if (states_[id].estimate < best_) Push(id);
          continue;
        }
      }
      result.lower_bound = std::max(result.lower_bound, states_[id].estimate);
      if (states_.IsStart(id)) {
        result.cost = best_ = states_[id].cost;
        result.runs = states_.PathFrom(id);
        result.found = true;
        break;
      }
      states_.Close(id);
      if (Dominated(id)) continue;
      closed_[states_.GapOf(id)].push_back(id);
      states_.Expand(id, best_, [&](int32_t reached) { Push(reached); });
    }
    result.finished = !stopped;
    if (result.finished) result.lower_bound = best_;
    result.states = states_.size();
    return result;
  }

 private:
  bool Stopped() {
    return states_.size() >= limits_.state_limit || preceding_.work() > limits_.work_limit ||
           ((++ticks_ & 3) == 0 && limits_.stop());
  }

  // As cheap a state that requires less.
  bool Dominated(int32_t id) const {
    const auto& closed = closed_[states_.GapOf(id)];
    const size_t from = closed.size() > kMostCompared ? closed.size() - kMostCompared : 0;
    for (size_t i = closed.size(); i-- > from;) {
      if (closed[i] == id || states_[closed[i]].cost > states_[id].cost) continue;  // itself: found again, cheaper
      if (states_.IsInside(states_.Row(closed[i]), states_.Row(id))) return true;
    }
    return false;
  }

  void Push(int32_t id) {
    if (states_[id].estimate >= best_) return;
    open_.push({states_[id].estimate, (int64_t{states_.GapOf(id)} << 32) - id, id});
  }

  struct Entry {
    int64_t estimate;
    int64_t order;  // earlier gaps first, then what was found last
    int32_t id;
    friend bool operator<(const Entry& a, const Entry& b) {
      return std::tie(a.estimate, a.order) > std::tie(b.estimate, b.order);
    }
  };

  const ExactSearchLimits& limits_;
  PrecedingCost preceding_;
  BackwardStates states_;
  int64_t best_ = 0;
  int64_t ticks_ = 0;
  std::vector<std::vector<int32_t>> closed_;
  std::priority_queue<Entry> open_;
};

}  // namespace

ExactSearchResult SearchBackward(const StageProblem& problem, int64_t budget_bytes, const ExactSearchLimits& limits) {
  return BackwardSearch(problem, budget_bytes, limits).Run();
}

}  // namespace onnx_mem
