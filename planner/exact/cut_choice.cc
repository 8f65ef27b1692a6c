#include "planner/exact/cut_choice.h"

#include <algorithm>
#include <utility>

namespace onnx_mem {
namespace {

// More anchors than this are thinned out before pairs of them are tried.
constexpr size_t kMostAnchors = 48;

class Chooser {
 public:
  Chooser(const StageProblem& problem, int64_t budget, const std::function<bool()>& stop)
      : problem_(problem), budget_(budget), stop_(stop),
        nothing_(WordsFor(static_cast<int>(problem.requirements.size()) + 1), 0) {}

  CutChoice Choose(int single_count) {
    CutChoice choice;
    const int64_t closure = Value({});
    std::vector<std::pair<int64_t, int>> singles;
    for (int k = 0; k < problem_.anchor_count() && !stop_(); ++k) {
      const int64_t value = Value({{k}}) - closure;
      if (value > 0) singles.emplace_back(-value, k);
    }
    std::sort(singles.begin(), singles.end());
    CutChain best = BestChain(Thinned(singles));
    if (!best.empty()) choice.chains.push_back(std::move(best));
    for (const auto& [value, k] : singles) {
      if (static_cast<int>(choice.chains.size()) <= single_count) choice.chains.push_back({k});
    }
    const int64_t bound = Value(choice.chains);
    choice.lower_bound = bound >= kImpossible ? kImpossible : bound + problem_.anchor_cost;
    return choice;
  }

 private:
  int64_t Value(const std::vector<CutChain>& chains) const {
    return RemainingCost(problem_, budget_, chains).Bound(0, nothing_.data());
  }

  static std::vector<int> Thinned(const std::vector<std::pair<int64_t, int>>& singles) {
    std::vector<int> anchors;
    for (const auto& [value, k] : singles) {
      if (anchors.size() < kMostAnchors) anchors.push_back(k);
    }
    std::sort(anchors.begin(), anchors.end());
    return anchors;
  }

  // Windows (k, j] are independent of each other, so the best chain is a longest path.
  CutChain BestChain(const std::vector<int>& anchors) const {
    const size_t n = anchors.size();
    std::vector<int64_t> value(n, 0);
    std::vector<size_t> next(n, n);
    for (size_t i = n; i-- > 0 && !stop_();) {
      value[i] = Value({{anchors[i]}});
      const int64_t alone = Value({});
      value[i] -= alone;
      for (size_t j = i + 1; j < n && !stop_(); ++j) {
        const int64_t window = Value({{anchors[i], anchors[j]}}) - Value({{anchors[j]}});
        if (window + value[j] > value[i]) {
          value[i] = window + value[j];
          next[i] = j;
        }
      }
    }
    CutChain chain;
    if (n == 0) return chain;
    size_t i = static_cast<size_t>(std::max_element(value.begin(), value.end()) - value.begin());
    for (; i < n; i = next[i]) chain.push_back(anchors[i]);
    return chain;
  }

  const StageProblem& problem_;
  const int64_t budget_;
  const std::function<bool()>& stop_;
  const std::vector<Word> nothing_;
};

}  // namespace

CutChoice ChooseCuts(const StageProblem& problem, int64_t budget_bytes, int single_count,
                     const std::function<bool()>& stop) {
  return Chooser(problem, budget_bytes, stop).Choose(single_count);
}

}  // namespace onnx_mem
