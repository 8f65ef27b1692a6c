#include "solver/problem/simulate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

class StepMachine {
 public:
  explicit StepMachine(const StepGraph& graph)
      : graph_(graph),
        resident_(graph.tensors.size()),
        ran_(graph.ops.size()),
        pending_writers_(graph.tensors.size(), 0),
        pending_readers_(graph.tensors.size(), 0) {
    measure_.peak_bytes = graph.base_bytes;
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      const StepTensorId id(static_cast<int32_t>(i));
      resident_[id] = graph.tensors[id].kind == StepTensorKind::kInput;
    }
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const StepOpId id(static_cast<int32_t>(i));
      const StepOp& op = graph.ops[id];
      for (StepTensorId tensor : op.outputs) ++pending_writers_[tensor];
      if (op.kind == StepOpKind::kBackward) ForEachGradientRead(op, [&](StepTensorId t) { ++pending_readers_[t]; });
      if (op.kind == StepOpKind::kOrdered) ordered_.push_back(id);
    }
  }

  absl::Status Apply(const ScheduleStep& step) {
    if (step.kind == ScheduleStep::Kind::kFree) return ApplyFree(step.tensor());
    return ApplyCompute(step.op());
  }

  absl::StatusOr<ScheduleMeasure> Finish() const {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const StepOpId id(static_cast<int32_t>(i));
      if (graph_.ops[id].kind != StepOpKind::kForward && !ran_[id])
        return Illegal("operator never runs", graph_.ops[id].name);
    }
    return measure_;
  }

 private:
  static absl::Status Illegal(const std::string& what, const std::string& name) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kIllegalSchedule,
                       absl::StrCat(what, ": '", name, "'"));
  }

  template <class F>
  void ForEachGradientRead(const StepOp& op, F f) const {
    std::vector<StepTensorId> seen;
    for (const auto& alternatives : op.inputs) {
      for (StepTensorId tensor : alternatives) {
        if (graph_.tensors[tensor].kind != StepTensorKind::kGradient) continue;
        if (std::find(seen.begin(), seen.end(), tensor) != seen.end()) continue;
        seen.push_back(tensor);
        f(tensor);
      }
    }
  }

  absl::Status ApplyFree(StepTensorId tensor) {
    if (!graph_.tensors.contains(tensor)) return Illegal("free of an unknown tensor", absl::StrCat(tensor.value()));
    const StepTensor& freed = graph_.tensors[tensor];
    if (freed.kind != StepTensorKind::kActivation) return Illegal("free of what is not an activation", freed.name);
    if (!resident_[tensor]) return Illegal("free of a tensor that is not resident", freed.name);
    resident_[tensor] = false;
    resident_bytes_ -= freed.size_bytes;
    return absl::OkStatus();
  }

  absl::Status ApplyCompute(StepOpId id) {
    if (!graph_.ops.contains(id)) return Illegal("run of an unknown operator", absl::StrCat(id.value()));
    const StepOp& op = graph_.ops[id];
    for (const auto& alternatives : op.inputs) {
      if (std::none_of(alternatives.begin(), alternatives.end(), [&](StepTensorId t) { return resident_[t]; })) {
        return Illegal(absl::StrCat("input '", graph_.tensors[alternatives.front()].name, "' is missing for"), op.name);
      }
    }
    RETURN_IF_ERROR(CheckOrder(id, op));
    ChargeRun(op);
    if (!ran_[id]) MarkRun(id, op);
    return absl::OkStatus();
  }

  absl::Status CheckOrder(StepOpId id, const StepOp& op) {
    if (op.kind == StepOpKind::kBackward) {
      if (ran_[id]) return Illegal("a backward operator runs twice", op.name);
      for (const auto& alternatives : op.inputs) {
        for (StepTensorId tensor : alternatives) {
          const bool gradient = graph_.tensors[tensor].kind == StepTensorKind::kGradient;
          if (gradient && pending_writers_[tensor] > 0) return Illegal("an incomplete gradient is read by", op.name);
        }
      }
    }
    if (op.kind == StepOpKind::kOrdered && !ran_[id]) {
      if (ordered_[next_ordered_] != id) return Illegal("first runs are out of order at", op.name);
      ++next_ordered_;
    }
    return absl::OkStatus();
  }

  void ChargeRun(const StepOp& op) {
    int64_t written_bytes = 0;
    int64_t new_bytes = 0;
    for (StepTensorId tensor : op.outputs) {
      const StepTensor& written = graph_.tensors[tensor];
      const bool charged = !(written.kind == StepTensorKind::kActivation && resident_[tensor]);
      if (charged) written_bytes += written.size_bytes;
      if (!resident_[tensor]) new_bytes += written.size_bytes;
      resident_[tensor] = true;
    }
    const int64_t bytes = graph_.base_bytes + resident_bytes_ + op.work_bytes + written_bytes;
    measure_.peak_bytes = std::max(measure_.peak_bytes, bytes);
    measure_.cost += op.cost;
    resident_bytes_ += new_bytes;
  }

  void MarkRun(StepOpId id, const StepOp& op) {
    ran_[id] = true;
    if (op.kind != StepOpKind::kBackward) return;
    for (StepTensorId tensor : op.outputs) {
      --pending_writers_[tensor];
      DropIfRead(tensor);
    }
    ForEachGradientRead(op, [&](StepTensorId tensor) {
      --pending_readers_[tensor];
      DropIfRead(tensor);
    });
  }

  // A gradient vanishes once nothing will read it (at once, when nothing ever does).
  void DropIfRead(StepTensorId tensor) {
    if (graph_.tensors[tensor].kind != StepTensorKind::kGradient || pending_readers_[tensor] > 0) return;
    if (!resident_[tensor]) return;
    resident_[tensor] = false;
    resident_bytes_ -= graph_.tensors[tensor].size_bytes;
  }

  const StepGraph& graph_;
  IdVector<StepTensorId, bool> resident_;
  IdVector<StepOpId, bool> ran_;
  IdVector<StepTensorId, int> pending_writers_;
  IdVector<StepTensorId, int> pending_readers_;
  std::vector<StepOpId> ordered_;
  size_t next_ordered_ = 0;
  int64_t resident_bytes_ = 0;
  ScheduleMeasure measure_;
};

}  // namespace

absl::StatusOr<ScheduleMeasure> Simulate(const StepGraph& graph, const Schedule& schedule) {
  StepMachine machine(graph);
  for (const ScheduleStep& step : schedule) RETURN_IF_ERROR(machine.Apply(step));
  return machine.Finish();
}

}  // namespace onnx_mem
