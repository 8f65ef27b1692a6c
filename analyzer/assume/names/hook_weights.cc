#include "analyzer/assume/names/hook_weights.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onnx_mem::names {
namespace {

bool ReadsNamed(const FrameworkGraph& graph, const FrameworkNode& node, std::string_view end) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
    return id.valid() && !graph.tensors[id].producer.valid() && graph.tensors[id].name.ends_with(end);
  });
}

}  // namespace

bool IsKeptByHook(const FrameworkGraph& graph, TensorId id) {
  const FrameworkNode& node = *graph.MakerOf(id);
  if (node.op == "weight_norm") return ReadsNamed(graph, node, "_v") && ReadsNamed(graph, node, "_g");
  return (node.op == "div" || node.op == "mul") && ReadsNamed(graph, node, "_orig");
}

void AddWeightsOfRunBefore(Lowered& lowered) {
  FrameworkGraph& graph = lowered.graph;
  for (const FrameworkNode& node : graph.nodes) {
    for (const TensorId now : node.outputs) {
      if (!now.valid() || !IsKeptByHook(graph, now)) continue;
      Tensor before = graph.tensors[now];
      before.name = absl::StrCat(before.name, " of the run before");
      before.producer = NodeId();
      before.consumers.clear();
      lowered.replaced.push_back({.before = graph.tensors.Add(std::move(before)), .now = now});
      lowered.kinds.Add(TensorKind::kBuffer);
    }
  }
}

}  // namespace onnx_mem::names
