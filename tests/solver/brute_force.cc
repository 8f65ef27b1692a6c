#include "tests/solver/brute_force.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

namespace onnx_mem {
namespace {

class BruteForce {
 public:
  BruteForce(const StepGraph& graph, int64_t budget)
      : graph_(graph), budget_(budget), order_(RequiredOrder(graph)), bit_(graph.tensors.size(), -1) {
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      const StepTensorId id(static_cast<int32_t>(i));
      if (graph.tensors[id].kind == StepTensorKind::kActivation) bit_[id] = bits_++;
    }
    for (size_t done = 0; done <= order_.size(); ++done) gradient_bytes_.push_back(GradientBytes(done));
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      position_.push_back(0);
      const StepOpId id(static_cast<int32_t>(i));
      const auto at = std::find(order_.begin(), order_.end(), id);
      if (at != order_.end()) position_.back() = static_cast<size_t>(at - order_.begin()) + 1;
    }
  }

  std::optional<int64_t> Run() {
    const size_t sets = size_t{1} << bits_;
    least_.assign((order_.size() + 1) * sets, -1);
    Reach(0, 0, 0);
    while (!open_.empty()) {
      const auto [cost, state] = open_.top();
      open_.pop();
      if (least_[state] != cost) continue;
      const size_t done = state / sets;
      const auto set = static_cast<uint32_t>(state % sets);
      if (done == order_.size()) return cost;
      for (int i = 0; i < bits_; ++i) {
        if ((set >> i) & 1) Reach(done, set & ~(1u << i), cost);
      }
      for (size_t i = 0; i < graph_.ops.size(); ++i) TryRun(StepOpId(static_cast<int32_t>(i)), done, set, cost);
    }
    return std::nullopt;
  }

 private:
  void Reach(size_t done, uint32_t set, int64_t cost) {
    const size_t state = (done << bits_) + set;
    if (least_[state] >= 0 && least_[state] <= cost) return;
    least_[state] = cost;
    open_.emplace(cost, state);
  }

  // Bytes of gradients between required operators, straight from their definition.
  int64_t GradientBytes(size_t done) const {
    const std::set<StepOpId> ran(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(done));
    int64_t bytes = 0;
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const StepTensorId id(static_cast<int32_t>(i));
      const StepTensorKind kind = graph_.tensors[id].kind;
      if (kind != StepTensorKind::kGradient && kind != StepTensorKind::kParameterGradient) continue;
      bool written = false;
      bool wanted = false;
      for (size_t j = 0; j < graph_.ops.size(); ++j) {
        const StepOpId op(static_cast<int32_t>(j));
        const auto& outputs = graph_.ops[op].outputs;
        written |= ran.contains(op) && std::find(outputs.begin(), outputs.end(), id) != outputs.end();
        wanted |= !ran.contains(op) && graph_.ops[op].kind == StepOpKind::kBackward && Reads(graph_.ops[op], id);
      }
      if (written && (wanted || kind == StepTensorKind::kParameterGradient)) bytes += graph_.tensors[id].size_bytes;
    }
    return bytes;
  }

  static bool Reads(const StepOp& op, StepTensorId tensor) {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](const auto& alternatives) {
      return std::find(alternatives.begin(), alternatives.end(), tensor) != alternatives.end();
    });
  }

  void TryRun(StepOpId id, size_t done, uint32_t set, int64_t cost) {
    const StepOp& op = graph_.ops[id];
    const size_t position = position_[static_cast<size_t>(id.value())];
    const bool next = position == done + 1;
    const bool again = op.kind == StepOpKind::kForward || (op.kind == StepOpKind::kOrdered && position <= done);
    if (!next && !again) return;
    for (const auto& alternatives : op.inputs) {
      const bool served = std::any_of(alternatives.begin(), alternatives.end(), [&](StepTensorId tensor) {
        return bit_[tensor] < 0 || ((set >> bit_[tensor]) & 1) != 0;
      });
      if (!served) return;
    }
    int64_t bytes = graph_.base_bytes + gradient_bytes_[done] + op.work_bytes;
    uint32_t after = set;
    for (StepTensorId tensor : op.outputs) {
      if (bit_[tensor] >= 0) {
        after |= 1u << bit_[tensor];
      } else {
        bytes += graph_.tensors[tensor].size_bytes;
      }
    }
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const StepTensorId tensor(static_cast<int32_t>(i));
      if (bit_[tensor] >= 0 && ((after >> bit_[tensor]) & 1) != 0) bytes += graph_.tensors[tensor].size_bytes;
    }
    if (bytes <= budget_) Reach(next ? done + 1 : done, after, cost + op.cost);
  }

  const StepGraph& graph_;
  const int64_t budget_;
  const std::vector<StepOpId> order_;
  IdVector<StepTensorId, int> bit_;
  int bits_ = 0;
  std::vector<int64_t> gradient_bytes_;  // after so many required operators
  std::vector<size_t> position_;         // per operator: from 1, its place among the required ones; 0 = not required
  std::vector<int64_t> least_;
  std::priority_queue<std::pair<int64_t, size_t>, std::vector<std::pair<int64_t, size_t>>, std::greater<>> open_;
};

}  // namespace

std::optional<int64_t> BestCostByBruteForce(const StepGraph& graph, int64_t budget_bytes) {
  return BruteForce(graph, budget_bytes).Run();
}

}  // namespace onnx_mem
