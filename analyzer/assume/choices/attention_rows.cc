#include "analyzer/assume/choices/attention_rows.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// Whether views lead from what is stored row by row to `id` with another last axis.
bool HasMovedRows(const FrameworkGraph& graph, TensorId id) {
  for (const FrameworkNode* maker = graph.MakerOf(id); maker != nullptr; maker = graph.MakerOf(maker->inputs[0])) {
    if (maker->op == "permute") {
      const std::vector<int64_t> order = IntsAttribute(*maker, "perm");
      if (!order.empty() && order.back() + 1 != static_cast<int64_t>(order.size())) return true;
    } else if (!IsView(maker->op)) {
      return false;
    }
  }
  return false;
}

}  // namespace

bool MakeAttentionRowsDense(Lowered& lowered) {
  bool any = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if (node.op != "sdpa" || StringAttribute(node, "kernel", "math") == "math") continue;
    int64_t& made = std::get<int64_t>(node.attributes.try_emplace("made_dense", int64_t{0}).first->second);
    if (made != 0) continue;
    const bool moved = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](TensorId id) { return HasMovedRows(lowered.graph, id); });
    made = moved ? 1 : 0;
    any |= moved;
  }
  return any;
}

}  // namespace onnx_mem
