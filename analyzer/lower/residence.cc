#include "analyzer/lower/residence.h"

#include <algorithm>

#include "analyzer/lower/parameters.h"
#include "analyzer/lower/table.h"

namespace onnx_mem {
namespace {

void Demand(const Graph& graph, const Node& node, Residence& residence) {
  const TableRow* row = FindRow(node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId input = node.inputs[i];
    if (!input.valid()) continue;
    const SlotKind slot = row ? row->slots.kind(i) : SlotKind::kDevice;
    if (slot == SlotKind::kShapeOnly) continue;
    if (slot == SlotKind::kHost) {
      if (graph.tensors[input].value != nullptr) continue;
      if (!residence.on_device[input]) residence.read_back.push_back(input);
    } else if (IsPythonNumber(graph, input)) {
      continue;
    }
    residence.on_device[input] = true;
  }
  for (TensorId capture : node.captures) {
    if (!IsPythonNumber(graph, capture)) residence.on_device[capture] = true;
  }
}

}  // namespace

bool IsPythonNumber(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  if (tensor.value == nullptr || tensor.dtype == DType::kString) return false;
  if (!std::all_of(tensor.shape.dims.begin(), tensor.shape.dims.end(), [](int64_t d) { return d == 1; })) return false;
  switch (tensor.role) {
    case TensorRole::kConstant: return true;
    case TensorRole::kInitializer:
      return IsExporterName(tensor.name) || (!IsFloating(tensor.dtype) && tensor.shape.rank() == 0);
    case TensorRole::kActivation: return tensor.shape.rank() == 0;
    case TensorRole::kInput: return false;
  }
  return false;
}

Residence FindResidence(const Graph& graph) {
  Residence residence;
  residence.runs = IdVector<NodeId, bool>(graph.nodes.size());
  residence.on_device = IdVector<TensorId, bool>(graph.tensors.size());
  for (TensorId output : graph.outputs) residence.on_device[output] = true;
  for (int32_t i = static_cast<int32_t>(graph.nodes.size()) - 1; i >= 0; --i) {
    const NodeId id(i);
    const Node& node = graph.nodes[id];
    const bool runs = std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId output) {
      return output.valid() && residence.on_device[output];
    });
    if (!runs) continue;
    residence.runs[id] = true;
    Demand(graph, node, residence);
  }
  return residence;
}

}  // namespace onnx_mem
