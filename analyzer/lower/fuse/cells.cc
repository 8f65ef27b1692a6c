// nn.LSTMCell and nn.GRUCell, which exporters spell out and the framework runs as one kernel each on a GPU. Code that
// writes such a cell itself has other names for its weights.
//
//   i, f, g, o = split(h Whh^T + bhh + x Wih^T + bih)    c' = sigmoid(f) c + sigmoid(i) tanh(g)    h' = sigmoid(o)
//                                                                                                  tanh(c')
//   r, z, n of both products                             n' = tanh(n_x + r n_h)                    h' = (h - n') z + n'
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/spelled_out.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

using Match = Expression::Match;

// The linear layer whose split gives `piece` as its output number `index`, by weights of this name.
NodeId GatesOf(const Draft& draft, TensorId piece, size_t index, NodeId* split = nullptr) {
  const NodeId id = draft.ProducerIf(piece, "split");
  if (!id.valid() || draft.node(id).outputs.size() <= index || draft.node(id).outputs[index] != piece) return NodeId();
  if (split != nullptr) *split = id;
  return draft.producer(draft.node(id).inputs[0]);
}

bool IsLinearOf(const Draft& draft, NodeId id, std::string_view weight) {
  if (!id.valid() || draft.node(id).inputs.size() < 2) return false;
  const Node& node = draft.node(id);
  return (node.op == "linear" || node.op == "addmm") &&
         absl::EndsWith(draft.tensor(node.inputs[1]).name, absl::string_view(weight.data(), weight.size()));
}

TensorId BiasOf(const Node& linear) { return linear.inputs.size() > 2 ? linear.inputs[2] : TensorId(); }

std::vector<TensorId> CellInputs(const Node& from_input, const Node& from_state, TensorId c) {
  return {from_input.inputs[0], from_state.inputs[0], c,          from_input.inputs[1],
          from_state.inputs[1], BiasOf(from_input),   BiasOf(from_state)};
}

bool FuseLstmCell(Draft& draft, NodeId root) {
  static const auto& expression =
      *new Expression("mul(sigmoid(o),tanh(C:add(mul(sigmoid(f),c),mul(sigmoid(i),tanh(g)))))");
  Match match;
  // The new c is read by the next step too.
  if (draft.node(root).op != "mul" || !expression.MatchesOpen(draft, root, match)) return false;
  NodeId split;
  const NodeId sum = GatesOf(draft, match.tensors['i'], 0, &split);
  if (!sum.valid() || draft.node(sum).op != "add") return false;
  if (GatesOf(draft, match.tensors['f'], 1) != sum || GatesOf(draft, match.tensors['g'], 2) != sum ||
      GatesOf(draft, match.tensors['o'], 3) != sum) {
    return false;
  }
  NodeId state = draft.producer(draft.node(sum).inputs[0]), input = draft.producer(draft.node(sum).inputs[1]);
  if (!IsLinearOf(draft, state, "weight_hh")) std::swap(state, input);
  if (!IsLinearOf(draft, state, "weight_hh") || !IsLinearOf(draft, input, "weight_ih")) return false;
  Node fused = MakeNode("lstm_cell", CellInputs(draft.node(input), draft.node(state), match.tensors['c']),
                        {draft.node(root).outputs[0], draft.node(match.named['C']).outputs[0]});
  std::vector<NodeId> nodes = {state, input, sum, split};
  nodes.insert(nodes.end(), match.nodes.begin(), match.nodes.end());
  const Rank rank = draft.rank(root);
  Replace(draft, nodes, std::move(fused), rank);
  return true;
}

bool FuseGruCell(Draft& draft, NodeId root) {
  static const auto& expression =
      *new Expression("add(mul(sub(h,N:tanh(add(n,mul(m,sigmoid(add(r,s)))))),sigmoid(add(z,y))),N)");
  Match match;
  if (draft.node(root).op != "add" || !expression.MatchesOpen(draft, root, match)) return false;
  NodeId input_split, state_split;
  const NodeId input = GatesOf(draft, match.tensors['n'], 2, &input_split);
  const NodeId state = GatesOf(draft, match.tensors['m'], 2, &state_split);
  if (!IsLinearOf(draft, input, "weight_ih") || !IsLinearOf(draft, state, "weight_hh")) return false;
  if (draft.node(state).inputs[0] != match.tensors['h']) return false;
  Node fused = MakeNode("gru_cell", CellInputs(draft.node(input), draft.node(state), TensorId()),
                        {draft.node(root).outputs[0]});
  std::vector<NodeId> nodes = {input, state, input_split, state_split};
  nodes.insert(nodes.end(), match.nodes.begin(), match.nodes.end());
  const Rank rank = draft.rank(root);
  Replace(draft, nodes, std::move(fused), rank);
  return true;
}

}  // namespace

int64_t FuseCells(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.alive(id) && (FuseLstmCell(draft, id) || FuseGruCell(draft, id))) ++count;
  }
  return count;
}

}  // namespace onnx_mem
