// Activations of the form x * gate(x) that TorchScript exports spell out: SiLU (sigmoid), Hardswish (hardsigmoid) and
// Mish (tanh of softplus), when the parts ran in one module call; and GLU, one half of x times the sigmoid of the
// other.
#include <map>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
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

// x * sigmoid(x) that a module of its own gives is nn.SiLU. In the code of a larger one it is F.silu or written by
// hand, where sigmoid(x) is kept too: TorchScript exports of both are alike.
void ReportInCode(Lowering& lowering) {
  const Draft& draft = lowering.draft;
  std::map<std::string_view, int64_t> nodes;  // by module
  const std::vector<NodeId> order = draft.InOrder();
  for (NodeId id : order) ++nodes[draft.node(id).module];
  int64_t count = 0, bytes = 0;
  for (NodeId id : order) {
    const Node& node = draft.node(id);
    if (node.op != "silu" || !node.framework_op.empty() || nodes[node.module] < 2) continue;
    ++count;
    const Tensor& result = draft.tensor(node.outputs[0]);
    bytes += NumBytes(result.shape, result.dtype).value_or(0);
  }
  if (count == 0) return;
  lowering.diagnostics.push_back(
      {"silu-assumed", Severity::kNote, count,
       absl::StrCat(count, " products x * sigmoid(x) in the code of modules are taken for F.silu"),
       {absl::StrCat("why: written by hand they keep sigmoid(x) for backward too, ", bytes, " B in all"),
        "try: --no-rewrite silu if they are"},
       bytes});
}

// split of x into two halves a, b: a * sigmoid(b) is glu(x), which saves x alone (torch/onnx symbolic_opset9, glu).
bool IsGlu(const Draft& draft, NodeId mul, NodeId sigmoid, NodeId split) {
  const Node& halves = draft.node(split);
  const std::vector<int64_t> sizes = IntsAttribute(halves, "sizes");
  if (sizes.size() != 2 || sizes[0] != sizes[1]) return false;
  return draft.OnlyReader(halves.outputs[0]) == mul && draft.OnlyReader(halves.outputs[1]) == sigmoid &&
         draft.node(mul).inputs[0] == halves.outputs[0] && SameCall(halves, draft.node(mul)) &&
         SameCall(draft.node(sigmoid), draft.node(mul));
}

}  // namespace

int64_t FuseGlu(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "mul") continue;
    const NodeId sigmoid = draft.ProducerIf(draft.node(id).inputs[1], "sigmoid");
    if (!sigmoid.valid() || draft.OnlyReader(draft.node(sigmoid).outputs[0]) != id) continue;
    const NodeId split = draft.ProducerIf(draft.node(sigmoid).inputs[0], "split");
    if (!split.valid() || !IsGlu(draft, id, sigmoid, split)) continue;
    Node glu = MakeNode("glu", {draft.node(split).inputs[0]}, draft.node(id).outputs);
    glu.attributes["axis"] = IntAttribute(draft.node(split), "axis", 0);
    const Rank rank = draft.rank(id);
    Replace(draft, {split, sigmoid, id}, std::move(glu), rank);
    ++count;
  }
  return count;
}

int64_t FuseSilu(Lowering& lowering) {
  const int64_t count = FuseGated(lowering.draft, "sigmoid", "silu");
  if (count > 0 && lowering.run.training) ReportInCode(lowering);
  return count;
}

int64_t FuseHardswish(Lowering& lowering) { return FuseGated(lowering.draft, "hardsigmoid", "hardswish"); }
int64_t FuseMish(Lowering& lowering) { return FuseGated(lowering.draft, "tanh", "mish"); }

}  // namespace onnx_mem
