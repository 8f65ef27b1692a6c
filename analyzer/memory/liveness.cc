#include "analyzer/memory/liveness.h"

#include <algorithm>
#include <utility>

#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

// A tensor's storage: that of `owner`, alive over [begin, end).
struct StorageLife {
  TensorId owner;
  int begin = 0;
  int end = 0;
  bool fixed = false;   // input or weight: alive throughout
  bool output = false;  // alive to the end
};

class Liveness {
 public:
  Liveness(const Graph& graph, const LivenessRules& rules)
      : graph_(graph),
        rules_(rules),
        num_steps_(std::max(1, static_cast<int>(graph.nodes.size()))),
        storage_of_(graph.tensors.size()),
        storages_(graph.tensors.size()) {}

  MemoryProgram Run() {
    for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
      storage_of_[id] = id;
      storages_[id].owner = id;
    }
    StartFixed();
    for (NodeId node(0); graph_.nodes.contains(node); node = NodeId(node.value() + 1)) StartAndRead(node);
    for (TensorId id : graph_.outputs) {
      if (!graph_.tensors.contains(id)) continue;
      StorageLife& storage = StorageOf(id);
      storage.output = true;
      storage.end = num_steps_;
    }
    if (rules_.may_overwrite) {
      for (NodeId node(0); graph_.nodes.contains(node); node = NodeId(node.value() + 1)) OverwriteInput(node);
    }
    return BuildProgram();
  }

 private:
  TensorId RootOf(TensorId id) const {
    while (storage_of_[id] != id) id = storage_of_[id];
    return id;
  }
  StorageLife& StorageOf(TensorId id) { return storages_[RootOf(id)]; }

  void StartFixed() {
    for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
      if (graph_.tensors[id].role == TensorRole::kActivation) continue;
      storages_[id].fixed = true;
      storages_[id].end = num_steps_;
    }
  }

  bool IsView(const Node& node) const {
    return rules_.is_view && !node.inputs.empty() && node.inputs[0].valid() && rules_.is_view(node);
  }

  // The node's reads keep storages alive up to it, its outputs begin here.
  void StartAndRead(NodeId id) {
    const Node& node = graph_.nodes[id];
    ForEachRead(node, [&](TensorId input) {
      if (input.valid()) StorageOf(input).end = std::max(StorageOf(input).end, id.value() + 1);
    });
    for (TensorId output : node.outputs) {
      if (!output.valid() || storages_[output].fixed) continue;
      storages_[output].begin = id.value();
      storages_[output].end = id.value() + 1;
      if (IsView(node)) storage_of_[output] = RootOf(node.inputs[0]);
    }
  }

  // Where the first input's storage ends with this node and has the first output's size, both are one storage.
  void OverwriteInput(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.inputs.empty() || node.outputs.empty() || !node.inputs[0].valid() || !node.outputs[0].valid()) return;
    const TensorId from = RootOf(node.inputs[0]);
    const TensorId to = RootOf(node.outputs[0]);
    if (from == to || storages_[from].fixed || storages_[to].fixed || storages_[from].output) return;
    if (storages_[from].end != id.value() + 1 || !rules_.may_overwrite(node)) return;
    const std::optional<int64_t> bytes = BytesOf(from);
    if (!bytes || *bytes == 0 || bytes != BytesOf(to)) return;
    storages_[from].end = storages_[to].end;
    storages_[from].output = storages_[to].output;
    storage_of_[to] = from;
  }

  // nullopt: unknown.
  std::optional<int64_t> BytesOf(TensorId id) const {
    const Tensor& tensor = graph_.tensors[id];
    if (tensor.role == TensorRole::kActivation && tensor.value != nullptr) return 0;
    return NumBytes(tensor.shape, tensor.dtype);
  }

  MemoryProgram BuildProgram() const {
    MemoryProgram program;
    for (const Node& node : graph_.nodes) {
      Step step;
      step.op = node.op;
      step.node = node.name;
      program.steps.Add(std::move(step));
    }
    if (program.steps.empty()) program.steps.Add({});
    for (TensorId id : InOrderOfAllocation()) {
      if (std::optional<Buffer> buffer = BufferOf(id)) program.buffers.Add(*std::move(buffer));
    }
    return program;
  }

  TensorIds InOrderOfAllocation() const {
    TensorIds order;
    for (const StorageLife& storage : storages_) {
      if (storage.end > storage.begin && storage_of_[storage.owner] == storage.owner) order.push_back(storage.owner);
    }
    StableSort(order, [&](TensorId a, TensorId b) {
      return std::pair(!storages_[a].fixed, storages_[a].begin) < std::pair(!storages_[b].fixed, storages_[b].begin);
    });
    return order;
  }

  std::optional<Buffer> BufferOf(TensorId id) const {
    const Tensor& tensor = graph_.tensors[id];
    const std::optional<Category> category = InferenceCategory(tensor, rules_.weight_category);
    const std::optional<int64_t> bytes = BytesOf(id);
    if (!category || bytes == 0) return std::nullopt;
    Buffer buffer;
    buffer.name = tensor.name;
    buffer.category = *category;
    buffer.bytes = bytes.value_or(0);
    buffer.begin = StepId(storages_[id].begin);
    buffer.end = StepId(storages_[id].end);
    buffer.dims = tensor.shape.dims;
    buffer.dtype = tensor.dtype;
    buffer.assumed = !bytes.has_value() || tensor.upper_bound;
    return buffer;
  }

  const Graph& graph_;
  const LivenessRules& rules_;
  const int num_steps_;
  IdVector<TensorId, TensorId> storage_of_;   // towards the tensor that owns the storage
  IdVector<TensorId, StorageLife> storages_;  // of owners
};

}  // namespace

MemoryProgram ComputeLiveness(const Graph& graph, const LivenessRules& rules) { return Liveness(graph, rules).Run(); }

}  // namespace onnx_mem
