#include "analyzer/lower/draft/transformer_parts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/lower/draft/match.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// What carries a tensor on as it is, and pieces that a mask or stored positions are cut to; not parts of a packed one.
bool CarriesOn(const OpName& op) { return IsWholeView(op) || op == "slice" || op == "contiguous"; }

// Stored [1, H, T, S].
bool IsStoredPerHead(const Draft& draft, TensorId id) {
  if (!id.valid()) return false;
  const Tensor& tensor = draft.tensor(id);
  if (MakerBeforeViews(draft, id).valid() || !IsFloating(tensor.dtype)) return false;
  const Dims& dims = tensor.shape.dims;
  return dims.size() >= 3 && std::all_of(dims.end() - 3, dims.end(), [](int64_t size) { return size > 1; });
}

// True for a bias of positions, and for its sum with a mask.
bool IsPositionBias(const Draft& draft, TensorId id, int depth = 0) {
  constexpr int kMostSums = 3;
  if (IsStoredPerHead(draft, id)) return true;
  const NodeId maker = MakerBeforeViews(draft, id);
  if (!maker.valid() || depth == kMostSums) return false;
  const FrameworkNode& node = draft.node(maker);
  if (node.op == "embedding") return true;
  if (node.op != "add" && node.op != "expand" && node.op != "cast") return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](TensorId input) { return IsPositionBias(draft, input, depth + 1); });
}

// True if beside `parent`linear1 stand the other parts of nn.TransformerEncoderLayer and its decoder
// (torch/nn/modules/transformer.py): norms called norm1 and norm2, and a self_attn that multiplies with its weights
// itself, as nn.MultiheadAttention does, of which in_proj_weight is a parameter and out_proj is never called
// (torch/nn/functional.py, multi_head_attention_forward). linear1 and linear2 alone are anybody's names (MONAI's MLP).
bool IsTorchLayer(const Draft& draft, std::string_view parent) {
  constexpr auto kParts = std::to_array<std::string_view>({"self_attn", "norm1", "norm2"});
  std::array<bool, kParts.size()> found = {};
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    const std::string_view module = node.module;
    if (!module.starts_with(parent)) continue;
    const auto part = std::find(kParts.begin(), kParts.end(), module.substr(parent.size()));
    if (part == kParts.end()) continue;
    const auto at = static_cast<size_t>(part - kParts.begin());
    found[at] |= at == 0 ? IsLinear(node.op) : IsTokenNorm(node.op);
  }
  return std::all_of(found.begin(), found.end(), [](bool there) { return there; });
}

}  // namespace

bool IsProjection(const Draft& draft, NodeId id) {
  const FrameworkNode& node = draft.node(id);
  if (IsLinear(node.op)) return true;
  if (node.op != "conv" || node.inputs.size() < 2) return false;
  const Dims& weight = draft.tensor(node.inputs[1]).shape.dims;
  return weight.size() == 3 && weight[2] == 1;
}

NodeId MakerBeforeViews(const Draft& draft, TensorId id) {
  NodeId maker = id.valid() ? draft.producer(id) : NodeId();
  while (maker.valid() && CarriesOn(draft.node(maker).op)) maker = draft.producer(draft.node(maker).inputs[0]);
  return maker;
}

NodeId ReaderAfterViews(const Draft& draft, TensorId id) {
  NodeId reader = draft.OnlyReader(id);
  while (reader.valid() && CarriesOn(draft.node(reader).op)) reader = draft.OnlyReader(draft.node(reader).outputs[0]);
  return reader;
}

NodeId ResidualSum(const Draft& draft, TensorId id) {
  constexpr int kMostViews = 4;
  for (int depth = 0; depth < kMostViews; ++depth) {
    const NodeId reader = draft.OnlyReader(id);
    if (!reader.valid()) return NodeId();
    const FrameworkNode& node = draft.node(reader);
    if (node.op == "add") {
      const TensorId other = OtherOperand(node, id);
      return other.valid() && draft.producer(other).valid() ? reader : NodeId();
    }
    // Behind an unsqueeze a vector is added to every token: a condition, no residual branch.
    if (node.op != "reshape" && node.op != "permute") return NodeId();
    id = node.outputs[0];
  }
  return NodeId();
}

// What a product with the values reads, perhaps with batch and heads joined, or what a number for each head scales
// before it.
bool WeighsValues(const Draft& draft, TensorId weights) {
  NodeId reader = ReaderAfterViews(draft, weights);
  if (reader.valid() && draft.node(reader).op == "mul") {
    const TensorId scale = OtherOperand(draft.node(reader), weights);
    if (draft.OnlyReader(weights) != reader || !scale.valid() || MakerBeforeViews(draft, scale).valid()) return false;
    reader = draft.OnlyReader(draft.node(reader).outputs[0]);
  }
  return reader.valid() && (draft.node(reader).op == "matmul" || draft.node(reader).op == "einsum");
}

bool IsAttentionWeight(const Draft& draft, NodeId id) {
  const FrameworkNode& node = draft.node(id);
  if (node.op != "softmax" || !WeighsValues(draft, node.outputs[0])) return false;
  const NodeId maker = MakerBeforeViews(draft, node.inputs[0]);
  return !maker.valid() || !IsLinear(draft.node(maker).op);
}

bool IsPostNormSum(const Draft& draft, NodeId sum) {
  if (!sum.valid()) return false;
  const NodeId reader = ReaderAfterViews(draft, draft.node(sum).outputs[0]);
  if (!reader.valid() || !IsTokenNorm(draft.node(reader).op)) return false;
  return std::any_of(draft.node(sum).inputs.begin(), draft.node(sum).inputs.end(), [&](TensorId input) {
    const NodeId maker = MakerBeforeViews(draft, input);
    return maker.valid() && IsTokenNorm(draft.node(maker).op);
  });
}

bool HasPositionBias(const Draft& draft, NodeId attention) {
  const FrameworkNode& node = draft.node(attention);
  if (node.op == "sdpa")
    return node.inputs.size() > 3 && node.inputs[3].valid() && IsPositionBias(draft, node.inputs[3]);
  return IsPositionBias(draft, node.inputs[0]);
}

bool IsTorchFeedForward(const Draft& draft, NodeId activation) {
  const FrameworkNode& node = draft.node(activation);
  if (node.inputs.empty() || node.outputs.empty()) return false;
  const NodeId before = draft.ProducerIf(node.inputs[0], "linear"),
               after = OnlyReaderIf(draft, node.outputs[0], "linear");
  if (!before.valid() || !after.valid()) return false;
  constexpr std::string_view kFirst = "linear1", kSecond = "linear2";
  std::string_view first = draft.node(before).module, second = draft.node(after).module;
  if (!first.ends_with(kFirst) || !second.ends_with(kSecond)) return false;
  first.remove_suffix(kFirst.size());
  second.remove_suffix(kSecond.size());
  return first == second && IsTorchLayer(draft, first);
}

}  // namespace onnx_mem
