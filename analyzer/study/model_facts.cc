#include "analyzer/study/model_facts.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace onnx_mem {

void CopyModelFacts(const Enacted& enacted, Analysis& analysis) {
  analysis.parameters = enacted.parameters;
  analysis.parameter_count = enacted.parameter_count;
  analysis.parameter_bytes = enacted.parameter_bytes;
  analysis.buffer_bytes = enacted.buffer_bytes;
  analysis.forward_flops = enacted.forward_flops;
  analysis.batch_statistics = enacted.batch_statistics;
}

void CopyFindings(const Enacted& enacted, Analysis& analysis) {
  analysis.diagnostics.insert(analysis.diagnostics.end(), enacted.diagnostics.begin(), enacted.diagnostics.end());
  analysis.plain_rewrites = enacted.plain_rewrites;
}

bool IsLowerBound(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& d) {
    return d.code == Code::kShapeUnknown || d.code == Code::kCustomOp || d.code == Code::kUnknownSize;
  });
}

bool HasOpaqueBodies(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.code == Code::kOpaqueSubgraph; });
}

std::shared_ptr<const Graph> WithPaths(const std::vector<Parameter>& parameters,
                                       const std::shared_ptr<const ImportedModel>& model) {
  absl::flat_hash_map<absl::string_view, const std::string*> paths;
  for (const Parameter& p : parameters) {
    if (p.name != p.file_name) paths.emplace(p.file_name, &p.name);
  }
  if (paths.empty()) return {model, &model->graph};
  auto graph = std::make_shared<Graph>(model->graph);
  for (Tensor& tensor : graph->tensors) {
    const auto found = paths.find(tensor.name);
    if (found != paths.end()) tensor.path = *found->second;
  }
  return graph;
}

}  // namespace onnx_mem
