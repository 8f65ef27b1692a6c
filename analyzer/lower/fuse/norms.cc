// Normalisations that exporters spell out because the opset lacks them.
//
//   GroupNorm   reshape to [N, groups, rest] -> instance_norm without weights -> reshape back -> [* weight] -> [+ bias]
//   LayerNorm   (opset < 17) x - mean -> / sqrt(mean of squares + eps) -> * weight -> + bias, when the module's own
//               calls are just these and its weights are called weight and bias, as in nn.LayerNorm. From opset 17 on
//               exporters write LayerNormalization, and what is spelled out was written so (DeBERTa's LayerNorm).
//
// RMSNorm written out stays: models of this kind really compute it operator by operator.
#include "absl/strings/str_cat.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

constexpr int kLayerNormalizationOpset = 17;

// The stored vector behind views of it ([C] as [C, 1, 1]); invalid if something else is behind.
TensorId StoredBehindViews(const Draft& draft, TensorId id) {
  for (int depth = 0; depth < 4 && id.valid(); ++depth) {
    const NodeId maker = draft.producer(id);
    if (!maker.valid()) return draft.kind(id) == TensorKind::kInput ? TensorId() : id;
    const std::string& op = draft.node(maker).op;
    if (op != "unsqueeze" && op != "reshape") return TensorId();
    id = draft.node(maker).inputs[0];
  }
  return TensorId();
}

// Appends the product (op "mul") or sum ("add") of `x` with a stored vector of `elements`, if that is its one reader.
TensorId MatchAffine(const Draft& draft, TensorId x, std::string_view op, int64_t elements, const Node& scope,
                     std::vector<NodeId>& nodes) {
  const NodeId reader = OnlyReaderIf(draft, x, op);
  if (!reader.valid() || !SameCall(draft.node(reader), scope)) return TensorId();
  const TensorId stored = StoredBehindViews(draft, OtherOperand(draft.node(reader), x));
  if (!stored.valid() || NumElements(draft.tensor(stored).shape) != elements) return TensorId();
  nodes.push_back(reader);
  return stored;
}

bool FuseOneGroupNorm(Draft& draft, NodeId id) {
  const Node& norm = draft.node(id);
  if (norm.op != "instance_norm" || norm.inputs.size() != 1) return false;
  const NodeId split = draft.ProducerIf(norm.inputs[0], "reshape");
  if (!split.valid() || draft.OnlyReader(norm.inputs[0]) != id || !SameCall(draft.node(split), norm)) return false;
  const NodeId join = OnlyReaderIf(draft, norm.outputs[0], "reshape");
  if (!join.valid() || !SameCall(draft.node(join), norm)) return false;
  const TensorId x = draft.node(split).inputs[0];
  const Shape& shape = draft.tensor(x).shape;
  if (draft.tensor(draft.node(join).outputs[0]).shape != shape || shape.rank() < 2) return false;
  std::vector<NodeId> nodes = {split, id, join};
  Node fused = MakeNode("group_norm", {x}, {});
  fused.attributes["groups"] = draft.tensor(norm.inputs[0]).shape.dims[1];
  for (std::string_view op : {"mul", "add"}) {
    const TensorId result = draft.node(nodes.back()).outputs[0];
    const TensorId stored = MatchAffine(draft, result, op, shape.dims[1], norm, nodes);
    if (!stored.valid()) break;
    fused.inputs.push_back(stored);
  }
  fused.outputs = draft.node(nodes.back()).outputs;
  const Rank rank = draft.rank(nodes.back());
  Replace(draft, nodes, std::move(fused), rank);
  return true;
}

bool IsOwn(const Draft& draft, TensorId id, const Node& scope, std::string_view name) {
  return !scope.module.empty() && draft.tensor(id).name == absl::StrCat(scope.module, ".", std::string(name));
}

// The mean of x over its last dims: gives the node, sets the first axis.
NodeId MeanOver(const Draft& draft, TensorId id, int64_t& axis) {
  const NodeId mean = draft.ProducerIf(id, "mean");
  if (!mean.valid()) return NodeId();
  const auto axes = IntsAttribute(draft.node(mean), "axes");
  const auto rank = static_cast<int64_t>(draft.tensor(draft.node(mean).inputs[0]).shape.rank());
  if (axes.empty() || axes.back() != rank - 1) return NodeId();
  axis = axes.front();
  return mean;
}

bool FuseOneLayerNorm(Draft& draft, NodeId id) {
  const Node& div = draft.node(id);
  if (div.op != "div") return false;
  const NodeId centered = draft.ProducerIf(div.inputs[0], "sub");
  const NodeId sqrt = draft.ProducerIf(div.inputs[1], "sqrt");
  if (!centered.valid() || !sqrt.valid()) return false;
  const TensorId x = draft.node(centered).inputs[0];
  const NodeId eps = draft.ProducerIf(draft.node(sqrt).inputs[0], "add_scalar");
  int64_t axis = -1, variance_axis = -1;
  const NodeId mean = MeanOver(draft, draft.node(centered).inputs[1], axis);
  const NodeId variance = eps.valid() ? MeanOver(draft, draft.node(eps).inputs[0], variance_axis) : NodeId();
  if (!mean.valid() || !variance.valid() || axis != variance_axis || draft.node(mean).inputs[0] != x) return false;
  const NodeId square = draft.producer(draft.node(variance).inputs[0]);
  if (!square.valid() || draft.node(square).op != "pow_scalar") return false;
  if (draft.node(square).inputs[0] != draft.node(centered).outputs[0]) return false;
  std::vector<NodeId> nodes = {mean, centered, square, variance, eps, sqrt, id};
  for (NodeId node : nodes) {
    if (!SameCall(draft.node(node), div)) return false;
  }
  const int64_t elements = NumElements(Shape(Dims(draft.tensor(x).shape.dims.begin() + axis,
                                                  draft.tensor(x).shape.dims.end()))).value_or(-1);
  const TensorId weight = MatchAffine(draft, div.outputs[0], "mul", elements, div, nodes);
  if (!weight.valid() || !IsOwn(draft, weight, div, "weight")) return false;
  Node fused = MakeNode("layer_norm", {x, weight}, {});
  const TensorId bias = MatchAffine(draft, draft.node(nodes.back()).outputs[0], "add", elements, div, nodes);
  if (bias.valid()) fused.inputs.push_back(bias);
  fused.attributes["axis"] = axis;
  fused.outputs = draft.node(nodes.back()).outputs;
  const Rank rank = draft.rank(nodes.back());
  Replace(draft, nodes, std::move(fused), rank);
  return true;
}

}  // namespace

int64_t FuseGroupNorm(Lowering& lowering) {
  int64_t count = 0;
  for (NodeId id : lowering.draft.InOrder()) {
    if (lowering.draft.alive(id) && FuseOneGroupNorm(lowering.draft, id)) ++count;
  }
  if (count > 0) lowering.draft.RemoveUnread();
  return count;
}

int64_t FuseLayerNorm(Lowering& lowering) {
  if (lowering.source.opset >= kLayerNormalizationOpset) return 0;
  int64_t count = 0;
  for (NodeId id : lowering.draft.InOrder()) {
    if (lowering.draft.alive(id) && FuseOneLayerNorm(lowering.draft, id)) ++count;
  }
  return count;
}

}  // namespace onnx_mem
