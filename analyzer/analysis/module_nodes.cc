#include "analyzer/analysis/module_nodes.h"

#include <string>

#include "analyzer/graph/module_path.h"

namespace onnx_mem {

bool RunsIn(const FrameworkNode& node, std::string_view module) { return IsInside(node.module, module); }

ModuleNodes::ModuleNodes(const FrameworkGraph& graph) {
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    const std::string_view path = graph.nodes[NodeId(i)].module;
    nodes_[""].push_back(i);
    ForEachOuterModule(path, [&](std::string_view outer) { nodes_[outer].push_back(i); });
    if (!path.empty()) nodes_[path].push_back(i);
  }
}

absl::Span<const int32_t> ModuleNodes::In(std::string_view module) const {
  const auto found = nodes_.find(module);
  return found == nodes_.end() ? absl::Span<const int32_t>() : absl::MakeConstSpan(found->second);
}

}  // namespace onnx_mem
