// Activations of the form x * gate(x) that TorchScript exports spell out: SiLU (sigmoid), Hardswish (hardsigmoid) and
// Mish (tanh of softplus), when the parts ran in one module call.
#include "analyzer/lower/match.h"
#include "analyzer/lower/rewrites.h"

namespace onnx_mem {
namespace {

// The nodes of gate(x) that end in `gate`, whose argument is `x`; empty if they do not.
std::vector<NodeId> GateNodes(const Draft& draft, TensorId gate, TensorId x, std::string_view op) {
  const NodeId outer = draft.ProducerIf(gate, op);
  if (!outer.valid()) return {};
  if (op != "tanh") return draft.node(outer).inputs[0] == x ? std::vector<NodeId>{outer} : std::vector<NodeId>();
  const TensorId inner_result = draft.node(outer).inputs[0];
  const NodeId inner = draft.ProducerIf(inner_result, "softplus");
  if (!inner.valid() || draft.OnlyReader(inner_result) != outer || draft.node(inner).inputs[0] != x) return {};
  return {inner, outer};
}

int64_t FuseGated(Draft& draft, std::string_view gate_op, std::string_view fused_op) {
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "mul") continue;
    const std::vector<TensorId> operands = draft.node(id).inputs;
    for (size_t i = 0; i < 2; ++i) {
      const TensorId x = operands[i], gate = operands[1 - i];
      if (!gate.valid() || draft.OnlyReader(gate) != id) continue;
      std::vector<NodeId> nodes = GateNodes(draft, gate, x, gate_op);
      if (nodes.empty() || !SameCall(draft.node(nodes[0]), draft.node(id))) continue;
      nodes.push_back(id);
      Node fused = MakeNode(fused_op, {x}, draft.node(id).outputs);
      const Rank rank = draft.rank(id);
      Replace(draft, nodes, std::move(fused), rank);
      ++count;
      break;
    }
  }
  return count;
}

}  // namespace

int64_t FuseSilu(Lowering& lowering) { return FuseGated(lowering.draft, "sigmoid", "silu"); }
int64_t FuseHardswish(Lowering& lowering) { return FuseGated(lowering.draft, "hardsigmoid", "hardswish"); }
int64_t FuseMish(Lowering& lowering) { return FuseGated(lowering.draft, "tanh", "mish"); }

}  // namespace onnx_mem
