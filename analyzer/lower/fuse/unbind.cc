// unbind: one operator with one backward (a stack), exported as Split into pieces of one and a Squeeze of each.
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// The squeezes of all pieces of `split`, in order; empty if some piece is read otherwise.
NodeIds Squeezes(const Draft& draft, NodeId split) {
  const Node& node = draft.node(split);
  const int64_t axis = IntAttribute(node, "axis", 0);
  NodeIds squeezes;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorId piece = node.outputs[i];
    if (IntsAttribute(node, "sizes")[i] != 1) return {};
    if (piece.valid() && draft.readers(piece).empty() && !draft.IsOutput(piece)) {
      squeezes.push_back(NodeId());
      continue;
    }
    const NodeId reader = piece.valid() ? OnlyReaderIf(draft, piece, "squeeze") : NodeId();
    if (!reader.valid() || !SameCall(draft.node(reader), node)) return {};
    if (IntsAttribute(draft.node(reader), "axes") != std::vector<int64_t>{axis}) return {};
    squeezes.push_back(reader);
  }
  return squeezes;
}

}  // namespace

int64_t FuseUnbind(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "split") continue;
    NodeIds nodes = Squeezes(draft, id);
    if (nodes.empty()) continue;
    TensorIds outputs;
    for (NodeId squeeze : nodes) outputs.push_back(squeeze.valid() ? draft.node(squeeze).outputs[0] : TensorId());
    EraseIf(nodes, [](NodeId squeeze) { return !squeeze.valid(); });
    if (nodes.empty()) continue;
    nodes.push_back(id);
    Node unbind = MakeNode("unbind", {draft.node(id).inputs[0]}, std::move(outputs));
    unbind.attributes["axis"] = IntAttribute(draft.node(id), "axis", 0);
    const Rank rank = draft.rank(id);
    Replace(draft, nodes, std::move(unbind), rank);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
