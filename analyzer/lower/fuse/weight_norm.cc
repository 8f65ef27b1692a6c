// torch.nn.utils.weight_norm: a weight from its direction v and its length g. Exporters write w = v / |v| * g; the
// framework runs one operator, which saves v, g and the norms and nothing of the weight's size.
//
//   norm(v) -> n; div(v, n) -> u; mul(u, g) -> w     =>     weight_norm(v, g) -> w
//   norm(v) -> n; div(g, n) -> s; mul(v, s) -> w     =>     weight_norm(v, g) -> w     (dynamo)
//
// Sources: torch/onnx symbolic_opset9 (_weight_norm); torch/_decomp/decompositions.py (_weight_norm_interface);
// aten/src/ATen/native/WeightNorm.cpp: fused where the norm is over
// all dimensions but the first or all but the last.
#include <optional>
#include <vector>

#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// True if `axes` (all where empty) leave out the first or the last of `rank` dimensions and no other.
bool IsAllButOneEnd(const std::vector<int64_t>& axes, size_t rank) {
  if (rank < 2 || axes.size() + 1 != rank) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] - axes[0] != static_cast<int64_t>(i)) return false;
  }
  return axes[0] <= 1;
}

struct WeightNorm {
  NodeId norm, div, mul;
  TensorId direction, length;
};

// v / |v| * g, as TorchScript's exporter writes it.
std::optional<WeightNorm> DirectionTimesLength(const Draft& draft, NodeId id) {
  const TensorId unit = draft.node(id).inputs[0];
  const NodeId div = draft.ProducerIf(unit, "div");
  if (!div.valid() || draft.OnlyReader(unit) != id) return std::nullopt;
  const Node& quotient = draft.node(div);
  return WeightNorm{draft.ProducerIf(quotient.inputs[1], "norm"), div, id, quotient.inputs[0],
                    draft.node(id).inputs[1]};
}

// v * (g / |v|), into which dynamo's exporter takes the operator apart.
std::optional<WeightNorm> DirectionTimesScale(const Draft& draft, NodeId id) {
  const TensorId scale = draft.node(id).inputs[1];
  const NodeId div = draft.ProducerIf(scale, "div");
  if (!div.valid() || draft.OnlyReader(scale) != id) return std::nullopt;
  const Node& quotient = draft.node(div);
  return WeightNorm{draft.ProducerIf(quotient.inputs[1], "norm"), div, id, draft.node(id).inputs[0],
                    quotient.inputs[0]};
}

bool IsWeightNorm(const Draft& draft, const WeightNorm& found) {
  if (!found.norm.valid() || draft.OnlyReader(draft.node(found.norm).outputs[0]) != found.div) return false;
  const Node& norm = draft.node(found.norm);
  if (norm.inputs[0] != found.direction) return false;
  if (draft.kind(found.direction) != TensorKind::kParameter || draft.kind(found.length) != TensorKind::kParameter)
    return false;
  return draft.tensor(found.length).shape == draft.tensor(norm.outputs[0]).shape &&
         IsAllButOneEnd(IntsAttribute(norm, "axes"), draft.tensor(found.direction).shape.rank());
}

}  // namespace

int64_t FuseWeightNorm(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "mul") continue;
    std::optional<WeightNorm> found = DirectionTimesLength(draft, id);
    if (!found || !IsWeightNorm(draft, *found)) found = DirectionTimesScale(draft, id);
    if (!found || !IsWeightNorm(draft, *found)) continue;
    Node fused = MakeNode("weight_norm", {found->direction, found->length}, draft.node(id).outputs);
    const Rank rank = draft.rank(id);
    Replace(draft, {found->norm, found->div, id}, std::move(fused), rank);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
