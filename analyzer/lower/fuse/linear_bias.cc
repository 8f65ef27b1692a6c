// MatMul and Add of a stored vector in one module call: nn.Linear is one addmm. The Add of another module (a position
// embedding, a residual) stays.
//
//   linear(x[B,T,K], W) -> t    add(bias[N], t) -> y        linear(x, W, bias) -> y
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

bool IsBiasOf(const Draft& draft, TensorId bias, int64_t features) {
  if (!bias.valid() || draft.producer(bias).valid() || draft.kind(bias) == TensorKind::kInput) return false;
  const Shape& shape = draft.tensor(bias).shape;
  return shape.rank() == 1 && shape.dims[0] == features;
}

}  // namespace

int64_t FuseLinearBias(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    const Node& linear = draft.node(id);
    if (linear.op != "linear" || linear.inputs.size() != 2) continue;
    const TensorId product = linear.outputs[0];
    const NodeId reader = draft.OnlyReader(product);
    if (!reader.valid() || draft.node(reader).op != "add" || !SameCall(linear, draft.node(reader))) continue;
    const Shape& shape = draft.tensor(product).shape;
    const TensorId bias = OtherOperand(draft.node(reader), product);
    if (shape.rank() == 0 || !IsBiasOf(draft, bias, shape.dims.back())) continue;
    Node fused = linear;
    fused.inputs.push_back(bias);
    fused.outputs = draft.node(reader).outputs;
    const Rank rank = draft.rank(id);
    draft.Remove(id);
    draft.Remove(reader);
    draft.Add(std::move(fused), rank);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
