// If: the branch that runs where the condition is known; else room for whichever does.
#include "analyzer/onnx/infer/body.h"

namespace onnx_mem {

absl::Status InferIf(InferencePass& pass, NodeSite& site) {
  const std::optional<int64_t> condition = KnownScalar(site.inputs.empty() ? nullptr : site.inputs[0]);
  std::vector<std::vector<ScopeValue>> results;
  absl::Status failure;
  for (const bool when : {true, false}) {
    const Body body = FindBody(site.node, when ? "then_branch" : "else_branch");
    if (body.graph == nullptr) continue;
    const bool taken = condition && (*condition != 0) == when;
    if (taken) site.fact.taken_body = static_cast<int64_t>(body.index);
    InferredGraph facts;
    absl::StatusOr<std::vector<ScopeValue>> outputs = RunBody(pass, site.scope, *body.graph, {}, facts);
    if (!outputs.ok()) {
      // A branch that never runs may not fit; with an unknown condition the fitting one is what can run.
      if (taken) return outputs.status();
      failure = outputs.status();
      continue;
    }
    site.bodies[body.index] = std::move(facts);
    if (!condition || taken) results.push_back(*std::move(outputs));
  }
  if (results.empty()) return failure;
  for (size_t i = 0; i < static_cast<size_t>(site.node.output_size()); ++i) {
    ScopeValue value = i < results[0].size() ? results[0][i] : ScopeValue();
    for (size_t other = 1; other < results.size(); ++other) {
      ScopeValue missing;
      value = Cover(value, i < results[other].size() ? results[other][i] : missing, pass);
    }
    site.scope.Set(site.node.output(static_cast<int>(i)), std::move(value));
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
