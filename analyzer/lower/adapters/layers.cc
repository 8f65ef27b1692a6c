#include "analyzer/lower/adapters/layers.h"

#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

bool IsParameter(const Lowered& lowered, TensorId id) {
  return id.valid() && lowered.kinds[id] == TensorKind::kParameter;
}

}  // namespace

TensorId ParameterBehind(const Lowered& lowered, TensorId id) {
  if (!id.valid()) return id;
  if (IsParameter(lowered, id)) return id;
  const NodeId producer = lowered.graph.tensors[id].producer;
  if (!producer.valid()) return TensorId();
  const Node& node = lowered.graph.nodes[producer];
  if (node.op != "permute" || node.inputs.empty()) return TensorId();
  return IsParameter(lowered, node.inputs[0]) ? node.inputs[0] : TensorId();
}

bool IsFourBitLinear(const Node& node) { return node.op == "packed_linear"; }

bool IsEightBitLinear(const Node& node) { return node.op == "int8_linear"; }

}  // namespace onnx_mem
