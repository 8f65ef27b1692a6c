#include "analyzer/lower/adapters/sequence_gathers.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analyzer/graph/module_path.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// What the module's layer reads, as the module is given it. Invalid: it has no layer.
TensorId InputOf(const Lowered& lowered, const StyledModule& module) {
  for (int32_t i = module.first; i <= module.last; ++i) {
    const FrameworkNode& node = lowered.graph.nodes[NodeId(i)];
    if (!IsProduct(node.op)) continue;
    TensorId id = node.inputs.front();
    for (;;) {
      const NodeId maker = lowered.graph.tensors[id].producer;
      if (!maker.valid() || maker.value() < module.first || !IsView(lowered.graph.nodes[maker].op)) return id;
      id = lowered.graph.nodes[maker].inputs.front();
    }
  }
  return TensorId();
}

// "a.b" of "a.b.q" and "a.b.k".
std::string Common(const std::string& a, const std::string& b) {
  std::string common;
  ForEachOuterModule(a, [&](std::string_view outer) {
    if (IsAtOrBelow(b, outer)) common = std::string(outer);
  });
  return common;
}

// The call of `module` that has the nodes of `layers`: its nodes side by side.
NodeSpan CallOf(const Lowered& lowered, const std::string& module, NodeSpan layers) {
  const auto is_own = [&](int32_t i) {
    return lowered.graph.nodes.contains(NodeId(i)) && IsAtOrBelow(lowered.graph.nodes[NodeId(i)].module, module);
  };
  while (is_own(layers.first - 1)) --layers.first;
  while (is_own(layers.last + 1)) ++layers.last;
  return layers;
}

struct SharedInput {
  std::string module;
  NodeSpan layers;
  size_t count = 0;
};

}  // namespace

void AddGathers(const Lowered& lowered, std::vector<StyledModule>& plan) {
  std::map<TensorId, SharedInput> groups;  // by what is read
  for (const StyledModule& module : plan) {
    if (module.style != TensorStyle::kColwise) continue;
    const TensorId x = InputOf(lowered, module);
    if (!x.valid()) continue;
    SharedInput& group = groups[x];
    group.module = group.count == 0 ? module.path : Common(group.module + ".", module.path);
    if (group.count == 0) group.layers = {module.first, module.last};
    group.layers = {std::min(group.layers.first, module.first), std::max(group.layers.last, module.last)};
    ++group.count;
  }
  for (const auto& [x, group] : groups) {
    if (group.count < 2 || group.module.empty()) continue;
    const NodeSpan call = CallOf(lowered, group.module, group.layers);
    const NodeId maker = lowered.graph.tensors[x].producer;
    const bool given = !maker.valid() || maker.value() < call.first;
    if (given) plan.push_back({group.module, TensorStyle::kGatherInput, call.first, call.last, 1, {}});
  }
}

}  // namespace onnx_mem
