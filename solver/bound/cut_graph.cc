#include "solver/bound/cut_graph.h"

#include <algorithm>
#include <limits>

namespace onnx_mem {
namespace {

constexpr int64_t kNeverCut = int64_t{1} << 61;

}  // namespace

CutGraph::CutGraph(const StageProblem& problem, const FirstRuns* first_runs, int64_t budget_bytes, int k)
    : problem_(problem),
      first_runs_(first_runs),
      k_(k),
      there_(problem.items.size(), false),
      served_(problem.requirements.size(), false),
      node_of_(problem.requirements.size(), -1) {
  bytes_left_.reserve(problem.items.size());
  for (const StageItem& item : problem.items) bytes_left_.push_back(item.bytes);
  DecideAtAnchor(budget_bytes);
}

CutGraph::CutGraph(const StageProblem& problem, const FirstRuns& first_runs, int64_t budget_bytes, int k, int until)
    : CutGraph(problem, &first_runs, budget_bytes, k) {
  for (int t = k + 1; t <= until; ++t) {
    for (int need : problem.anchors[t].needs) AddNeed(need);
  }
  DescribeAll();
}

CutGraph::CutGraph(const StageProblem& problem, int64_t budget_bytes, int k, const std::vector<int>& needs)
    : CutGraph(problem, nullptr, budget_bytes, k) {
  for (int need : needs) AddNeed(need);
  DescribeAll();
}

void CutGraph::AddNeed(int requirement) {
  const bool known = node_of_[requirement] >= 0;
  const int node = NeedNode(requirement);
  if (node >= 0 && !known) source_arcs_.push_back(cut_.AddArc(MinCut::kSource, node));
}

void CutGraph::DescribeAll() {
  while (!open_.empty()) {
    const int requirement = open_.back();
    open_.pop_back();
    Describe(requirement);
  }
  Finish();
}

void CutGraph::DecideAtAnchor(int64_t budget_bytes) {
  const StageAnchor& anchor = problem_.anchors[k_];
  room_bytes_ = budget_bytes - anchor.fixed_bytes;
  const auto decide = [&](int item) {
    if (there_[item]) return;
    there_[item] = true;
    room_bytes_ -= problem_.items[item].bytes;
  };
  for (int item : anchor.outputs) decide(item);
  for (int need : anchor.needs) {
    if (need < problem_.item_count()) decide(need);
  }
  for (int need : anchor.needs) {
    if (need < problem_.item_count() || IsThere(need)) continue;
    room_bytes_ -= TakeShare(need);
    served_[need] = true;
  }
}

// What whichever alternative serves costs at least.
int64_t CutGraph::TakeShare(int requirement) {
  int64_t share = std::numeric_limits<int64_t>::max();
  const auto& alternatives = problem_.requirements[requirement].alternatives;
  for (int item : alternatives) share = std::min(share, bytes_left_[item]);
  for (int item : alternatives) bytes_left_[item] -= share;
  return share;
}

// Served by what is resident at the instant anyway, or by an anchor that comes later.
bool CutGraph::IsThere(int requirement) const {
  if (served_[requirement]) return true;
  const auto& alternatives = problem_.requirements[requirement].alternatives;
  return std::any_of(alternatives.begin(), alternatives.end(),
                     [&](int item) { return there_[item] || problem_.items[item].maker > k_; });
}

// -1 if nothing is at stake.
int CutGraph::NeedNode(int requirement) {
  if (node_of_[requirement] >= 0) return node_of_[requirement];
  if (IsThere(requirement)) return -1;
  const StageRequirement& described = problem_.requirements[requirement];
  if (described.group < 0 && CanBeProduced(problem_, described)) {  // by which computation is open: it counts as served
    served_[requirement] = true;
    return -1;
  }
  node_of_[requirement] = cut_.AddNode();
  open_.push_back(requirement);
  return node_of_[requirement];
}

void CutGraph::Describe(int requirement) {
  const StageRequirement& described = problem_.requirements[requirement];
  const int need_node = node_of_[requirement];
  Keep keep{requirement, 0, need_node, MinCut::kSink, 0};
  if (requirement >= problem_.item_count()) keep.bytes = TakeShare(requirement);
  if (described.group >= 0) {
    keep.produce_node = cut_.AddNode();
    cut_.AddArc(keep.produce_node, ComputationNode(described.group, described.cost), kNeverCut);
    for (int sub : described.subs) {
      const int node = NeedNode(sub);
      if (node >= 0) cut_.AddArc(keep.produce_node, node, kNeverCut);
    }
  }
  keep.arc = cut_.AddArc(need_node, keep.produce_node);
  keeps_.push_back(keep);
}

int CutGraph::ComputationNode(int group, int64_t cost) {
  const auto [it, inserted] = computations_[group].emplace(cost, -1);
  if (inserted) it->second = cut_.AddNode();
  return it->second;
}

// Costs, and what could not be said before everything at stake was known.
void CutGraph::Finish() {
  for (const auto& [group, by_cost] : computations_) {
    int64_t charged = first_runs_ == nullptr ? 0 : first_runs_->CostAfter(k_, group);
    int cheaper = -1;
    for (const auto& [cost, node] : by_cost) {
      charges_.push_back({cut_.AddArc(node, MinCut::kSink), node, std::max<int64_t>(0, cost - charged)});
      charged = std::max(charged, cost);
      if (cheaper >= 0) cut_.AddArc(node, cheaper, kNeverCut);
      cheaper = node;
    }
  }
  std::vector<std::vector<int>> choices_of(problem_.items.size());
  for (size_t r = problem_.items.size(); r < problem_.requirements.size(); ++r) {
    if (node_of_[r] < 0) continue;
    for (int item : problem_.requirements[r].alternatives) choices_of[item].push_back(node_of_[r]);
  }
  for (Keep& keep : keeps_) {
    if (keep.requirement >= problem_.item_count()) continue;
    keep.bytes = bytes_left_[keep.requirement];
    for (int node : choices_of[keep.requirement]) cut_.AddArc(keep.need_node, node, kNeverCut);
  }
}

}  // namespace onnx_mem
