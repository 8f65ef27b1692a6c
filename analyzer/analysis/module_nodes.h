// Which nodes run in a module, looked up by its path: a plan of thousands of segments asks for each of them.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_MODULE_NODES_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_MODULE_NODES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem {

// Does `node` run in a module whose path is `module` or below it? The root ("") holds everything.
bool RunsIn(const FrameworkNode& node, std::string_view module);

// The nodes of `graph`, which it refers to, by each module that they run in.
class ModuleNodes {
 public:
  explicit ModuleNodes(const FrameworkGraph& graph);

  // Indices of the nodes for which RunsIn(node, module), rising.
  absl::Span<const int32_t> In(std::string_view module) const;

 private:
  absl::flat_hash_map<std::string_view, std::vector<int32_t>> nodes_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_MODULE_NODES_H_
