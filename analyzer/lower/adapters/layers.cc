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
  const FrameworkNode* maker = lowered.graph.MakerOf(id);
  if (maker == nullptr || maker->op != "permute" || maker->inputs.empty()) return TensorId();
  return IsParameter(lowered, maker->inputs[0]) ? maker->inputs[0] : TensorId();
}

bool IsFourBitLinear(const FrameworkNode& node) { return node.op == "packed_linear"; }

bool IsEightBitLinear(const FrameworkNode& node) { return node.op == "int8_linear"; }

}  // namespace onnx_mem
