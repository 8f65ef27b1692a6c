#include "analyzer/assume/table/kept_tables.h"

#include <algorithm>
#include <utility>

#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

bool IsStoredNumber(const Lowered& lowered, TensorId id) {
  const Tensor& tensor = lowered.graph.tensors[id];
  const TensorKind kind = lowered.kinds[id];
  return !tensor.producer.valid() && tensor.role != TensorRole::kInput &&
         (kind == TensorKind::kBuffer || kind == TensorKind::kHost);
}

class KeptTables {
 public:
  explicit KeptTables(Lowered& lowered)
      : lowered_(lowered),
        graph_(lowered.graph),
        of_numbers_(graph_.nodes.size(), false),
        is_read_(graph_.tensors.size(), false) {
    for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) of_numbers_[id] = IsOfNumbers(id);
  }

  bool Keep() {
    for (TensorId id : graph_.outputs) is_read_[id] = true;
    bool any = false;
    for (NodeId id(static_cast<int32_t>(graph_.nodes.size()) - 1); id.valid(); id = NodeId(id.value() - 1)) {
      const FrameworkNode& node = graph_.nodes[id];
      const bool computes = of_numbers_[id] && !IsView(node.op);
      if (computes) {
        any |= Store(id);
      } else if (!of_numbers_[id] || IsRead(node)) {
        for (TensorId input : node.inputs) {
          if (input.valid()) is_read_[input] = true;
        }
      }
    }
    if (any) FreeUnread();
    return any;
  }

 private:
  bool IsOfNumbers(NodeId id) const {
    const FrameworkNode& node = graph_.nodes[id];
    if (node.op == "random" || node.op == "dequantize") return false;  // of which the point is to make it anew
    return node.outputs.size() == 1 && node.outputs[0].valid() &&
           std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
             if (!input.valid()) return true;
             const NodeId maker = graph_.tensors[input].producer;
             return maker.valid() ? bool{of_numbers_[maker]} : IsStoredNumber(lowered_, input);
           });
  }

  bool IsRead(const FrameworkNode& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](TensorId id) { return id.valid() && is_read_[id]; });
  }

  // What the node makes lies in a buffer if anything else reads it, else nothing does.
  bool Store(NodeId id) {
    FrameworkNode& node = graph_.nodes[id];
    const bool is_read = IsRead(node);
    Tensor buffer = graph_.tensors[node.outputs[0]];
    if (!is_read) buffer.shape = Shape(Dims(buffer.shape.rank(), 0));
    buffer.producer = NodeId();
    buffer.consumers = {id};
    buffer.role = TensorRole::kInitializer;
    const TensorId stored = graph_.tensors.Add(std::move(buffer));
    lowered_.kinds.Add(TensorKind::kBuffer);
    if (!lowered_.releases.empty()) lowered_.releases.Add(id.value());
    node.op = "identity";
    node.attributes.clear();
    node.inputs = {stored};
    return is_read;
  }

  // Numbers of the file that were for these alone.
  void FreeUnread() {
    for (TensorId id(0); is_read_.size() > id.index(); id = TensorId(id.value() + 1)) {
      const Tensor& tensor = graph_.tensors[id];
      if (is_read_[id] || tensor.consumers.empty() || lowered_.kinds[id] != TensorKind::kBuffer) continue;
      if (IsStoredNumber(lowered_, id)) lowered_.kinds[id] = TensorKind::kHost;
    }
  }

  Lowered& lowered_;
  FrameworkGraph& graph_;
  IdVector<NodeId, bool> of_numbers_;
  IdVector<TensorId, bool> is_read_;  // by what is left
};

}  // namespace

bool KeepTables(Lowered& lowered) { return KeptTables(lowered).Keep(); }

}  // namespace onnx_mem
