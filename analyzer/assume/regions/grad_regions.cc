#include "analyzer/assume/regions/grad_regions.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/assume/regions/own_checkpoints.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kWithout = "requires_grad_none";
constexpr std::string_view kLikely = "grad_region";  // 1: with or without is not certain

// Not on the storage of what they read, but of its elements.
constexpr auto kForms =
    std::to_array<std::string_view>({"cast", "mul_scalar", "gather", "index", "index_select", "pad"});

// Autocast put it there: its line has the operator that it casts for.
bool IsOfAutocast(const FrameworkNode& node) {
  return node.op == "cast" && node.source_trace->find("aten._to_copy") == std::string::npos &&
         node.source_trace->find("aten.to.") == std::string::npos;
}

enum class GradRegion : uint8_t { kWith, kLikelyWith, kLikelyWithout };

class GradRegions {
 public:
  // `with`: regions that are known to have run with gradients.
  GradRegions(Lowered& lowered, const std::set<std::string, std::less<>>& with)
      : lowered_(lowered), graph_(lowered.graph) {
    for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
      const std::string_view region = RegionOf(graph_.nodes[id]);
      if (region.empty() || with.contains(region)) {
        running_outside_.insert(graph_.nodes[id].module);
      } else {
        regions_[region].push_back(id);
      }
    }
  }

  void Settle() {
    if (regions_.empty()) return;
    trained_ = IdVector<TensorId, bool>(graph_.tensors.size(), false);
    for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
      trained_[id] = lowered_.kinds[id] == TensorKind::kParameter && IsFloating(graph_.tensors[id].dtype);
    }
    FindScored();
    std::map<std::string_view, GradRegion> settled;
    for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
      FrameworkNode& node = graph_.nodes[id];
      const std::string_view region = RegionOf(node);
      if (IsIn(node)) {
        const auto [found, is_new] = settled.try_emplace(region, GradRegion::kWith);
        if (is_new) found->second = Judge(region);
        if (found->second != GradRegion::kWith) node.attributes[std::string(kLikely)] = int64_t{1};
        if (found->second == GradRegion::kLikelyWithout) node.attributes[std::string(kWithout)] = int64_t{1};
      }
      Follow(node);
    }
  }

 private:
  bool IsIn(const FrameworkNode& node) const { return regions_.contains(RegionOf(node)); }

  // Its results are trained if it has gradients and something that it reads is.
  void Follow(const FrameworkNode& node) {
    if (IntAttribute(node, kWithout, 0) != 0 || node.op == "detach") return;
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](TensorId input) { return input.valid() && trained_[input]; });
    for (TensorId output : node.outputs) {
      if (output.valid()) trained_[output] = any && IsFloating(graph_.tensors[output].dtype);
    }
  }

  bool IsReadOutside(TensorId id) const {
    const auto& readers = graph_.tensors[id].consumers;
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end() ||
           std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return !IsIn(graph_.nodes[reader]); });
  }

  // The node that computed `id`, behind changes of its form; invalid for what no node makes.
  NodeId ComputedBy(TensorId id) const {
    constexpr int kMostSteps = 8;
    NodeId maker;
    for (int step = 0; step < kMostSteps && id.valid() && graph_.tensors[id].producer.valid(); ++step) {
      maker = graph_.tensors[id].producer;
      const FrameworkNode& node = graph_.nodes[maker];
      const bool formed =
          IsView(node.op) || IsCopy(node.op) ||
          std::any_of(kForms.begin(), kForms.end(), [&](std::string_view form) { return node.op == form; });
      if (!formed || !RegionOf(node).empty() || node.inputs.empty()) break;
      id = node.inputs[0];
    }
    return maker;
  }

  // Whether the result of a product is made a distribution: scores, scaled and masked.
  bool LeadsToSoftmax(NodeId product) const {
    constexpr int kMostSteps = 6;
    NodeId node = product;
    for (int step = 0; step < kMostSteps && node.valid() && !graph_.nodes[node].outputs.empty(); ++step) {
      if (IsSoftmax(graph_.nodes[node].op)) return true;
      const auto& readers = graph_.tensors[graph_.nodes[node].outputs[0]].consumers;
      node = readers.empty() ? NodeId() : readers.front();
    }
    return false;
  }

  // Regions that made both the queries and the keys of an attention: without gradients it would train neither.
  void FindScored() {
    for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
      const FrameworkNode& node = graph_.nodes[id];
      const bool scores = IsAttention(node.op) ||
                          ((node.op == "matmul" || node.op == "bmm" || node.op == "einsum") && LeadsToSoftmax(id));
      if (!scores || node.inputs.size() < 2 || !RegionOf(node).empty()) continue;
      const NodeId queries = ComputedBy(node.inputs[0]), keys = ComputedBy(node.inputs[1]);
      if (!queries.valid() || !keys.valid() || queries == keys) continue;
      const std::string_view of_queries = RegionOf(graph_.nodes[queries]), of_keys = RegionOf(graph_.nodes[keys]);
      if (!of_queries.empty() && !of_keys.empty()) scored_.insert({of_queries, of_keys});
    }
  }

  // All nodes before the region's first have been followed.
  GradRegion Judge(std::string_view region) const {
    if (scored_.contains(region)) return GradRegion::kWith;
    bool carries = false, read_outside = false, has_layers = false;
    for (NodeId id : regions_.at(region)) {
      const FrameworkNode& node = graph_.nodes[id];
      if (IsOfAutocast(node)) return GradRegion::kWith;
      for (TensorId input : node.inputs) {
        if (!input.valid() || !trained_[input]) continue;
        const bool is_parameter = !graph_.tensors[input].producer.valid();
        carries |= !is_parameter;
        read_outside |= !is_parameter && IsReadOutside(input);
        has_layers |= is_parameter && !running_outside_.contains(node.module);
      }
    }
    if (carries && !read_outside) return GradRegion::kWith;
    return carries && has_layers ? GradRegion::kLikelyWith : GradRegion::kLikelyWithout;
  }

  Lowered& lowered_;
  FrameworkGraph& graph_;
  std::map<std::string_view, NodeIds> regions_;  // by name
  std::set<std::string> running_outside_;        // modules
  std::set<std::string_view> scored_;            // regions
  IdVector<TensorId, bool> trained_;
};

}  // namespace

std::string_view RegionOf(const FrameworkNode& node) {
  constexpr std::string_view kGenerated = "File \"<eval_with_key>.";
  if (node.source_trace == nullptr) return {};
  const std::string_view trace = *node.source_trace;
  const size_t at = trace.find(kGenerated);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + kGenerated.size();
  return trace.substr(begin, trace.find('"', begin) - begin);
}

void SettleGradRegions(Lowered& lowered) { GradRegions(lowered, FindOwnCheckpoints(lowered)).Settle(); }

bool TurnGradRegions(Lowered& lowered) {
  bool any = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if (IntAttribute(node, kLikely, 0) == 0) continue;
    any = true;
    if (node.attributes.erase(std::string(kWithout)) == 0) node.attributes[std::string(kWithout)] = int64_t{1};
  }
  return any;
}

}  // namespace onnx_mem
