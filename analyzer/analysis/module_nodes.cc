#include "analyzer/analysis/module_nodes.h"

#include <string>

#include "absl/strings/match.h"

namespace onnx_mem {

bool RunsIn(const FrameworkNode& node, std::string_view module) {
  if (module.empty()) return true;
  const std::string& path = node.module;
  return absl::StartsWith(path, absl::string_view(module.data(), module.size())) &&
         (path.size() == module.size() || path[module.size()] == '.');
}

ModuleNodes::ModuleNodes(const FrameworkGraph& graph) {
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    const std::string_view path = graph.nodes[NodeId(i)].module;
    nodes_[""].push_back(i);
    for (size_t end = 0; !path.empty() && end != std::string_view::npos;) {
      end = path.find('.', end + 1);
      nodes_[path.substr(0, end)].push_back(i);
    }
  }
}

absl::Span<const int32_t> ModuleNodes::In(std::string_view module) const {
  const auto found = nodes_.find(module);
  return found == nodes_.end() ? absl::Span<const int32_t>() : absl::MakeConstSpan(found->second);
}

}  // namespace onnx_mem
