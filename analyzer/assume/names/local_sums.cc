// The part of locals.h about sums: x = x + self.f(x) takes over a name, out += identity leaves one, self.norm(a + b)
// holds two.
#include <algorithm>
#include <span>

#include "analyzer/assume/names/locals.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::names {
// x = x + f(x), x = x + self.position: the sum takes over the name of its operand.
bool Locals::IsResidual(NodeId sum) const {
  const FrameworkNode& node = graph_.nodes[sum];
  for (size_t i : {0, 1}) {
    const TensorId x = node.inputs[i], branch = node.inputs[1 - i];
    if (!x.valid() || !branch.valid() || !graph_.tensors[x].producer.valid()) return true;
    const int32_t made = graph_.tensors[branch].producer.value();
    const auto& readers = graph_.tensors[x].consumers;
    const auto is_before = [&](NodeId reader) { return reader < sum && reader.value() <= made; };
    if (std::any_of(readers.begin(), readers.end(), is_before)) return true;
  }
  return false;
}

// LayerNorm(a + b): the operands of a sum that is itself the argument of the next module call.
int32_t Locals::HeldBySumInCall(TensorId id) const {
  int32_t last = -1;
  for (NodeId reader : graph_.tensors[id].consumers) {
    const FrameworkNode& node = graph_.nodes[reader];
    if (node.op != "add" || !node.outputs[0].valid()) continue;
    const NodeIds& next = graph_.tensors[node.outputs[0]].consumers;
    if (next.size() != 1) continue;
    const std::span<const int32_t> outer = calls_.of_node(reader.value()), inner = calls_.of_node(next[0].value());
    if (inner.size() < outer.size() || !std::equal(outer.begin(), outer.end(), inner.begin())) continue;
    const bool is_norm =
        IsNorm(graph_.nodes[next[0]].op) || IsNormCall(next[0].value(), {.depth = outer.size(), .frame = -1});
    if (IsResidual(reader) && !is_norm) continue;
    last = std::max(last, calls_.EndOfCallEntered(reader.value(), next[0].value()).value_or(-1));
  }
  return last;
}

}  // namespace onnx_mem::names
