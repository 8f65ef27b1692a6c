// torch.roll as TorchScript exports it: two slices of a tensor along one axis, joined the other way round. The slices
// would be views with a full-size gradient each; roll is one copy, and one copy back.
//
//   x[s:] , x[:s] -> cat -> roll
//
// Rolling several axes is one operator in the framework, exported as one such pair per axis. Along an axis that is
// rolled by nothing the first slice is x itself and the second is empty: torch.roll(x, (0, -3), (1, 2)) of video
// windows.
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// The tensor that `cat` rolls, and the nodes that do it; invalid if it is no roll.
TensorId MatchRoll(const Draft& draft, NodeId cat, std::vector<NodeId>& nodes) {
  const Node& node = draft.node(cat);
  if (node.op != "cat" || node.inputs.size() != 2) return TensorId();
  const Piece tail = ReadPiece(draft, draft.producer(node.inputs[0])),
              head = ReadPiece(draft, draft.producer(node.inputs[1]));
  const bool by_nothing = head.of.valid() && head.of == node.inputs[0] && head.axis == IntAttribute(node, "axis", -1) &&
                          draft.tensor(node.inputs[1]).shape.dims[static_cast<size_t>(head.axis)] == 0;
  if (by_nothing && draft.OnlyReader(node.inputs[1]) == cat) {
    nodes = {draft.producer(node.inputs[1]), cat};
    return head.of;
  }
  if (!tail.of.valid() || tail.of != head.of || tail.axis != head.axis || tail.axis != IntAttribute(node, "axis", -1)) {
    return TensorId();
  }
  const Dims& dims = draft.tensor(tail.of).shape.dims;
  const bool whole = head.start == 0 && head.end == tail.start && tail.end == dims[static_cast<size_t>(tail.axis)];
  if (!whole || tail.start == 0) return TensorId();
  for (TensorId piece : node.inputs) {
    if (draft.OnlyReader(piece) != cat || !SameCall(draft.node(draft.producer(piece)), node)) return TensorId();
    nodes.push_back(draft.producer(piece));
  }
  nodes.push_back(cat);
  return tail.of;
}

}  // namespace

int64_t FuseRoll(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (!draft.alive(id)) continue;
    std::vector<NodeId> nodes;
    TensorId x = MatchRoll(draft, id, nodes);
    if (!x.valid()) continue;
    // The axis before, already one roll, if nobody else reads its result.
    const NodeId before = draft.ProducerIf(x, "roll");
    if (before.valid() && SameCall(draft.node(before), draft.node(id)) && draft.readers(x).size() == 2) {
      x = draft.node(before).inputs[0];
      nodes.insert(nodes.begin(), before);
    }
    Node roll = MakeNode("roll", {x}, draft.node(id).outputs);
    const Rank rank = draft.rank(id);
    Replace(draft, nodes, std::move(roll), rank);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
