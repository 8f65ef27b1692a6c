// torch.addcmul(self, a, b) has no ONNX operator: the TorchScript exporter writes self + (a * b) * value, with the
// product by `value` there even when it is 1, as it is by default. Code has no product by 1, which tells it apart.
// Source: torch/onnx symbolic_opset9, addcmul.
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {

int64_t FuseAddcmul(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    const Node& sum = draft.node(id);
    if (sum.op != "add") continue;
    for (const TensorId scaled : {sum.inputs[1], sum.inputs[0]}) {
      const NodeId scale = draft.ProducerIf(scaled, "mul_scalar");
      if (!scale.valid() || !IsScalarOp(draft.node(scale), "mul_scalar", 1.0) || draft.OnlyReader(scaled) != id)
        continue;
      const TensorId product = draft.node(scale).inputs[0];
      const NodeId mul = draft.ProducerIf(product, "mul");
      if (!mul.valid() || draft.OnlyReader(product) != scale || !SameCall(draft.node(mul), sum)) continue;
      Node fused = MakeNode("addcmul", {OtherOperand(sum, scaled)}, sum.outputs);
      for (TensorId factor : draft.node(mul).inputs) fused.inputs.push_back(factor);
      const Rank rank = draft.rank(id);
      Replace(draft, {mul, scale, id}, std::move(fused), rank);
      ++count;
      break;
    }
  }
  return count;
}

}  // namespace onnx_mem
