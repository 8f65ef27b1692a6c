// The lowered graph in the making. The imported graph's tensors keep their ids; nodes are framework operators, added in
// any order, each with a rank that says when it runs. Rewrites take nodes out and put others in; readers and producers
// are right at every moment, and references to nodes, tensors and readers stay good while others are added. Finish()
// gives the graph with its nodes in the order in which they ran.
//
//   conv (rank 7.0)   relu (rank 9.0)     an inserted batch_norm with the conv's rank runs between them
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_DRAFT_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_DRAFT_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/graph/framework_graph.h"
#include "analyzer/graph/graph.h"
#include "analyzer/graph/tensor_kind.h"
#include "analyzer/lower/draft/id_deque.h"

namespace onnx_mem {

// When a node runs: the ONNX node that it comes from, then its place among the operators that this node became. Among
// equals, the one that was added first runs first.
struct Rank {
  int32_t source = 0;
  int32_t place = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

class Draft {
 public:
  // Takes over the tensors of `source`, without nodes: initializers and everything else start as kHost but for inputs.
  explicit Draft(const Graph& source);

  // Nothing can be known by the names of what is stored.
  bool has_opaque_names() const { return has_opaque_names_; }
  void TakeNamesAsModules() { has_opaque_names_ = false; }

  // Of an operand that a node leaves out: a tensor of which nothing is known.
  const Tensor& tensor(TensorId id) const {
    static const Tensor kNone;
    return id.valid() ? tensors_[id] : kNone;
  }
  Tensor& mutable_tensor(TensorId id) { return tensors_[id]; }
  size_t num_tensors() const { return tensors_.size(); }
  TensorKind kind(TensorId id) const { return id.valid() ? kinds_[id] : TensorKind::kHost; }
  void SetKind(TensorId id, TensorKind kind) { kinds_[id] = kind; }
  TensorId NewTensor(std::string name, DType dtype, Dims dims, TensorKind kind = TensorKind::kActivation);

  // `node`'s outputs become activations.
  NodeId Add(FrameworkNode node, Rank rank);
  void Remove(NodeId id);
  bool alive(NodeId id) const { return slots_[id].alive; }
  const FrameworkNode& node(NodeId id) const { return slots_[id].node; }
  // For attributes, operator name and scope; inputs and outputs change through the functions below.
  FrameworkNode& mutable_node(NodeId id) { return slots_[id].node; }
  int64_t made() const { return static_cast<int64_t>(slots_.size()); }  // nodes, those taken out again too
  Rank rank(NodeId id) const { return slots_[id].rank; }
  void SetRank(NodeId id, Rank rank) {
    slots_[id].rank = rank;
    is_ordered_ = false;
  }
  void SetInputs(NodeId id, TensorIds inputs);
  // Every reader of `from`, the graph's outputs included, reads `to` instead.
  void ReplaceReaders(TensorId from, TensorId to);
  // The living nodes in the order in which they run.
  NodeIds InOrder() const;

  // Invalid for what no node makes, and for an operand that a node does not have.
  NodeId producer(TensorId id) const { return id.valid() ? uses_[id].producer : NodeId(); }
  // One entry per use.
  const NodeIds& readers(TensorId id) const {
    static const NodeIds kNobody;
    return id.valid() ? uses_[id].readers : kNobody;
  }
  bool IsOutput(TensorId id) const { return id.valid() && uses_[id].outputs > 0; }
  // The one node that reads `id`, if it is read once and is no output of the graph; else, or without `id`, invalid.
  NodeId OnlyReader(TensorId id) const;
  // Node that makes `id` if it is an operator `op`; else invalid.
  NodeId ProducerIf(TensorId id, const OpLiteral& op) const;

  // `alias` is the very same tensor as `of` (Identity, Dropout in inference): later readers of it read `of`. Nothing
  // happens where one of them is left out.
  void Alias(TensorId alias, TensorId of);
  TensorId Resolve(TensorId id) const;

  // Marks a tensor that the host reads though no operator does (a size that depends on data): its maker stays.
  void Keep(TensorId id) { uses_[id].kept = true; }
  // Takes out the nodes that nobody reads.
  void RemoveUnread();

  struct Finished {
    FrameworkGraph graph;
    IdVector<TensorId, TensorKind> kinds;
  };
  // The graph, linked, with nodes in running order; parameters and buffers that no node reads become kHost.
  Finished Finish() &&;

 private:
  struct Slot {
    FrameworkNode node;
    Rank rank;
    bool alive = true;
  };
  struct Uses {
    NodeId producer;
    NodeIds readers;
    int32_t outputs = 0;
    bool kept = false;
  };
  void Unread(TensorId id, NodeId reader);

  bool has_opaque_names_ = false;
  TensorIds inputs_, outputs_, initializers_;
  IdDeque<TensorId, Tensor> tensors_;
  IdVector<TensorId, TensorKind> kinds_;
  IdDeque<TensorId, Uses> uses_;
  IdVector<TensorId, TensorId> aliases_;
  IdDeque<NodeId, Slot> slots_;
  mutable NodeIds order_;  // of the living nodes, while is_ordered_
  mutable bool is_ordered_ = false;
};

// Bytes of everything that the operators make, what a share of the model is measured against; what has no known size
// counts nothing.
int64_t MadeBytes(const Draft& draft);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_DRAFT_H_
