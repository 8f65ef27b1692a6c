#include "analyzer/assume/table/operand_order.h"

#include <algorithm>
#include <utility>

#include "analyzer/lower/draft/match.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {

bool HasSwappedOperands(const Lowered& lowered) {
  return std::any_of(lowered.graph.nodes.begin(), lowered.graph.nodes.end(),
                     [](const FrameworkNode& node) { return IntAttribute(node, kMaybeSwapped, 0) == 1; });
}

bool SwapOperands(Lowered& lowered) {
  bool any = false;
  FrameworkGraph& graph = lowered.graph;
  for (FrameworkNode& node : graph.nodes) {
    const bool commutes = Commutes(node.op) && IsArithmetic(node.op) && node.inputs.size() == 2;
    const bool scales = node.op == "addcmul" && node.inputs.size() == 3;  // its last two
    if ((!commutes && !scales) || node.attributes.contains("inplace")) continue;
    TensorId &second = node.inputs.back(), &first = node.inputs[node.inputs.size() - 2];
    if (!first.valid() || !second.valid()) continue;
    if (graph.tensors[first].shape == graph.tensors[second].shape) continue;
    std::swap(first, second);
    any = true;
  }
  return any;
}

}  // namespace onnx_mem
