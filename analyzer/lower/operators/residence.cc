#include "analyzer/lower/operators/residence.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/table.h"

namespace onnx_mem {
namespace {

// Operators that make a tensor on the device out of nothing: what they give is no number, though it may have one
// element and be known (the positions of a sequence of one token).
constexpr auto kCreators = std::to_array<std::string_view>(
    {"Range", "ConstantOfShape", "EyeLike", "Expand", "Tile", "RandomUniform", "RandomNormal", "OneHot", "Trilu"});

bool HasOneElement(const Tensor& tensor) {
  return std::all_of(tensor.shape.dims.begin(), tensor.shape.dims.end(), [](int64_t d) { return d == 1; });
}

// Shape, Size, and the operand of CastLike that gives the type: the scale of an unoptimised attention is made so of
// shapes alone.
bool ReadsContents(const Node& node, size_t slot) {
  return node.op != "Shape" && node.op != "Size" && (node.op != "CastLike" || slot != 1);
}

// What forward propagation knows of a tensor.
struct Origin {
  IdVector<TensorId, bool> python;     // Python arithmetic on shapes and constants
  IdVector<TensorId, bool> from_data;  // depends on the contents of an input or a weight
};

bool IsNumber(const Graph& graph, const Origin& origin, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  if (tensor.value == nullptr || tensor.dtype == DType::kString || !HasOneElement(tensor)) return false;
  switch (tensor.role) {
    case TensorRole::kConstant: return true;
    case TensorRole::kInitializer:
      return IsExporterName(tensor.name) || (!IsFloating(tensor.dtype) && tensor.shape.rank() == 0);
    // Not c[0] of a parameter, though what a small one holds is known.
    case TensorRole::kActivation: return (tensor.shape.rank() == 0 && !origin.from_data[id]) || origin.python[id];
    case TensorRole::kInput: return false;
  }
  return false;
}

Origin FindOrigin(const Graph& graph) {
  Origin origin{IdVector<TensorId, bool>(graph.tensors.size()), IdVector<TensorId, bool>(graph.tensors.size())};
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph.tensors[id];
    origin.python[id] = tensor.role == TensorRole::kConstant ||
                        (tensor.role == TensorRole::kInitializer && IsNumber(graph, origin, id));
    origin.from_data[id] = tensor.role == TensorRole::kInput ||
                           (tensor.role == TensorRole::kInitializer && !origin.python[id] && IsFloating(tensor.dtype));
  }
  for (const Node& node : graph.nodes) {
    if (node.op == "Constant") continue;
    const bool creator = std::find(kCreators.begin(), kCreators.end(), node.op) != kCreators.end();
    bool python = !creator && node.subgraphs.empty(), from_data = !node.subgraphs.empty();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId input = node.inputs[i];
      if (!input.valid() || !ReadsContents(node, i)) continue;
      python = python && origin.python[input];
      from_data = from_data || origin.from_data[input];
    }
    for (TensorId output : node.outputs) {
      if (!output.valid()) continue;
      origin.python[output] = python && graph.tensors[output].value != nullptr;
      origin.from_data[output] = from_data;
    }
  }
  return origin;
}

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
    } else if (residence.number[input]) {
      continue;
    }
    residence.on_device[input] = true;
  }
  for (TensorId capture : node.captures) {
    if (!residence.number[capture]) residence.on_device[capture] = true;
  }
}

}  // namespace

Residence FindResidence(const Graph& graph) {
  Residence residence;
  residence.runs = IdVector<NodeId, bool>(graph.nodes.size());
  residence.on_device = IdVector<TensorId, bool>(graph.tensors.size());
  residence.number = IdVector<TensorId, bool>(graph.tensors.size());
  Origin origin = FindOrigin(graph);
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    residence.number[id] = IsNumber(graph, origin, id);
  }
  residence.from_data = std::move(origin.from_data);
  for (TensorId output : graph.outputs) residence.on_device[output] = true;
  for (int32_t i = static_cast<int32_t>(graph.nodes.size()) - 1; i >= 0; --i) {
    const NodeId id(i);
    const Node& node = graph.nodes[id];
    const bool runs = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [&](TensorId output) { return output.valid() && residence.on_device[output]; });
    if (!runs) continue;
    residence.runs[id] = true;
    Demand(graph, node, residence);
  }
  return residence;
}

}  // namespace onnx_mem
