#include "analyzer/assume/choices/tied_head.h"

#include <algorithm>
#include <cmath>
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

bool IsScaledByWidth(const Draft& draft, const FrameworkNode& head) {
  const NodeId scale = draft.ProducerIf(head.inputs[0], "mul_scalar");
  if (!scale.valid()) return false;
  const auto width = static_cast<double>(draft.tensor(head.inputs[1]).shape.dims[0]);
  return IsScalarOp(draft.node(scale), "mul_scalar", 1.0 / std::sqrt(width));
}

// embed(ids) * sqrt(width), the scale that belongs to a shared weight (Vaswani et al., 2017, section 3.4), under a head
// without a bias. Heads that have one are written beside it: the Annotated Transformer and PyTorch's tutorial scale,
// too.
bool IsScaledTable(const Draft& draft, const FrameworkNode& head, TensorId table) {
  const double root = std::sqrt(static_cast<double>(draft.tensor(table).shape.dims[1]));
  const auto is_scaled = [&](NodeId reader) {
    const FrameworkNode& node = draft.node(reader);
    if (node.op != "embedding") return false;
    const NodeId scale = OnlyReaderIf(draft, node.outputs[0], "mul_scalar");
    return scale.valid() && IsScalarOp(draft.node(scale), "mul_scalar", root);
  };
  const NodeIds readers = draft.readers(table);
  return head.inputs.size() == 2 && std::all_of(readers.begin(), readers.end(), is_scaled);
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

TensorId RowForBias(const Draft& draft, NodeId head) {
  const FrameworkNode& node = draft.node(head);
  const NodeId sum = node.inputs.size() == 2 ? OnlyReaderIf(draft, node.outputs[0], "add") : NodeId();
  if (!sum.valid()) return TensorId();
  const TensorId row = OtherOperand(draft.node(sum), node.outputs[0]);
  const bool stored = row.valid() && !draft.producer(row).valid();
  return stored && draft.tensor(row).shape.dims == Dims{1, draft.tensor(node.inputs[1]).shape.dims[1]} ? row
                                                                                                       : TensorId();
}

std::string_view WhyTied(const Draft& draft, NodeId head, TensorId table) {
  const FrameworkNode& node = draft.node(head);
  if (IsMaskedHead(draft, node)) return "as heads of masked language models do";
  if (IsScaledByWidth(draft, node)) return "as models do that scale what their head reads by width ** -0.5";
  if (IsScaledTable(draft, node, table)) return "as models do that scale what they look up by sqrt(width)";
  if (RowForBias(draft, head).valid()) return "as models do whose head adds a row to the logits";
  if (HasNamesOfTied(draft, node, table)) return "as models do that have these names (wte, wpe, lm_head)";
  return "";
}

}  // namespace onnx_mem
