#include "analyzer/assume/choices/tied_head.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/transformer_parts.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// The one linear whose activated result `id` is; invalid for sums of several, such as a residual stream.
NodeId ActivatedLinear(const Draft& draft, TensorId id, bool& activated, int depth = 0) {
  constexpr int kDeepest = 8;  // of a GELU with tanh, the longest
  const NodeId maker = draft.producer(id);
  if (!maker.valid() || depth == kDeepest) return NodeId();
  const FrameworkNode& node = draft.node(maker);
  if (IsLinear(node.op)) return maker;
  activated |= IsActivation(node.op) || node.op == "erf";
  // The second and third are what activations are spelled out in.
  if (!IsActivation(node.op) && !IsArithmetic(node.op) && !IsCurve(node.op)) return NodeId();
  NodeId linear;
  for (TensorId input : node.inputs) {
    if (!draft.producer(input).valid()) continue;
    const NodeId found = ActivatedLinear(draft, input, activated, depth + 1);
    if (!found.valid() || (linear.valid() && linear != found)) return NodeId();
    linear = found;
  }
  return linear;
}

bool IsMaskedHead(const Draft& draft, const FrameworkNode& head) {
  const NodeId norm = draft.ProducerIf(head.inputs[0], "layer_norm");
  bool activated = false;
  return norm.valid() && ActivatedLinear(draft, draft.node(norm).inputs[0], activated).valid() && activated;
}

// wte, wpe and lm_head: GPT-2 ties them (transformers modeling_gpt2.py, _tied_weights_keys), and so does nanoGPT's
// model.py, which took the names over. GPT-J and CodeGen, which do not, have no table of positions and a bias.
bool HasNamesOfTied(const Draft& draft, const FrameworkNode& head, TensorId table) {
  const std::string& name = draft.tensor(table).name;
  if (head.inputs.size() != 2 || !absl::EndsWith(name, "wte.weight") || !absl::EndsWith(head.module, "lm_head"))
    return false;
  const std::string positions = name.substr(0, name.size() - std::string_view("wte.weight").size()) + "wpe.weight";
  const NodeIds nodes = draft.InOrder();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const FrameworkNode& node = draft.node(id);
    return node.op == "embedding" && draft.tensor(node.inputs[0]).name == positions;
  });
}

}  // namespace

std::string_view WhyTied(const Draft& draft, NodeId head, TensorId table) {
  const FrameworkNode& node = draft.node(head);
  if (IsMaskedHead(draft, node)) return "as heads of masked language models do";
  if (HasNamesOfTied(draft, node, table)) return "as models do that have these names (wte, wpe, lm_head)";
  return "";
}

}  // namespace onnx_mem
