#include "solver/problem/stages.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace onnx_mem {
namespace {

class StageBuilder {
 public:
  explicit StageBuilder(const StepGraph& graph) : graph_(graph), item_of_(graph.tensors.size(), -1) {}

  StageProblem Build() {
    AddItems();
    AddOps();
    AddAnchors();
    LinkProducers();
    DescribeRequirements();
    FindUsefulTimes();
    FindCostUnit();
    return std::move(problem_);
  }

 private:
  void AddItems() {
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const StepTensorId id(static_cast<int32_t>(i));
      if (graph_.tensors[id].kind != StepTensorKind::kActivation) continue;
      item_of_[id] = problem_.item_count();
      problem_.items.push_back({id, graph_.tensors[id].size_bytes, {}, -1, -1});
    }
    for (int item = 0; item < problem_.item_count(); ++item) {
      problem_.requirements.push_back({{item}, -1, 0, {}});
    }
  }

  void AddOps() {
    std::map<std::string, int> groups;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const StepOpId id(static_cast<int32_t>(i));
      const StepOp& op = graph_.ops[id];
      if (op.kind == StepOpKind::kBackward) continue;
      int group = problem_.group_count;
      if (!op.group.empty()) group = groups.emplace(op.group, group).first->second;
      problem_.group_count = std::max(problem_.group_count, group + 1);
      problem_.ops.push_back({id, op.cost, op.work_bytes, Needs(op), Items(op.outputs), group, 0});
    }
  }

  std::vector<int> Items(const std::vector<StepTensorId>& tensors) const {
    std::vector<int> items;
    for (StepTensorId tensor : tensors) {
      if (item_of_[tensor] >= 0) items.push_back(item_of_[tensor]);
    }
    return items;
  }

  std::vector<int> Needs(const StepOp& op) {
    std::set<int> needs;
    for (const auto& entry : op.inputs) {
      std::vector<int> alternatives = Items(entry);
      const bool always_there = alternatives.size() != entry.size();  // an input is among them, or it is a gradient
      if (always_there) continue;
      std::sort(alternatives.begin(), alternatives.end());
      alternatives.erase(std::unique(alternatives.begin(), alternatives.end()), alternatives.end());
      needs.insert(RequirementOf(alternatives));
    }
    return {needs.begin(), needs.end()};
  }

  int RequirementOf(const std::vector<int>& alternatives) {
    if (alternatives.size() == 1) return alternatives.front();
    const auto next = static_cast<int>(problem_.requirements.size());
    const auto [it, inserted] = shared_requirements_.emplace(alternatives, next);
    if (inserted) problem_.requirements.push_back({alternatives, -1, 0, {}});
    return it->second;
  }

  // Gradient bytes at every anchor: a gradient lives from its first writer to its last reader.
  void AddAnchors() {
    IdVector<StepTensorId, int> readers(graph_.tensors.size(), 0);
    for (const StepOp& op : graph_.ops) {
      if (op.kind == StepOpKind::kBackward) CountGradientReads(op, 1, readers);
    }
    IdVector<StepTensorId, bool> live(graph_.tensors.size(), false);
    int64_t gradient_bytes = 0;
    for (StepOpId id : RequiredOrder(graph_)) {
      const StepOp& op = graph_.ops[id];
      StageAnchor anchor{id, -1, op.cost, 0, graph_.base_bytes + gradient_bytes, Needs(op), Items(op.outputs)};
      anchor.fixed_bytes = anchor.gap_bytes + op.work_bytes;
      for (StepTensorId tensor : op.outputs) {
        if (item_of_[tensor] >= 0) continue;
        anchor.fixed_bytes += graph_.tensors[tensor].size_bytes;
        if (!live[tensor]) gradient_bytes += graph_.tensors[tensor].size_bytes;
        live[tensor] = true;
      }
      if (op.kind == StepOpKind::kBackward) CountGradientReads(op, -1, readers);
      // Only what it read or wrote can have died.
      std::set<StepTensorId> touched(op.outputs.begin(), op.outputs.end());
      for (const auto& entry : op.inputs) touched.insert(entry.begin(), entry.end());
      for (StepTensorId tensor : touched) {
        if (!live[tensor] || graph_.tensors[tensor].kind != StepTensorKind::kGradient || readers[tensor] > 0) continue;
        live[tensor] = false;
        gradient_bytes -= graph_.tensors[tensor].size_bytes;
      }
      problem_.anchor_cost += op.cost;
      problem_.anchors.push_back(std::move(anchor));
    }
  }

  void CountGradientReads(const StepOp& op, int sign, IdVector<StepTensorId, int>& readers) const {
    std::set<StepTensorId> read;
    for (const auto& entry : op.inputs) read.insert(entry.begin(), entry.end());
    for (StepTensorId tensor : read) readers[tensor] += sign;
  }

  void LinkProducers() {
    std::map<StepOpId, int> op_of;
    for (size_t i = 0; i < problem_.ops.size(); ++i) {
      op_of[problem_.ops[i].id] = static_cast<int>(i);
      for (int item : problem_.ops[i].outputs) problem_.items[item].producers.push_back(static_cast<int>(i));
    }
    for (int t = 0; t < problem_.anchor_count(); ++t) {
      StageAnchor& anchor = problem_.anchors[t];
      if (const auto it = op_of.find(anchor.id); it != op_of.end()) {
        anchor.op = it->second;
        problem_.ops[anchor.op].first_gap = t + 1;
      }
      for (int item : anchor.outputs) {
        if (problem_.items[item].maker < 0) problem_.items[item].maker = t;
      }
    }
  }

  void DescribeRequirements() {
    for (StageRequirement& requirement : problem_.requirements) {
      std::set<int> servers;
      for (int item : requirement.alternatives) {
        servers.insert(problem_.items[item].producers.begin(), problem_.items[item].producers.end());
      }
      if (servers.empty()) continue;
      const StageOp& first = problem_.ops[*servers.begin()];
      requirement.group = first.group;
      requirement.cost = first.cost;
      requirement.subs = first.needs;
      for (int server : servers) {
        const StageOp& op = problem_.ops[server];
        if (op.group != first.group) requirement.group = -1;
        requirement.cost = std::min(requirement.cost, op.cost);
        std::vector<int> both;
        std::set_intersection(requirement.subs.begin(), requirement.subs.end(), op.needs.begin(), op.needs.end(),
                              std::back_inserter(both));
        requirement.subs = std::move(both);
      }
      if (requirement.group < 0) requirement.subs.clear();
    }
  }

  // An item is useful while an anchor may still read it, or an operator that reads it may make something useful.
  void FindUsefulTimes() {
    for (int t = 0; t < problem_.anchor_count(); ++t) {
      for (int need : problem_.anchors[t].needs) RaiseUseful(need, t);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (auto op = problem_.ops.rbegin(); op != problem_.ops.rend(); ++op) {
        int until = -1;
        for (int item : op->outputs) until = std::max(until, problem_.items[item].useful_until);
        if (until < op->first_gap) continue;  // no longer useful when it may run
        for (int need : op->needs) changed |= RaiseUseful(need, until);
      }
    }
  }

  bool RaiseUseful(int requirement, int until) {
    bool changed = false;
    for (int item : problem_.requirements[requirement].alternatives) {
      int& useful_until = problem_.items[item].useful_until;
      changed |= until > useful_until;
      useful_until = std::max(useful_until, until);
    }
    return changed;
  }

  void FindCostUnit() {
    int64_t unit = 0;
    for (const StepOp& op : graph_.ops) unit = std::gcd(unit, op.cost);
    problem_.cost_unit = std::max<int64_t>(unit, 1);
  }

  const StepGraph& graph_;
  IdVector<StepTensorId, int> item_of_;
  std::map<std::vector<int>, int> shared_requirements_;
  StageProblem problem_;
};

}  // namespace

int64_t LeastBytes(const StageProblem& problem, const StageAnchor& anchor) {
  int64_t bytes = anchor.fixed_bytes;
  for (int item : anchor.outputs) bytes += problem.items[item].bytes;
  for (int need : anchor.needs) {
    const bool single = need < problem.item_count();
    const bool counted = std::find(anchor.outputs.begin(), anchor.outputs.end(), need) != anchor.outputs.end();
    if (single && !counted) bytes += problem.items[need].bytes;
  }
  return bytes;
}

bool CanBeProduced(const StageProblem& problem, const StageRequirement& requirement) {
  return std::any_of(requirement.alternatives.begin(), requirement.alternatives.end(),
                     [&](int item) { return !problem.items[item].producers.empty(); });
}

StageProblem BuildStages(const StepGraph& graph) { return StageBuilder(graph).Build(); }

}  // namespace onnx_mem
