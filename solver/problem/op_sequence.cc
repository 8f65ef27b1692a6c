#include "solver/problem/op_sequence.h"

#include <algorithm>

namespace onnx_mem {
namespace {

class Lives {
 public:
  Lives(const StepGraph& graph, const OpSequence& runs)
      : graph_(graph),
        runs_(runs),
        keep_(runs.size(), true),
        dies_after_(runs.size()),
        live_(graph.tensors.size(), false),
        defs_(graph.tensors.size()) {}

  std::optional<Schedule> Compute() {
    CollectDefinitions();
    for (size_t i = runs_.size(); i-- > 0;) {
      if (!VisitBackwards(i)) return std::nullopt;
    }
    return Emit();
  }

 private:
  bool IsActivation(StepTensorId tensor) const { return graph_.tensors[tensor].kind == StepTensorKind::kActivation; }

  void CollectDefinitions() {
    IdVector<StepOpId, bool> ran(graph_.ops.size(), false);
    first_run_.resize(runs_.size());
    for (size_t i = 0; i < runs_.size(); ++i) {
      first_run_[i] = !ran[runs_[i]];
      ran[runs_[i]] = true;
      for (StepTensorId tensor : graph_.ops[runs_[i]].outputs) {
        if (IsActivation(tensor)) defs_[tensor].push_back(i);
      }
    }
  }

  bool VisitBackwards(size_t i) {
    const StepOp& op = graph_.ops[runs_[i]];
    const bool required = op.kind == StepOpKind::kBackward || (op.kind == StepOpKind::kOrdered && first_run_[i]);
    const bool used = std::any_of(op.outputs.begin(), op.outputs.end(), [&](StepTensorId t) { return live_[t]; });
    if (!required && !used) {
      keep_[i] = false;
      return true;
    }
    for (StepTensorId tensor : op.outputs) {
      if (!IsActivation(tensor)) continue;
      if (!live_[tensor]) dies_after_[i].push_back(tensor);
      live_[tensor] = false;
    }
    // First the entries without a choice, so that a choice can fall on what is there anyway.
    for (const bool choice : {false, true}) {
      for (const auto& alternatives : op.inputs) {
        if ((alternatives.size() > 1) == choice && !Use(alternatives, i)) return false;
      }
    }
    return true;
  }

  bool Use(const std::vector<StepTensorId>& alternatives, size_t i) {
    StepTensorId best;
    std::ptrdiff_t best_definition = -1;
    for (StepTensorId tensor : alternatives) {
      if (!IsActivation(tensor)) return true;
      const std::ptrdiff_t definition = LastDefinitionBefore(tensor, i);
      if (definition < 0) continue;
      if (live_[tensor]) return true;
      if (definition > best_definition) {
        best_definition = definition;
        best = tensor;
      }
    }
    if (!best.valid()) return false;
    live_[best] = true;
    dies_after_[i].push_back(best);
    return true;
  }

  std::ptrdiff_t LastDefinitionBefore(StepTensorId tensor, size_t i) const {
    const std::vector<size_t>& defs = defs_[tensor];
    const auto after = std::lower_bound(defs.begin(), defs.end(), i);
    return after == defs.begin() ? -1 : static_cast<std::ptrdiff_t>(*(after - 1));
  }

  Schedule Emit() const {
    Schedule schedule;
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (!keep_[i]) continue;
      schedule.push_back(ScheduleStep::Compute(runs_[i]));
      for (StepTensorId tensor : dies_after_[i]) schedule.push_back(ScheduleStep::Free(tensor));
    }
    return schedule;
  }

  const StepGraph& graph_;
  const OpSequence& runs_;
  std::vector<bool> keep_;
  std::vector<bool> first_run_;
  std::vector<std::vector<StepTensorId>> dies_after_;
  IdVector<StepTensorId, bool> live_;
  IdVector<StepTensorId, std::vector<size_t>> defs_;
};

}  // namespace

std::optional<Schedule> ScheduleOf(const StepGraph& graph, const OpSequence& runs) {
  return Lives(graph, runs).Compute();
}

}  // namespace onnx_mem
