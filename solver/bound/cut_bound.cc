#include "solver/bound/cut_bound.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

constexpr size_t kFirstCuts = 24;   // spread over the anchors at which not everything fits
constexpr int kClosestCuts = 8;     // solved to the end
constexpr int kBranchLimit = 3000;  // for each
constexpr int kQuickCuts = 2;
constexpr int kQuickBranches = 800;  // for the first; a quarter for each that follows
constexpr size_t kWindowEnds = 14;   // instants between which windows are tried
constexpr int kFewAnchors = 100;     // so few that every window is tried, and solved to the end
constexpr int kWindowBranches = 60;
constexpr size_t kRefinedAround = 3;

// At every anchor, by how much what is needed there and later exceeds the budget if all of it is kept. Of a choice,
// the smallest alternative counts.
std::vector<int64_t> Overflows(const StageProblem& problem, int64_t budget_bytes) {
  const int n = problem.anchor_count();
  std::vector<int64_t> change(n + 1, 0);
  std::vector<int> last(problem.requirements.size(), -1);
  for (int t = 0; t < n; ++t) {
    for (int need : problem.anchors[t].needs) last[need] = t;
  }
  for (size_t r = 0; r < last.size(); ++r) {
    if (last[r] < 0) continue;
    int64_t bytes = std::numeric_limits<int64_t>::max();
    int made = n;
    for (int item : problem.requirements[r].alternatives) {
      bytes = std::min(bytes, problem.items[item].bytes);
      made = std::min(made, std::max(problem.items[item].maker, 0));
    }
    change[made] += bytes;
    change[last[r] + 1] -= bytes;
  }
  std::vector<int64_t> overflows(n);
  int64_t bytes = 0;
  for (int t = 0; t < n; ++t) {
    bytes += change[t];
    overflows[t] = bytes + problem.anchors[t].fixed_bytes - budget_bytes;
    for (int item : problem.anchors[t].outputs) {
      if (last[item] < t) overflows[t] += problem.items[item].bytes;  // not among what is needed
    }
  }
  return overflows;
}

class Bounder {
 public:
  Bounder(const StageProblem& problem, int64_t budget, const CutBoundLimits& limits)
      : problem_(problem),
        budget_(budget),
        limits_(limits),
        first_runs_(problem),
        once_(problem.anchor_cost + first_runs_.cost()) {
    bound_.lower_bound = once_;
  }

  CutBound Run() {
    const std::vector<int64_t> overflows = Overflows(problem_, budget_);
    for (int t = 0; t < problem_.anchor_count(); ++t) {
      if (overflows[t] > 0) tight_.push_back(t);
    }
    std::vector<int> fattest(tight_);
    StableSort(fattest, [&](int a, int b) { return overflows[a] > overflows[b]; });
    for (size_t i = 0; i < std::min<size_t>(fattest.size(), 4); ++i) Try(fattest[i]);
    const size_t spread = HasFewAnchors() ? tight_.size() : std::min(kFirstCuts, tight_.size());
    for (size_t i = 0; i < spread; ++i) Try(tight_[i * (tight_.size() - 1) / std::max<size_t>(spread - 1, 1)]);
    Refine();
    const bool quick = limits_.effort == CutEffort::kQuick;
    Close(quick ? kQuickCuts : kClosestCuts, quick ? kQuickBranches : kBranchLimit);
    if (!quick) Chain();
    for (int anchor : ByCost()) bound_.cuts.push_back({anchor, std::move(solved_.at(anchor))});
    return std::move(bound_);
  }

 private:
  bool Enough() const { return bound_.impossible_at >= 0 || bound_.lower_bound >= limits_.enough || Stop(); }

  bool Stop() const { return work_ > limits_.work_limit || limits_.stop(); }

  bool HasFewAnchors() const { return problem_.anchor_count() <= kFewAnchors; }

  CutValue Solve(int k, int until, int branch_limit) {
    CutGraph graph(problem_, first_runs_, budget_, k, until);
    CutLimits limits;
    limits.branch_limit = branch_limit;
    limits.stop = [&] { return work_ + graph.cut().work() > limits_.work_limit || limits_.stop(); };
    if (limits_.enough < std::numeric_limits<int64_t>::max()) limits.enough = limits_.enough - once_;
    CutValue value = SolveCut(graph, problem_.cost_unit, limits);
    work_ += graph.cut().work() + graph.cut().node_count();
    return value;
  }

  void Try(int k, int branch_limit = 0) {
    if (Enough() || (branch_limit == 0 && solved_.contains(k))) return;
    CutValue value = Solve(k, problem_.anchor_count() - 1, branch_limit);
    if (value.impossible) bound_.impossible_at = k;
    bound_.lower_bound = std::max(bound_.lower_bound, once_ + value.lower_bound);
    solved_[k] = std::move(value);
  }

  std::vector<int> ByCost() const {
    std::vector<int> anchors;
    for (const auto& [anchor, value] : solved_) anchors.push_back(anchor);
    StableSort(anchors, [&](int a, int b) { return solved_.at(a).lower_bound > solved_.at(b).lower_bound; });
    return anchors;
  }

  // Halves the distance to the neighbours of the best cuts until they touch.
  void Refine() {
    for (bool tried = true; tried && !Enough();) {
      tried = false;
      std::vector<int> best = ByCost();
      best.resize(std::min(best.size(), kRefinedAround));
      for (int k : best) {
        const auto here = solved_.find(k);
        const int before = here == solved_.begin() ? tight_.front() : std::prev(here)->first;
        const int after = std::next(here) == solved_.end() ? tight_.back() : std::next(here)->first;
        for (int between : {Between(before, k), Between(k, after)}) {
          if (between < 0 || solved_.contains(between)) continue;
          Try(between);
          tried = true;
        }
      }
    }
  }

  // The middle one of the tight anchors between two, -1 if there is none.
  int Between(int low, int high) const {
    const auto first = std::upper_bound(tight_.begin(), tight_.end(), low);
    const auto last = std::lower_bound(tight_.begin(), tight_.end(), high);
    return first < last ? *(first + (last - first) / 2) : -1;
  }

  // Single cuts that may bound higher than what is known, to the end.
  void Close(int most, int branch_limit) {
    for (int i = 0; i < most && !Enough(); ++i) {
      int best = -1;
      for (const auto& [k, value] : solved_) {
        const bool open = value.cost < 0 || value.cost > value.lower_bound;
        if (!open || closed_.contains(k) || (value.cost >= 0 && once_ + value.cost <= bound_.lower_bound)) continue;
        if (best < 0 || value.lower_bound > solved_.at(best).lower_bound) best = k;
      }
      if (best < 0) return;
      closed_[best] = true;
      Try(best, branch_limit);
      if (limits_.effort == CutEffort::kQuick) branch_limit /= 4;
    }
  }

  // The windows that add up to most: a longest path over instants.
  void Chain() {
    std::vector<int> ends = ByCost();
    std::erase_if(ends, [&](int k) { return solved_.at(k).lower_bound == 0; });
    if (ends.size() > kWindowEnds && !HasFewAnchors()) {
      std::sort(ends.begin() + 2, ends.end());
      std::vector<int> some(ends.begin(), ends.begin() + 2);
      for (size_t i = 2; i < kWindowEnds; ++i) {
        some.push_back(ends[2 + (i - 2) * (ends.size() - 3) / (kWindowEnds - 3)]);
      }
      ends = std::move(some);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    std::vector<int64_t> value(ends.size(), 0);
    for (size_t i = ends.size(); i-- > 0 && !Enough();) {
      if (HasFewAnchors() && solved_.at(ends[i]).cost != solved_.at(ends[i]).lower_bound) Try(ends[i], kWindowBranches);
      value[i] = solved_.at(ends[i]).lower_bound;
      for (size_t j = i + 1; j < ends.size() && !Enough(); ++j) {
        if (solved_.at(ends[i]).lower_bound + value[j] <= value[i]) continue;  // a window costs no more than the rest
        const CutValue window = Solve(ends[i], ends[j], HasFewAnchors() ? kWindowBranches : 0);
        if (window.impossible) bound_.impossible_at = ends[i];
        value[i] = std::max(value[i], window.lower_bound + value[j]);
      }
      bound_.lower_bound = std::max(bound_.lower_bound, once_ + value[i]);
    }
  }

  const StageProblem& problem_;
  const int64_t budget_;
  const CutBoundLimits& limits_;
  const FirstRuns first_runs_;
  int64_t work_ = 0;
  const int64_t once_;  // what no schedule does without, memory aside
  CutBound bound_;
  std::vector<int> tight_;
  std::map<int, CutValue> solved_;
  std::map<int, bool> closed_;
};

}  // namespace

CutBound BoundByCuts(const StageProblem& problem, int64_t budget_bytes, const CutBoundLimits& limits) {
  return Bounder(problem, budget_bytes, limits).Run();
}

}  // namespace onnx_mem
