// torch.rsqrt has no ONNX operator: exporters write 1 / sqrt(x) or Reciprocal(Sqrt(x)).
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {

int64_t FuseRsqrt(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "reciprocal") continue;
    const TensorId root = draft.node(id).inputs[0];
    const NodeId sqrt = draft.ProducerIf(root, "sqrt");
    if (!sqrt.valid() || draft.OnlyReader(root) != id || draft.node(sqrt).calls != draft.node(id).calls) continue;
    Node fused = draft.node(id);
    fused.op = "rsqrt";
    fused.inputs = draft.node(sqrt).inputs;
    const Rank rank = draft.rank(id);
    draft.Remove(sqrt);
    draft.Remove(id);
    draft.Add(std::move(fused), rank);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
