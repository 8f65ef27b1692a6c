#include "analyzer/lower/adapters/styled_modules.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/module_path.h"
#include "analyzer/graph/name_pattern.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {

absl::Status CannotSplit(std::string message) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage, std::move(message),
                     {"way out: --tp T:PLAN, a JSON file that names the layers to split"});
}

void SortModules(std::vector<StyledModule>& modules) {
  StableSort(modules, [](const StyledModule& a, const StyledModule& b) {
    return a.first != b.first ? a.first < b.first : a.path.size() < b.path.size();
  });
}

absl::StatusOr<std::vector<StyledModule>> StyledModulesOf(const FrameworkGraph& graph, const TensorPlan& plan) {
  std::map<std::string, std::pair<int32_t, int32_t>> spans;
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const auto extend = [&](std::string_view module) {
      spans.try_emplace(std::string(module), id.value(), id.value()).first->second.second = id.value();
    };
    ForEachOuterModule(graph.nodes[id].module, extend);
    if (!graph.nodes[id].module.empty()) extend(graph.nodes[id].module);
  }
  std::vector<StyledModule> modules;
  for (const auto& [text, style] : plan) {
    const std::optional<NamePattern> pattern = NamePattern::Compile(text);
    const size_t before = modules.size();
    for (const auto& [path, span] : spans) {
      if (pattern && pattern->Matches(path)) modules.push_back({path, style, span.first, span.second, 1, {}});
    }
    if (modules.size() == before) return CannotSplit(absl::StrCat("--tp: no module matches '", text, "'"));
  }
  SortModules(modules);
  return modules;
}

}  // namespace onnx_mem
