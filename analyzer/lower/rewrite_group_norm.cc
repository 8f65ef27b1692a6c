// nn.GroupNorm has no operator in the opsets that TorchScript exports write: it becomes an instance normalisation of
// the groups between two reshapes, then a product and a sum with the stretched scale and shift. The framework runs one
// group_norm, which saves its input and two numbers per group (aten/src/ATen/native/group_norm.cpp).
//
//   reshape [N,G,-1] -> instance_norm -> reshape [N,C,...] -> mul(scale) -> add(shift)    group_norm {groups: G}
#include <optional>

#include "analyzer/lower/match.h"
#include "analyzer/lower/rewrites.h"

namespace onnx_mem {
namespace {

// The stored vector behind a scale that was unsqueezed or reshaped to broadcast over the channels. `views` gets the
// operators on the way.
TensorId StoredVector(const Draft& draft, TensorId id, std::vector<NodeId>& views) {
  while (id.valid()) {
    if (draft.kind(id) == TensorKind::kParameter || draft.kind(id) == TensorKind::kBuffer) return id;
    const NodeId view = draft.producer(id);
    if (!view.valid() || draft.OnlyReader(id) == NodeId()) return TensorId();
    const std::string& op = draft.node(view).op;
    if (op != "unsqueeze" && op != "reshape" && op != "squeeze") return TensorId();
    views.push_back(view);
    id = draft.node(view).inputs[0];
  }
  return TensorId();
}

// The operator `op` that alone reads `from`, if its other operand is a stored vector of `channels` elements.
struct AffineStep {
  NodeId node;
  TensorId vector;
};

std::optional<AffineStep> NextAffine(const Draft& draft, TensorId from, std::string_view op, int64_t channels,
                                     std::vector<NodeId>& nodes) {
  const NodeId node = OnlyReaderIf(draft, from, op);
  if (!node.valid()) return std::nullopt;
  std::vector<NodeId> views;
  const TensorId vector = StoredVector(draft, OtherOperand(draft.node(node), from), views);
  if (!vector.valid() || NumElements(draft.tensor(vector).shape) != channels) return std::nullopt;
  nodes.insert(nodes.end(), views.begin(), views.end());
  nodes.push_back(node);
  return AffineStep{node, vector};
}

bool FuseAt(Draft& draft, NodeId norm) {
  if (draft.node(norm).op != "instance_norm" || draft.node(norm).inputs.size() != 1) return false;
  const NodeId split = draft.ProducerIf(draft.node(norm).inputs[0], "reshape");
  const NodeId merge = OnlyReaderIf(draft, draft.node(norm).outputs[0], "reshape");
  if (!split.valid() || !merge.valid() || draft.OnlyReader(draft.node(norm).inputs[0]) != norm) return false;
  const TensorId x = draft.node(split).inputs[0];
  TensorId result = draft.node(merge).outputs[0];
  const Shape& shape = draft.tensor(x).shape;
  const Shape& grouped = draft.tensor(draft.node(norm).inputs[0]).shape;
  if (shape.rank() < 2 || grouped.rank() != 3 || draft.tensor(result).shape != shape) return false;
  std::vector<NodeId> nodes = {split, norm, merge};
  std::vector<TensorId> inputs = {x};
  if (const auto scale = NextAffine(draft, result, "mul", shape.dims[1], nodes)) {
    inputs.push_back(scale->vector);
    result = draft.node(scale->node).outputs[0];
    if (const auto shift = NextAffine(draft, result, "add", shape.dims[1], nodes)) {
      inputs.push_back(shift->vector);
      result = draft.node(shift->node).outputs[0];
    }
  }
  Node fused = MakeNode("group_norm", std::move(inputs), {result});
  fused.attributes["groups"] = grouped.dims[1];
  Replace(draft, nodes, std::move(fused), draft.rank(nodes.back()));
  return true;
}

}  // namespace

int64_t FuseGroupNorm(Lowering& lowering) {
  int64_t count = 0;
  for (NodeId id : lowering.draft.InOrder()) {
    if (lowering.draft.alive(id) && FuseAt(lowering.draft, id)) ++count;
  }
  return count;
}

}  // namespace onnx_mem
