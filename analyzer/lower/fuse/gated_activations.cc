// Activations of the form x * gate(x) that TorchScript exports spell out: SiLU (sigmoid), Hardswish (hardsigmoid) and
// Mish (tanh of softplus), when the parts ran in one module call; and GLU, one half of x times the sigmoid of the
// other.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/lower/operators/site.h"

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

// What is taken for one function of the framework and may be code of its own, which saves more.
struct Guess {
  std::string_view code;      // of the diagnostic
  std::string_view rewrite;   // that takes it so
  std::string_view spelled;   // in the file
  std::string_view function;  // that it is taken for
  std::string_view saved;     // for backward too, if it was written by hand
};
constexpr Guess kSilu = {"silu-assumed", "silu", "x * sigmoid(x)", "nn.SiLU", "sigmoid(x)"};
constexpr Guess kHardswish = {"hardswish-assumed", "hardswish", "x * hardsigmoid(x)", "nn.Hardswish", "hardsigmoid(x)"};
constexpr Guess kMish = {"mish-assumed", "mish", "x * tanh(softplus(x))", "nn.Mish", "softplus(x) and its tanh"};
constexpr Guess kGlu = {"glu-assumed", "glu", "a * sigmoid(b)", "nn.GLU", "sigmoid(b)"};

// nn.SiLU's operators are those of F.silu and of code that spells it out: TorchScript exports of all three are alike
// (torch/onnx symbolic_opset9.py). A module that does nothing else is nearly always the framework's own; in the code of
// a larger one it is either.
void ReportGuess(Lowering& lowering, const Guess& guess, const std::vector<NodeId>& fused) {
  if (!lowering.run.training || fused.empty()) return;
  const Draft& draft = lowering.draft;
  const absl::flat_hash_set<NodeId> own(fused.begin(), fused.end());
  std::map<std::string_view, int64_t> nodes;  // other ones, by module
  int64_t made_bytes = 0;
  const auto bytes_of = [&](const Node& node) {
    const Tensor& result = draft.tensor(node.outputs[0]);
    return NumBytes(result.shape, result.dtype).value_or(0);
  };
  for (NodeId id : draft.InOrder()) {
    const Node& node = draft.node(id);
    if (!own.contains(id)) ++nodes[node.module];
    if (!node.outputs.empty() && node.outputs[0].valid()) made_bytes += bytes_of(node);
  }
  int64_t bytes = 0, bytes_in_code = 0;
  for (NodeId id : fused) {
    const Node& node = draft.node(id);
    bytes += bytes_of(node);
    if (node.module.empty() || nodes.contains(node.module)) bytes_in_code += bytes_of(node);
  }
  constexpr int64_t kNoticeable = 100;  // one part in
  const auto count = static_cast<int64_t>(fused.size());
  lowering.diagnostics.push_back(
      {std::string(guess.code),
       bytes_in_code * kNoticeable > made_bytes ? Severity::kWarning : Severity::kNote,
       count,
       absl::StrCat(count, " ", std::string(guess.spelled), " are taken for ", std::string(guess.function)),
       {absl::StrCat("why: a module or function of your own that spells it out keeps ", std::string(guess.saved),
                     " for backward too, ", FormatBytes(bytes), " in all", AtBatch(lowering.source)),
        absl::StrCat("try: --no-rewrite ", std::string(guess.rewrite), " if it does")},
       bytes});
}

// `gate_last`: the gate is the second operand, as the exporters write it for the framework's own
// function; sigmoid(x) * x is code (torch/onnx symbolic_opset9.py, silu; onnxscript's aten_silu).
int64_t FuseGated(Lowering& lowering, std::string_view gate_op, std::string_view fused_op, bool gate_last,
                  const Guess& guess) {
  Draft& draft = lowering.draft;
  std::vector<NodeId> made;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "mul") continue;
    const std::vector<TensorId> operands = draft.node(id).inputs;
    for (size_t i = 0; i < (gate_last ? 1 : 2); ++i) {
      const TensorId x = operands[i], gate = operands[1 - i];
      if (!gate.valid() || draft.OnlyReader(gate) != id) continue;
      std::vector<NodeId> nodes = GateNodes(draft, gate, x, gate_op);
      if (nodes.empty() || !SameCall(draft.node(nodes[0]), draft.node(id))) continue;
      nodes.push_back(id);
      Node fused = MakeNode(fused_op, {x}, draft.node(id).outputs);
      const Rank rank = draft.rank(id);
      const bool is_told = !draft.node(id).framework_op.empty();  // by the exporter's metadata
      const NodeId replaced = Replace(draft, nodes, std::move(fused), rank);
      if (!is_told) made.push_back(replaced);
      ++count;
      break;
    }
  }
  ReportGuess(lowering, guess, made);
  return count;
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
  std::vector<NodeId> made;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "mul") continue;
    const NodeId sigmoid = draft.ProducerIf(draft.node(id).inputs[1], "sigmoid");
    if (!sigmoid.valid() || draft.OnlyReader(draft.node(sigmoid).outputs[0]) != id) continue;
    const NodeId split = draft.ProducerIf(draft.node(sigmoid).inputs[0], "split");
    if (!split.valid() || !IsGlu(draft, id, sigmoid, split)) continue;
    Node glu = MakeNode("glu", {draft.node(split).inputs[0]}, draft.node(id).outputs);
    glu.attributes["axis"] = IntAttribute(draft.node(split), "axis", 0);
    const Rank rank = draft.rank(id);
    const bool is_told = !draft.node(id).framework_op.empty();
    const NodeId replaced = Replace(draft, {split, sigmoid, id}, std::move(glu), rank);
    if (!is_told) made.push_back(replaced);
    ++count;
  }
  ReportGuess(lowering, kGlu, made);
  return count;
}

int64_t FuseSilu(Lowering& lowering) { return FuseGated(lowering, "sigmoid", "silu", true, kSilu); }
int64_t FuseHardswish(Lowering& lowering) { return FuseGated(lowering, "hardsigmoid", "hardswish", false, kHardswish); }
int64_t FuseMish(Lowering& lowering) { return FuseGated(lowering, "tanh", "mish", false, kMish); }

}  // namespace onnx_mem
