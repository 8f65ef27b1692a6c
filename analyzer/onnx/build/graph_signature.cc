#include "analyzer/onnx/build/graph_signature.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem {
namespace {

using LostParameters = absl::flat_hash_map<absl::string_view, absl::string_view>;  // by module

// A module of which no node is left was computed with what its caller made of it: the caller lost its parameter (T5's
// relative_attention_bias, an nn.Embedding of its own).
void GiveToCallers(const Graph& graph, LostParameters& lost) {
  absl::flat_hash_set<absl::string_view> running;
  for (const Node& node : graph.nodes) running.insert(View(CallingModuleOf(node)));
  LostParameters callers;
  for (const auto& [module, name] : lost) {
    const size_t dot = module.rfind('.');
    if (dot != absl::string_view::npos && !running.contains(module)) callers.emplace(module.substr(0, dot), name);
  }
  for (const auto& [module, name] : callers) lost.emplace(module, name);
}

}  // namespace

void MarkLostParameters(Graph& graph) {
  absl::flat_hash_set<absl::string_view> present;
  for (TensorId id : graph.initializers) {
    const Tensor& tensor = graph.tensors[id];
    if (graph.signature.FindTarget(tensor.name) != nullptr) present.insert(tensor.name);
  }
  LostParameters lost;
  for (const SignatureEntry& entry : graph.signature.entries()) {
    const absl::string_view target = entry.target;
    const size_t dot = target.rfind('.');
    if (entry.kind != SignatureKind::kParameter || present.contains(target) || dot == absl::string_view::npos) continue;
    absl::string_view& name = lost[target.substr(0, dot)];
    if (name.empty() || target < name) name = target;
  }
  GiveToCallers(graph, lost);
  for (Node& node : graph.nodes) {
    const auto found = lost.find(View(CallingModuleOf(node)));
    if (found != lost.end()) node.lost_parameter = std::string(found->second);
  }
}

}  // namespace onnx_mem
