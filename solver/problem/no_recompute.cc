#include "solver/problem/no_recompute.h"

#include <algorithm>
#include <set>
#include <vector>

namespace onnx_mem {
namespace {

class Selector {
 public:
  explicit Selector(const StageProblem& problem) : problem_(problem), made_(problem.items.size(), false) {}

  std::vector<int> Select() {
    for (const StageItem& item : problem_.items) {
      if (item.maker >= 0) made_[static_cast<size_t>(&item - problem_.items.data())] = true;
    }
    for (const StageAnchor& anchor : problem_.anchors) Ask(anchor.needs);
    while (!pending_.empty() || !choices_.empty()) {
      // Requirements without a choice come first: what they bring may serve the others for free.
      std::vector<int>& from = pending_.empty() ? choices_ : pending_;
      const int requirement = from.back();
      from.pop_back();
      Serve(requirement);
    }
    return {chosen_.begin(), chosen_.end()};
  }

 private:
  void Ask(const std::vector<int>& needs) {
    for (int need : needs) (need < problem_.item_count() ? pending_ : choices_).push_back(need);
  }

  void Serve(int requirement) {
    const auto& alternatives = problem_.requirements[requirement].alternatives;
    if (std::any_of(alternatives.begin(), alternatives.end(), [&](int item) { return made_[item]; })) return;
    int best = -1;
    for (int item : alternatives) {
      for (int op : problem_.items[item].producers) {
        if (best < 0 || problem_.ops[op].cost < problem_.ops[best].cost) best = op;
      }
    }
    if (best < 0 || !chosen_.insert(best).second) return;
    for (int item : problem_.ops[best].outputs) made_[item] = true;
    Ask(problem_.ops[best].needs);
  }

  const StageProblem& problem_;
  std::vector<bool> made_;
  std::vector<int> pending_;
  std::vector<int> choices_;
  std::set<int> chosen_;
};

bool CanRun(const StageProblem& problem, const std::vector<int>& needs, const std::vector<bool>& made) {
  return std::all_of(needs.begin(), needs.end(), [&](int need) {
    const auto& alternatives = problem.requirements[need].alternatives;
    return std::any_of(alternatives.begin(), alternatives.end(), [&](int item) { return made[item]; });
  });
}

// Indices into problem.ops of the operators that a run without recomputation needs, ascending.
std::vector<int> OperatorsRunOnce(const StageProblem& problem) { return Selector(problem).Select(); }

}  // namespace

OpSequence RunOnce(const StageProblem& problem) {
  OpSequence runs;
  std::vector<int> left = OperatorsRunOnce(problem);
  std::vector<bool> made(problem.items.size(), false);
  for (const StageAnchor& anchor : problem.anchors) {
    for (bool progress = true; progress;) {
      const size_t before = left.size();
      std::erase_if(left, [&](int op) {
        if (!CanRun(problem, problem.ops[op].needs, made)) return false;
        for (int item : problem.ops[op].outputs) made[item] = true;
        runs.push_back(problem.ops[op].id);
        return true;
      });
      progress = left.size() != before;
    }
    runs.push_back(anchor.id);
    for (int item : anchor.outputs) made[item] = true;
  }
  return runs;
}

}  // namespace onnx_mem
