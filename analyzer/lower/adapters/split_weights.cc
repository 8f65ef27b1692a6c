#include "analyzer/lower/adapters/split_weights.h"

#include "analyzer/lower/adapters/split_rules.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {

TensorId SplitWeightOf(const Lowered& lowered, const IdVector<NodeId, FrameworkNode>& nodes,
                       const FrameworkNode& node) {
  if (node.op != "embedding" && (!IsProduct(node.op) || node.inputs.size() < 2)) return TensorId();
  const auto stored = [&](TensorId id) {
    const bool is = id.valid() && lowered.kinds[id] == TensorKind::kParameter;
    return is && lowered.graph.tensors[id].shape.rank() == 2 ? id : TensorId();
  };
  const TensorId id = node.op == "embedding" ? node.inputs[0] : node.inputs[1];
  if (!id.valid() || lowered.kinds[id] == TensorKind::kParameter) return stored(id);
  const NodeId maker = lowered.graph.tensors[id].producer;
  return maker.valid() && nodes[maker].op == "permute" ? stored(nodes[maker].inputs[0]) : TensorId();
}

int SplitAxisOf(const FrameworkNode& node, TensorId weight, TensorStyle style) {
  if (node.op == "embedding") return style == TensorStyle::kEmbedding ? 0 : 1;
  auto axis = static_cast<int>(OutputAxisOf(node));
  if (node.inputs[1] != weight) axis = 1 - axis;  // stored the other way round
  return style == TensorStyle::kRowwise ? 1 - axis : axis;
}

}  // namespace onnx_mem
