#include "analyzer/runtimes/session_plan.h"

#include <algorithm>
#include <list>
#include <utility>

#include "analyzer/order/stable_sort.h"
#include "analyzer/runtimes/execution_order.h"

namespace onnx_mem {
namespace {

bool IsFolded(const Tensor& tensor) { return tensor.role == TensorRole::kActivation && tensor.value != nullptr; }

class SessionPlanner {
 public:
  SessionPlanner(const Graph& graph, const SessionRules& rules)
      : graph_(graph),
        rules_(rules),
        order_(ExecutionOrder(graph)),
        buffer_of_(graph.tensors.size()),
        uses_(graph.tensors.size(), 0),
        begin_(graph.tensors.size(), 0),
        end_(graph.tensors.size(), 0),
        is_output_(graph.tensors.size(), false),
        is_read_(graph.tensors.size(), false) {}

  MemoryProgram Run() {
    for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) buffer_of_[id] = id;
    CountUses();
    for (step_ = 0; step_ < static_cast<int>(order_.size()); ++step_) {
      const Node& node = graph_.nodes[order_[static_cast<size_t>(step_)]];
      PlaceOutputs(node);
      ReleaseInputsAndUnused(node);
    }
    return BuildProgram();
  }

 private:
  template <typename Visit>
  void ForEachInput(const Node& node, Visit visit) const {
    ForEachRead(node, [&](TensorId id) {
      if (id.valid()) visit(id);
    });
  }

  // Readers, plus one for the caller of inputs, weights and graph outputs, plus one that the maker holds while it runs.
  void CountUses() {
    for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
      if (graph_.tensors[id].role != TensorRole::kActivation) ++uses_[id];
    }
    for (const Node& node : graph_.nodes) {
      ForEachInput(node, [&](TensorId id) { ++uses_[id]; });
      for (TensorId id : node.outputs) {
        if (id.valid()) ++uses_[id];
      }
    }
    for (TensorId id : graph_.outputs) {
      if (!id.valid()) continue;
      ++uses_[id];
      is_output_[id] = true;
    }
  }

  void PlaceOutputs(const Node& node) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorId output = node.outputs[i];
      if (!output.valid()) continue;
      begin_[output] = step_;
      end_[output] = step_ + 1;
      if (IsFolded(graph_.tensors[output]) || is_output_[output]) continue;
      TensorId reused = i == 0 ? ReusableInput(node, output) : TensorId();
      if (!reused.valid()) reused = TakeFreed(output);
      if (reused.valid()) Share(reused, output);
    }
  }

  // Whether it can be of the same size as another: of thousands that cannot, none is looked at again and again.
  bool HasSize(TensorId id) const {
    const Tensor& tensor = graph_.tensors[id];
    return (!rules_.knows_shape || rules_.knows_shape(id)) && tensor.shape.known() && tensor.dtype != DType::kUnknown;
  }

  bool SameSize(TensorId a, TensorId b) const {
    if (rules_.knows_shape && !(rules_.knows_shape(a) && rules_.knows_shape(b))) return false;
    const Tensor& left = graph_.tensors[a];
    const Tensor& right = graph_.tensors[b];
    return left.shape.known() && right.shape.known() && left.shape == right.shape && left.dtype != DType::kUnknown &&
           right.dtype != DType::kUnknown && RowOf(left.dtype).bits == RowOf(right.dtype).bits;
  }

  TensorId ReusableInput(const Node& node, TensorId output) const {
    if (rules_.is_view && !node.inputs.empty() && node.inputs[0].valid() && rules_.is_view(node)) return node.inputs[0];
    if (!rules_.overwritable) return TensorId();
    for (int i : rules_.overwritable(node)) {
      if (i >= static_cast<int>(node.inputs.size())) continue;
      const TensorId input = node.inputs[static_cast<size_t>(i)];
      if (input.valid() && uses_[buffer_of_[input]] == 1 && SameSize(input, output)) return input;
    }
    return TensorId();
  }

  TensorId TakeFreed(TensorId output) {
    if (graph_.tensors[output].shape.rank() == 0 || !HasSize(output)) return TensorId();
    const auto entry = std::find_if(freed_.begin(), freed_.end(), [&](TensorId id) { return SameSize(id, output); });
    if (entry == freed_.end()) return TensorId();
    const TensorId id = *entry;
    freed_.erase(entry);
    return id;
  }

  void Share(TensorId reused, TensorId output) {
    const TensorId original = buffer_of_[reused];
    buffer_of_[output] = original;
    uses_[original] += uses_[output];
    end_[original] = std::max(end_[original], end_[output]);
  }

  void Release(TensorId id) {
    const TensorId original = buffer_of_[id];
    end_[original] = std::max(end_[original], step_ + 1);
    if (--uses_[original] == 0 && HasSize(original)) freed_.push_front(original);
  }

  void ReleaseInputsAndUnused(const Node& node) {
    ForEachInput(node, [&](TensorId id) {
      is_read_[buffer_of_[id]] = true;
      Release(id);
    });
    for (TensorId id : node.outputs) {
      if (id.valid()) Release(id);
    }
  }

  std::optional<Buffer> BufferOf(TensorId id, int num_steps) const {
    const Tensor& tensor = graph_.tensors[id];
    const std::optional<Category> category = InferenceCategory(tensor, rules_.weight_category);
    const std::optional<int64_t> bytes = IsFolded(tensor) ? 0 : NumBytes(tensor.shape, tensor.dtype);
    const bool fixed = tensor.role != TensorRole::kActivation;
    if (!category || bytes == 0 || (!fixed && end_[id] <= begin_[id])) return std::nullopt;
    Buffer buffer;
    buffer.name = tensor.name;
    buffer.category = *category;
    buffer.bytes = bytes.value_or(0);
    buffer.begin = StepId(fixed ? 0 : begin_[id]);
    // A buffer that no node reads is released by no node (GenerateDeallocationPlan follows the readers).
    buffer.end = StepId(fixed || is_output_[id] || !is_read_[id] ? num_steps : end_[id]);
    buffer.dims = tensor.shape.dims;
    buffer.dtype = tensor.dtype;
    buffer.assumed = !bytes.has_value() || tensor.upper_bound;
    const size_t dot = tensor.name.rfind('.');
    if (fixed && dot != std::string::npos) buffer.module = tensor.name.substr(0, dot);
    if (is_output_[id]) buffer.kept_by = "output of the graph";
    return buffer;
  }

  // In the order of allocation: behind all that begins at its step.
  void AddScratch(MemoryProgram& program) const {
    for (size_t step = 0; step < order_.size(); ++step) {
      const Node& node = graph_.nodes[order_[step]];
      const int64_t bytes = rules_.scratch_bytes(graph_, node);
      if (bytes <= 0) continue;
      Buffer scratch;
      scratch.name = "scratch of " + node.op.str();
      scratch.category = Category::kWorkspace;
      scratch.bytes = bytes;
      scratch.begin = StepId(static_cast<int32_t>(step));
      scratch.end = StepId(static_cast<int32_t>(step) + 1);
      program.buffers.Add(std::move(scratch));
    }
  }

  MemoryProgram BuildProgram() const {
    MemoryProgram program;
    for (NodeId id : order_) {
      const Node& node = graph_.nodes[id];
      Step step;
      step.op = node.op;
      step.node = node.name;
      program.steps.Add(std::move(step));
    }
    if (program.steps.empty()) program.steps.Add({});
    TensorIds order;
    for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
      if (buffer_of_[id] == id) order.push_back(id);
    }
    const auto start = [&](TensorId id) {
      const bool fixed = graph_.tensors[id].role != TensorRole::kActivation;
      return std::pair(!fixed, fixed ? 0 : begin_[id]);
    };
    StableSort(order, [&](TensorId a, TensorId b) { return start(a) < start(b); });
    for (TensorId id : order) {
      if (std::optional<Buffer> buffer = BufferOf(id, static_cast<int>(program.steps.size()))) {
        program.buffers.Add(*std::move(buffer));
      }
    }
    if (rules_.scratch_bytes) AddScratch(program);
    return program;
  }

  const Graph& graph_;
  const SessionRules& rules_;
  const NodeIds order_;
  int step_ = 0;                            // into order_
  IdVector<TensorId, TensorId> buffer_of_;  // the tensor whose buffer it is
  IdVector<TensorId, int> uses_;
  IdVector<TensorId, int> begin_;
  IdVector<TensorId, int> end_;
  IdVector<TensorId, bool> is_output_;
  IdVector<TensorId, bool> is_read_;  // whether a node reads of the buffer
  std::list<TensorId> freed_;         // buffers that nobody reads any more, the latest first
};

}  // namespace

MemoryProgram PlanSession(const Graph& graph, const SessionRules& rules) { return SessionPlanner(graph, rules).Run(); }

}  // namespace onnx_mem
