#include "solver/problem/problem.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

// Sums of sizes and of costs stay below this, so that products with small counts cannot overflow.
constexpr int64_t kLargestSum = int64_t{1} << 56;

absl::Status BadInstance(const std::string& message) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadInstance, message);
}

bool AddWithin(int64_t& sum, int64_t value) {
  if (value < 0 || value > kLargestSum - sum) return false;
  sum += value;
  return true;
}

absl::Status VerifySums(const StepGraph& graph) {
  int64_t bytes = 0;
  int64_t cost = 0;
  if (!AddWithin(bytes, graph.base_bytes)) return BadInstance("base is negative or too large");
  for (const StepTensor& tensor : graph.tensors) {
    if (!AddWithin(bytes, tensor.size_bytes)) {
      return BadInstance(absl::StrCat("tensor '", tensor.name, "': its size is negative, or sizes sum to over 2^56"));
    }
  }
  for (const StepOp& op : graph.ops) {
    if (!AddWithin(bytes, op.work_bytes)) {
      return BadInstance(absl::StrCat("operator '", op.name, "': its work is negative, or sizes sum to over 2^56"));
    }
    if (!AddWithin(cost, op.cost)) {
      return BadInstance(absl::StrCat("operator '", op.name, "': its cost is negative, or costs sum to over 2^56"));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyInputs(const StepGraph& graph, const StepOp& op) {
  for (const auto& alternatives : op.inputs) {
    if (alternatives.empty()) return BadInstance(absl::StrCat("operator '", op.name, "': an input without a tensor"));
    for (StepTensorId tensor : alternatives) {
      if (!graph.tensors.contains(tensor)) {
        return BadInstance(
            absl::StrCat("operator '", op.name, "' reads tensor ", tensor.value(), ", which is not there"));
      }
      const StepTensorKind kind = graph.tensors[tensor].kind;
      const bool is_gradient = kind == StepTensorKind::kGradient || kind == StepTensorKind::kParameterGradient;
      if (is_gradient && (op.kind != StepOpKind::kBackward || alternatives.size() != 1)) {
        return BadInstance(absl::StrCat("operator '", op.name, "' reads gradient '", graph.tensors[tensor].name,
                                        "': only a backward operator may, and without alternatives"));
      }
      if (std::find(op.outputs.begin(), op.outputs.end(), tensor) != op.outputs.end()) {
        return BadInstance(
            absl::StrCat("operator '", op.name, "' reads tensor '", graph.tensors[tensor].name, "', which it writes"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyOutputs(const StepGraph& graph, const StepOp& op) {
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const StepTensorId tensor = op.outputs[i];
    if (!graph.tensors.contains(tensor)) {
      return BadInstance(
          absl::StrCat("operator '", op.name, "' writes tensor ", tensor.value(), ", which is not there"));
    }
    const StepTensor& written = graph.tensors[tensor];
    if (std::find(op.outputs.begin(), op.outputs.begin() + static_cast<std::ptrdiff_t>(i), tensor) !=
        op.outputs.begin() + static_cast<std::ptrdiff_t>(i)) {
      return BadInstance(absl::StrCat("operator '", op.name, "' writes tensor '", written.name, "' twice"));
    }
    if (written.kind == StepTensorKind::kInput) {
      return BadInstance(absl::StrCat("operator '", op.name, "' writes the input '", written.name, "'"));
    }
    if (written.kind != StepTensorKind::kActivation && op.kind != StepOpKind::kBackward) {
      return BadInstance(
          absl::StrCat("operator '", op.name, "' writes gradient '", written.name, "': only a backward operator may"));
    }
  }
  return absl::OkStatus();
}

// Runs everything that can run, without ever freeing, required operators in the lowest legal order. What is left
// cannot run in any schedule.
class Reachability {
 public:
  explicit Reachability(const StepGraph& graph)
      : graph_(graph),
        available_(graph.tensors.size()),
        ran_(graph.ops.size()),
        readers_(graph.tensors.size()),
        missing_(graph.ops.size()),
        pending_writers_(graph.tensors.size()) {
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const StepOpId id(static_cast<int32_t>(i));
      const StepOp& op = graph.ops[id];
      missing_[i] = static_cast<int>(op.inputs.size());
      for (size_t entry = 0; entry < op.inputs.size(); ++entry) {
        for (StepTensorId tensor : op.inputs[entry]) readers_[tensor.index()].push_back({id, entry});
      }
      for (StepTensorId tensor : op.outputs) ++pending_writers_[tensor.index()];
      satisfied_.emplace_back(op.inputs.size(), false);
    }
  }

  // The order of required operators; shorter than their number when some can never run.
  std::vector<StepOpId> Run() {
    for (size_t i = 0; i < missing_.size(); ++i) {
      if (missing_[i] == 0) Enqueue(StepOpId(static_cast<int32_t>(i)));
    }
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const StepTensorId id(static_cast<int32_t>(i));
      if (graph_.tensors[id].kind == StepTensorKind::kInput) MakeAvailable(id);
    }
    std::vector<StepOpId> order;
    for (;;) {
      const bool forward_left = !forward_.empty();
      if (!forward_left && required_.empty()) return order;
      const StepOpId op = forward_left ? forward_.front() : required_.top();
      if (forward_left) {
        forward_.pop();
      } else {
        required_.pop();
        order.push_back(op);
      }
      Execute(op);
    }
  }

  bool ran(StepOpId op) const { return ran_[op.index()]; }

 private:
  struct Reader {
    StepOpId op;
    size_t entry;
  };

  void Enqueue(StepOpId op) {
    if (graph_.ops[op].kind == StepOpKind::kForward) {
      forward_.push(op);
    } else {
      required_.push(op);
    }
  }

  void Execute(StepOpId op) {
    ran_[op.index()] = true;
    for (StepTensorId tensor : graph_.ops[op].outputs) {
      const bool last_writer = --pending_writers_[tensor.index()] == 0;
      // A gradient may be read once it is complete, an activation as soon as anything has written it.
      if (last_writer || graph_.tensors[tensor].kind == StepTensorKind::kActivation) MakeAvailable(tensor);
    }
  }

  void MakeAvailable(StepTensorId tensor) {
    if (available_[tensor.index()]) return;
    available_[tensor.index()] = true;
    for (const Reader& reader : readers_[tensor.index()]) {
      const auto op = reader.op.index();
      if (satisfied_[op][reader.entry]) continue;
      satisfied_[op][reader.entry] = true;
      if (--missing_[op] == 0) Enqueue(reader.op);
    }
  }

  const StepGraph& graph_;
  std::vector<bool> available_;
  std::vector<bool> ran_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<int> missing_;
  std::vector<int> pending_writers_;
  std::vector<std::vector<bool>> satisfied_;
  std::queue<StepOpId> forward_;
  std::priority_queue<StepOpId, std::vector<StepOpId>, std::greater<>> required_;
};

// Operators that must run, and those that make what needed ones read, in any of its forms.
std::vector<bool> NeededOps(const StepGraph& graph) {
  std::vector<std::vector<StepOpId>> writers(graph.tensors.size());
  std::vector<bool> needed(graph.ops.size(), false);
  std::vector<StepOpId> open;
  const auto need = [&](StepOpId op) {
    if (needed[op.index()]) return;
    needed[op.index()] = true;
    open.push_back(op);
  };
  for (StepOpId op(0); graph.ops.contains(op); op = StepOpId(op.value() + 1)) {
    for (StepTensorId tensor : graph.ops[op].outputs) writers[tensor.index()].push_back(op);
    if (graph.ops[op].kind != StepOpKind::kForward) need(op);
  }
  while (!open.empty()) {
    const StepOpId op = open.back();
    open.pop_back();
    for (const std::vector<StepTensorId>& forms : graph.ops[op].inputs) {
      for (StepTensorId tensor : forms) {
        for (StepOpId writer : writers[tensor.index()]) need(writer);
      }
    }
  }
  return needed;
}

// Of each group the cheapest, of the operators that `counts` takes.
template <class Counts>
int64_t CostOfEachOnce(const StepGraph& graph, Counts counts) {
  int64_t total = 0;
  std::map<std::string, int64_t> cheapest;
  for (StepOpId id(0); graph.ops.contains(id); id = StepOpId(id.value() + 1)) {
    if (!counts(id)) continue;
    const StepOp& op = graph.ops[id];
    if (op.group.empty()) {
      total += op.cost;
      continue;
    }
    auto [it, inserted] = cheapest.emplace(op.group, op.cost);
    if (!inserted) it->second = std::min(it->second, op.cost);
  }
  for (const auto& [group, cost] : cheapest) total += cost;
  return total;
}

}  // namespace

absl::Status VerifyStepGraph(const StepGraph& graph) {
  constexpr size_t kMostItems = std::numeric_limits<int32_t>::max() / 2;
  if (graph.tensors.size() > kMostItems || graph.ops.size() > kMostItems) return BadInstance("too many tensors");
  RETURN_IF_ERROR(VerifySums(graph));
  for (const StepOp& op : graph.ops) {
    RETURN_IF_ERROR(VerifyInputs(graph, op));
    RETURN_IF_ERROR(VerifyOutputs(graph, op));
  }
  Reachability reachability(graph);
  reachability.Run();
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const StepOpId id(static_cast<int32_t>(i));
    if (graph.ops[id].kind != StepOpKind::kForward && !reachability.ran(id)) {
      return BadInstance(absl::StrCat("operator '", graph.ops[id].name, "' can never run: an input is never made"));
    }
  }
  const std::vector<StepOpId> order = RequiredOrder(graph);
  const bool ordered =
      std::any_of(graph.ops.begin(), graph.ops.end(), [](const StepOp& op) { return op.kind == StepOpKind::kOrdered; });
  if (ordered && !std::is_sorted(order.begin(), order.end())) {
    return BadInstance("operators are not listed in an order in which they can run");
  }
  return absl::OkStatus();
}

int64_t OnceCost(const StepGraph& graph) {
  return CostOfEachOnce(graph, [](StepOpId) { return true; });
}

int64_t NeededOnceCost(const StepGraph& graph) {
  const std::vector<bool> needed = NeededOps(graph);
  return CostOfEachOnce(graph, [&](StepOpId op) { return needed[op.index()]; });
}

std::vector<StepOpId> RequiredOrder(const StepGraph& graph) { return Reachability(graph).Run(); }

}  // namespace onnx_mem
