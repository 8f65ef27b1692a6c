#include "analyzer/eager/engine/output_loss.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "analyzer/eager/engine/loss.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::eager {
namespace {

// Classes stand last in the output of a linear layer over [B, T, features], in dim 1 of what a convolution made.
size_t ClassAxis(const FrameworkGraph& graph, TensorId output) {
  const size_t rank = graph.tensors[output].shape.rank();
  if (rank != 3) return rank > 1 ? 1 : 0;
  for (const FrameworkNode* node = graph.MakerOf(output); node != nullptr; node = graph.MakerOf(node->inputs[0])) {
    if (IsProduct(node->op)) return 2;
    if (IsConvolution(node->op) || node->inputs.empty()) break;
  }
  return 1;
}

// What models do to logits before they hand them out: a bias of its own, a scale, a bound (Gemma: tanh(x / c) * c), the
// last positions, a wider type.
bool StandsBehindHead(const OpName& op) { return IsView(op) || IsCopy(op) || IsArithmetic(op) || op == "tanh"; }

// The operand that a node made; else the first.
TensorId MadeOperand(const FrameworkGraph& graph, const FrameworkNode& node) {
  const auto made =
      std::find_if(node.inputs.begin(), node.inputs.end(), [&](TensorId id) { return graph.MakerOf(id); });
  if (made != node.inputs.end()) return *made;
  return node.inputs.empty() ? TensorId() : node.inputs.front();
}

bool IsMadeByLinear(const FrameworkGraph& graph, TensorId id) {
  constexpr int kDeepest = 16;
  const FrameworkNode* node = graph.MakerOf(id);
  for (int i = 0; i < kDeepest && node != nullptr; ++i, node = graph.MakerOf(MadeOperand(graph, *node))) {
    if (IsProduct(node->op)) return true;
    if (!StandsBehindHead(node->op)) return false;
  }
  return false;
}

// Integers that the caller feeds, whatever is done to their shape (or to the mark of those without a token). Positions
// that are counted from them are none.
bool IsFed(const FrameworkGraph& graph, TensorId id) {
  constexpr int kDeepest = 16;
  for (int i = 0; i < kDeepest && id.valid(); ++i) {
    const Tensor& tensor = graph.tensors[id];
    if (!tensor.producer.valid()) return tensor.role == TensorRole::kInput && !IsFloating(tensor.dtype);
    const FrameworkNode& node = graph.nodes[tensor.producer];
    if (node.op == "cumsum") return false;
    id = node.inputs.empty() ? TensorId() : node.inputs.front();
  }
  return false;
}

// Whether fed integers are looked up in a table of so many rows. A translator has a table for each of its languages.
bool IsVocabulary(const FrameworkGraph& graph, int64_t rows) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const FrameworkNode& node) {
    if (node.op != "embedding" || node.inputs.size() < 2 || !node.inputs[0].valid()) return false;
    const Dims& table = graph.tensors[node.inputs[0]].shape.dims;
    return !table.empty() && table[0] == rows && IsFed(graph, node.inputs[1]);
  });
}

// The result of detach(), or of what ran under no_grad(), whatever views were taken of it.
bool IsCutOff(const FrameworkGraph& graph, TensorId id) {
  for (const FrameworkNode* node = graph.MakerOf(id); node != nullptr; node = graph.MakerOf(node->inputs[0])) {
    if (node->op == "detach" || IntAttribute(*node, "requires_grad_none", 0) != 0) return true;
    if (!IsView(node->op) || node->inputs.empty()) return false;
  }
  return false;
}

}  // namespace

TensorIds WithHistory(const FrameworkGraph& graph, const TensorIds& outputs) {
  TensorIds kept;
  for (TensorId id : outputs) {
    if (!IsCutOff(graph, id)) kept.push_back(id);
  }
  return kept.empty() ? outputs : kept;
}

int64_t TokensOfLoss(LossKind requested, const FrameworkGraph& graph, const TensorIds& outputs) {
  if (requested != LossKind::kAuto || outputs.empty()) return 0;
  const Dims& dims = graph.tensors[outputs.front()].shape.dims;
  if (dims.size() != 3 || !IsMadeByLinear(graph, outputs.front())) return 0;
  return IsVocabulary(graph, dims[2]) ? dims[2] : 0;
}

LossKind ResolveLoss(LossKind requested, const FrameworkGraph& graph, const TensorIds& outputs) {
  if (requested != LossKind::kAuto) return requested;
  if (outputs.empty()) return LossKind::kNone;
  const bool are_logits =
      graph.tensors[outputs.front()].shape.rank() == 2 || TokensOfLoss(requested, graph, outputs) > 0;
  return are_logits ? LossKind::kCrossEntropy : LossKind::kMean;
}

int64_t TargetBytes(LossKind loss, const FrameworkGraph& graph, TensorId output, bool autocast) {
  const Tensor& tensor = graph.tensors[output];
  const int64_t elements = NumElements(tensor.shape.dims);
  if (loss == LossKind::kMse) return elements * (autocast ? 4 : RowOf(tensor.dtype).bits / 8);
  if (loss != LossKind::kCrossEntropy || tensor.shape.rank() == 0) return 0;
  const int64_t classes = tensor.shape.dims[ClassAxis(graph, output)];
  return Quotient(elements, classes) * 8;
}

TensorRef LossOfOutput(Machine& m, LossKind kind, const Lowered& lowered, TensorId id, const TensorRef& value) {
  if (value->dims.empty()) return value;
  switch (kind) {
    case LossKind::kMean: return MeanLoss(m, value);
    case LossKind::kCrossEntropy:
      return lowered.split_logits ? SplitCrossEntropy(m, value) : CrossEntropy(m, value, ClassAxis(lowered.graph, id));
    case LossKind::kMse: return MseLoss(m, value);
    default: return SumLoss(m, value);
  }
}

}  // namespace onnx_mem::eager
