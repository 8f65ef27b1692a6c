// torch.nn.utils.weight_norm: a weight from its direction v and its length g. Exporters write w = v / |v| * g; the
// framework runs one operator, which saves v, g and the norms and nothing of the weight's size.
//
//   norm(v) -> n; div(v, n) -> u; mul(u, g) -> w     =>     weight_norm(v, g) -> w
//
// Sources: torch/onnx symbolic_opset9 (_weight_norm); aten/src/ATen/native/WeightNorm.cpp: fused where the norm is over
// all dimensions but the first or all but the last.
#include "analyzer/lower/match.h"
#include "analyzer/lower/rewrites.h"

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

}  // namespace

int64_t FuseWeightNorm(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "mul") continue;
    const TensorId direction = draft.node(id).inputs[0], length = draft.node(id).inputs[1];
    const NodeId div = draft.ProducerIf(direction, "div");
    if (!div.valid() || draft.OnlyReader(direction) != id) continue;
    const TensorId v = draft.node(div).inputs[0], norms = draft.node(div).inputs[1];
    const NodeId norm = draft.ProducerIf(norms, "norm");
    if (!norm.valid() || draft.OnlyReader(norms) != div || draft.node(norm).inputs[0] != v) continue;
    if (draft.kind(v) != TensorKind::kParameter || draft.kind(length) != TensorKind::kParameter) continue;
    const Shape& shape = draft.tensor(v).shape;
    if (draft.tensor(length).shape != draft.tensor(norms).shape) continue;
    if (!IsAllButOneEnd(IntsAttribute(draft.node(norm), "axes"), shape.rank())) continue;
    Node fused = MakeNode("weight_norm", {v, length}, draft.node(id).outputs);
    const Rank rank = draft.rank(id);
    Replace(draft, {norm, div, id}, std::move(fused), rank);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
