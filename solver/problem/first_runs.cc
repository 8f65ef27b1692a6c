#include "solver/problem/first_runs.h"

#include <algorithm>

namespace onnx_mem {

FirstRuns::FirstRuns(const StageProblem& problem)
    : seen_(problem.requirements.size(), false), due_(problem.group_count) {
  for (size_t r = 0; r < problem.requirements.size(); ++r) {
    for (int item : problem.requirements[r].alternatives) {
      if (problem.items[item].maker >= 0) seen_[r] = true;  // an anchor brings it
    }
  }
  for (int k = 0; k < problem.anchor_count(); ++k) Need(problem, k, problem.anchors[k].needs);
}

void FirstRuns::Need(const StageProblem& problem, int k, const std::vector<int>& needs) {
  std::vector<int> open(needs);
  while (!open.empty()) {
    const int r = open.back();
    open.pop_back();
    if (seen_[r]) continue;
    seen_[r] = true;
    const StageRequirement& requirement = problem.requirements[r];
    open.insert(open.end(), requirement.subs.begin(), requirement.subs.end());
    if (requirement.group < 0) continue;  // which computation serves it is open
    auto& due = due_[requirement.group];
    const int64_t before = due.empty() ? 0 : due.back().second;
    if (requirement.cost <= before) continue;
    cost_ += requirement.cost - before;
    if (!due.empty() && due.back().first == k) {
      due.back().second = requirement.cost;
    } else {
      due.emplace_back(k, requirement.cost);
    }
  }
}

int64_t FirstRuns::CostAfter(int k, int group) const {
  const auto& due = due_[group];
  if (due.empty()) return 0;
  int64_t by_then = 0;
  for (const auto& [anchor, cost] : due) {
    if (anchor <= k) by_then = cost;
  }
  return due.back().second - by_then;
}

}  // namespace onnx_mem
