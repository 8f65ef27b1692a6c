// The graph of a session while its optimizer changes it: which nodes are gone and which pass made one. Nodes keep their
// ids until Compacted; what is gone stays where it was, and the readers of its results are not changed.
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_SESSION_EDITS_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_SESSION_EDITS_H_

#include <optional>
#include <utility>
#include <vector>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// In the order in which the session runs them (graph_transformer_utils.cc): nodes that a pass makes are numbered behind
// all that were there, and the order of execution hangs on the numbers.
enum class SessionPass {
  kOfTheFile,
  kGemmActivation,
  kIntegerProduct,
  kConvActivation,
  kGelu,
  kGather,
  kBiasGelu,
  kFastGelu,
  kQuickGelu,
  kMatMulScale,
};

class SessionEdits {
 public:
  explicit SessionEdits(Graph graph);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  Node& node(NodeId id) { return graph_.nodes[id]; }
  Tensor& tensor(TensorId id) { return graph_.tensors[id]; }
  const Tensor& tensor(TensorId id) const { return graph_.tensors[id]; }
  NodeId MakerOf(TensorId id) const { return graph_.tensors[id].producer; }

  bool IsConstant(TensorId id) const { return !id.valid() || constant_[id]; }
  bool IsScalar(TensorId id) const;  // one constant number
  bool IsOutput(TensorId id) const;
  bool IsRead(TensorId id) const { return !graph_.tensors[id].consumers.empty() || IsOutput(id); }
  bool IsGone(NodeId id) const { return gone_[id]; }
  // The node of one result that makes `id` when nobody else reads it; that alone reads what `node` makes. Else null.
  Node* OnlyMaker(TensorId id);
  Node* OnlyReader(const Node& node);
  // The operand of an arithmetic node with one constant number; nullopt for others.
  std::optional<TensorId> ScaledOperand(const Node& node) const;

  void SetConstant(TensorId id) { constant_[id] = true; }
  void SetPass(NodeId id, SessionPass pass) { pass_[id] = pass; }
  void SetGone(NodeId id) { gone_[id] = true; }
  // The node is gone, and with it what was made for it alone: a scale that was computed from a shape.
  void Remove(const Node& node);
  void SetResult(NodeId id, TensorId result);  // the node makes `result`, which another did
  void SetReader(TensorId id, NodeId from, NodeId to);
  TensorId AddTensor(Tensor tensor);
  void AddBefore(NodeId id, Node node, SessionPass pass);  // at most one before each

  // Without what is gone, linked; what nobody reads any more is not stored. The edits are used up.
  // `by_pass`: the nodes of each pass behind those of the pass before, in the order of execution.
  Graph Compacted(bool by_pass);

 private:
  void SortByPass(const IdVector<NodeId, SessionPass>& pass);

  Graph graph_;
  IdVector<NodeId, bool> gone_;
  IdVector<NodeId, SessionPass> pass_;
  std::vector<std::pair<Node, SessionPass>> added_;
  IdVector<NodeId, int> added_before_;  // of a node, which of them stands before it; -1: none
  IdVector<TensorId, bool> constant_;
};

inline bool HasOneOutput(const Node& node) { return node.outputs.size() == 1 && node.outputs.front().valid(); }

// The other operand of a node of two.
inline TensorId OtherOperand(const Node& node, TensorId of) {
  if (node.inputs.size() != 2) return TensorId();
  return node.inputs[0] == of ? node.inputs[1] : node.inputs[0];
}

inline void MakeContributed(Node& node, OpName op) {
  node.op = op;
  node.domain = "com.microsoft";
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_SESSION_EDITS_H_
