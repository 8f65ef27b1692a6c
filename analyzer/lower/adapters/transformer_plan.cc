// The plan of tensor parallelism that a transformer's graph suggests.
#include <algorithm>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/lower/adapters/layers.h"
#include "analyzer/lower/adapters/tensor_parallel.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

bool IsLayer(const Lowered& lowered, const FrameworkNode& node) {
  return IsProduct(node.op) && node.inputs.size() > 1 && !node.module.empty() &&
         ParameterBehind(lowered, node.inputs[1]).valid();
}

// What a split dimension passes through between a column-wise layer and a row-wise one.
bool LetsPass(const FrameworkNode& node) {
  switch (FactsOf(node.op).family) {
    case OpFamily::kView:
    case OpFamily::kUnary:
    case OpFamily::kScalar:
    case OpFamily::kDropout:
    case OpFamily::kBinary:
    case OpFamily::kMatmul:
    case OpFamily::kSoftmax:
    case OpFamily::kNorm:
    case OpFamily::kReduce:
    case OpFamily::kAttention: return true;
    case OpFamily::kShape: return node.op == "cat";
    default: return false;
  }
}

class LayerSources {
 public:
  explicit LayerSources(const Lowered& lowered) : lowered_(lowered) {}

  // The layers that all of the layer's input comes from; nullopt: some of it comes from elsewhere. What no parameter
  // and no input is behind (positions, masks) counts for nothing.
  std::optional<std::vector<NodeId>> Of(const FrameworkNode& layer) const {
    std::vector<NodeId> sources;
    std::vector<TensorId> open = {layer.inputs[0]};
    absl::flat_hash_set<TensorId> seen(open.begin(), open.end());
    while (!open.empty()) {
      const TensorId id = open.back();
      open.pop_back();
      const FrameworkNode* maker = lowered_.graph.MakerOf(id);
      if (maker == nullptr) {
        if (lowered_.kinds[id] == TensorKind::kInput && IsFloating(lowered_.graph.tensors[id].dtype)) return {};
        continue;
      }
      if (IsLayer(lowered_, *maker)) {
        sources.push_back(lowered_.graph.tensors[id].producer);
        continue;
      }
      if (FactsOf(maker->op).family == OpFamily::kCreate) continue;
      if (!LetsPass(*maker)) {
        if (IsFloating(lowered_.graph.tensors[id].dtype)) return {};
        continue;
      }
      for (const TensorId input : maker->inputs) {
        if (input.valid() && seen.insert(input).second) open.push_back(input);
      }
    }
    return sources;
  }

 private:
  const Lowered& lowered_;
};

// A path as a pattern that matches nothing else.
std::string Exactly(const std::string& module) { return absl::StrReplaceAll(module, {{".", "\\."}}); }

bool IsReturned(const Lowered& lowered, TensorId id) {
  const FrameworkGraph& graph = lowered.graph;
  for (;;) {
    if (std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end()) return true;
    const NodeIds& readers = graph.tensors[id].consumers;
    if (readers.size() != 1 || !IsView(graph.nodes[readers.front()].op)) return false;
    id = graph.nodes[readers.front()].outputs.front();
  }
}

}  // namespace

absl::StatusOr<TensorPlan> FindTensorPlan(const Lowered& lowered, const TensorLayout& layout) {
  const LayerSources sources(lowered);
  absl::flat_hash_map<std::string, TensorStyle> styles;
  const auto set = [&](const FrameworkNode& node, TensorStyle style) { styles.try_emplace(node.module, style); };
  const auto& nodes = lowered.graph.nodes;
  for (const FrameworkNode& node : nodes) {
    if (!IsLayer(lowered, node) || styles.contains(node.module)) continue;
    const auto from = sources.Of(node);
    if (!from || from->empty()) continue;
    // A chain of layers is split in pairs.
    if (std::any_of(from->begin(), from->end(), [&](NodeId id) {
          const auto known = styles.find(nodes[id].module);
          return known != styles.end() && known->second == TensorStyle::kRowwise;
        })) {
      continue;
    }
    set(node, TensorStyle::kRowwise);
    for (const NodeId id : *from) set(nodes[id], TensorStyle::kColwise);
  }
  if (styles.empty() || layout.sequence) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                       layout.sequence ? "--sequence-parallel wants a plan that says where the sequence is split"
                                       : "--tp: no layers that belong together were found in the graph",
                       {"way out: --tp T:PLAN, a JSON file that names the layers to split"});
  }
  for (const FrameworkNode& node : nodes) {
    const bool table = node.op == "embedding" && !node.module.empty() && node.inputs.size() > 1 &&
                       lowered.kinds[node.inputs[0]] == TensorKind::kParameter &&
                       lowered.kinds[node.inputs[1]] == TensorKind::kInput;
    if (table) set(node, TensorStyle::kEmbedding);
    if (IsLayer(lowered, node) && IsReturned(lowered, node.outputs.front())) set(node, TensorStyle::kGathered);
  }
  TensorPlan plan;
  for (const auto& [module, style] : styles) plan.emplace_back(Exactly(module), style);
  std::sort(plan.begin(), plan.end());
  return plan;
}

}  // namespace onnx_mem
