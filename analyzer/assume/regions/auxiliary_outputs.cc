#include "analyzer/assume/regions/auxiliary_outputs.h"

#include <algorithm>

#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

bool IsAuxiliary(const Tensor& output, const Tensor& first) {
  return output.producer.valid() && IsFloating(output.dtype) && output.shape.known() && first.shape.known() &&
         output.shape.rank() >= 2 && output.shape.rank() == first.shape.rank() &&
         output.shape.dims[1] == first.shape.dims[1];
}

// The nodes that lead to none of `outputs`, in order.
NodeIds NodesBeside(const FrameworkGraph& graph, const TensorIds& outputs) {
  IdVector<TensorId, bool> is_read(graph.tensors.size(), false);
  for (TensorId id : outputs) is_read[id] = true;
  NodeIds beside;
  for (NodeId id(static_cast<int32_t>(graph.nodes.size()) - 1); id.valid(); id = NodeId(id.value() - 1)) {
    const FrameworkNode& node = graph.nodes[id];
    const bool leads = std::any_of(node.outputs.begin(), node.outputs.end(),
                                   [&](TensorId made) { return made.valid() && is_read[made]; });
    if (!leads) beside.push_back(id);
    for (TensorId input : leads ? node.inputs : TensorIds()) {
      if (input.valid()) is_read[input] = true;
    }
  }
  return beside;
}

// A view can stand for it.
bool IsReplaceable(const FrameworkNode& node) {
  return IsView(node.op) || (node.outputs.size() == 1 && !node.inputs.empty() && node.inputs[0].valid());
}

}  // namespace

bool LeaveOutAuxiliary(Lowered& lowered) {
  FrameworkGraph& graph = lowered.graph;
  if (graph.outputs.size() < 2) return false;
  TensorIds left = {graph.outputs[0]}, auxiliary;
  for (size_t i = 1; i < graph.outputs.size(); ++i) {
    const TensorId id = graph.outputs[i];
    (IsAuxiliary(graph.tensors[id], graph.tensors[left[0]]) ? auxiliary : left).push_back(id);
  }
  const NodeIds beside = auxiliary.empty() ? NodeIds() : NodesBeside(graph, left);
  const auto node_of = [&](NodeId id) -> const FrameworkNode& { return graph.nodes[id]; };
  if (std::none_of(beside.begin(), beside.end(), [&](NodeId id) { return ReadsWeight(node_of(id).op); })) return false;
  if (!std::all_of(beside.begin(), beside.end(), [&](NodeId id) { return IsReplaceable(node_of(id)); })) return false;
  for (NodeId id : beside) {
    FrameworkNode& node = graph.nodes[id];
    if (IsView(node.op)) continue;
    node.op = "identity";
    node.inputs = {node.inputs[0]};
    node.attributes.clear();
  }
  graph.outputs = left;
  for (TensorId id : auxiliary) {
    int32_t last = graph.tensors[id].producer.value();
    for (NodeId reader : graph.tensors[id].consumers) last = std::max(last, reader.value());
    if (lowered.releases.contains(id)) lowered.releases[id] = last;  // Prepare fills them
  }
  LinkTensors(graph);
  return true;
}

}  // namespace onnx_mem
