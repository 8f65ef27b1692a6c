#include "solver/exact/backward_beam.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <vector>

#include "solver/exact/backward_states.h"
#include "solver/exact/preceding_cost.h"

namespace onnx_mem {
namespace {

constexpr PrecedingEffort kEffort{.moments = 12, .knapsack_nodes = 60, .cut_branches = -1, .window_work = 30'000'000};
constexpr int kExpansionsPerWidth = 30;  // within a gap, for each state that may leave it

class Beam {
 public:
  Beam(const StageProblem& problem, int64_t budget, const BeamLimits& limits)
      : problem_(problem),
        limits_(limits),
        preceding_(problem, budget, kEffort, limits.stop),
        states_(problem, budget, preceding_),
        open_(problem.anchor_count() + 1) {
    best_ = limits.better_than > 0 ? limits.better_than : kImpossible;
    int64_t once = 1;
    for (const StageOp& op : problem.ops) once += op.cost;
    price_per_byte_ = limits.price * static_cast<double>(once) / static_cast<double>(std::max<int64_t>(budget, 1));
  }

  OpSequence Run() {
    states_.AddEnd();
    Push(0);
    for (size_t t = open_.size(); t-- > 0;) {
      const int32_t start = Follow(static_cast<int>(t));
      if (start >= 0) return states_.PathFrom(start);
      open_[t] = {};
      if (limits_.stop() || (t > 0 && open_[t - 1].empty())) break;
    }
    return {};
  }

 private:
  struct Entry {
    double rank;
    int64_t cost;
    int32_t id;
    friend bool operator<(const Entry& a, const Entry& b) { return std::tie(a.rank, b.id) > std::tie(b.rank, a.id); }
  };

  void Push(int32_t id) {
    states_.Estimate(id, best_);
    if (states_[id].estimate >= best_) return;
    int64_t bytes = 0;
    ForEachBit(states_.Row(id), preceding_.words(), [&](int item) { bytes += problem_.items[item].bytes; });
    const double rank = static_cast<double>(states_[id].estimate) + price_per_byte_ * static_cast<double>(bytes);
    open_[states_.GapOf(id)].push({rank, states_[id].cost, id});
  }

  // Takes the best states of the gap until enough of them have left it. The start of a schedule, if one comes up, or
  // -1.
  int32_t Follow(int t) {
    int left = 0;
    auto& open = open_[t];
    followed_.clear();
    for (int expansions = kExpansionsPerWidth * limits_.width; !open.empty() && left < limits_.width; --expansions) {
      if (expansions < 0 || ((expansions & 15) == 0 && limits_.stop())) return -1;
      const Entry entry = open.top();
      open.pop();
      if (states_[entry.id].is_closed || states_[entry.id].cost != entry.cost) continue;
      if (states_.IsStart(entry.id)) return entry.id;
      states_.Close(entry.id);
      if (Dominated(entry.id)) continue;
      followed_.push_back(entry.id);
      bool leaves = false;
      states_.Expand(entry.id, best_, [&](int32_t reached) {
        leaves = leaves || states_.GapOf(reached) < t;
        Push(reached);
      });
      left += leaves ? 1 : 0;
    }
    return -1;
  }

  // As cheap a state of this gap requires less.
  bool Dominated(int32_t id) const {
    return std::any_of(followed_.begin(), followed_.end(), [&](int32_t other) {
      return states_[other].cost <= states_[id].cost && states_.IsInside(states_.Row(other), states_.Row(id));
    });
  }

  const StageProblem& problem_;
  const BeamLimits& limits_;
  double price_per_byte_ = 0;
  PrecedingCost preceding_;
  BackwardStates states_;
  int64_t best_ = 0;
  std::vector<int32_t> followed_;  // states of the gap at hand
  std::vector<std::priority_queue<Entry>> open_;
};

}  // namespace

OpSequence PlanByBeam(const StageProblem& problem, int64_t budget_bytes, const BeamLimits& limits) {
  return Beam(problem, budget_bytes, limits).Run();
}

}  // namespace onnx_mem
