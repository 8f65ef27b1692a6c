#include "analyzer/lower/adapters/transformer_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/module_path.h"
#include "analyzer/lower/adapters/fused_layers.h"
#include "analyzer/lower/adapters/layers.h"
#include "analyzer/lower/adapters/sequence_gathers.h"
#include "analyzer/lower/adapters/split_rules.h"
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

bool IsTable(const Lowered& lowered, const FrameworkNode& node) {
  return node.op == "embedding" && !node.module.empty() && node.inputs.size() > 1 &&
         lowered.kinds[node.inputs[0]] == TensorKind::kParameter;
}

// An input of the model, or a view of one.
bool IsGiven(const Lowered& lowered, TensorId id) {
  for (const FrameworkNode* maker; (maker = lowered.graph.MakerOf(id)) != nullptr; id = maker->inputs.front()) {
    if (!IsView(maker->op)) return false;
  }
  return lowered.kinds[id] == TensorKind::kInput;
}

class LayerSources {
 public:
  explicit LayerSources(const Lowered& lowered) : lowered_(lowered) {}

  // The layers that all of the layer's input comes from, and the tables of what attention adds to its scores, which
  // have a column for each head; nullopt: some of it comes from elsewhere. What no parameter and no input is behind
  // (positions, masks) counts for nothing.
  std::optional<std::vector<NodeId>> Of(const FrameworkNode& layer) const {
    std::vector<NodeId> sources;
    std::vector<Open> open = {{layer.inputs[0], false}};
    absl::flat_hash_set<std::pair<TensorId, bool>> seen(open.begin(), open.end());
    while (!open.empty()) {
      const auto [id, of_scores] = open.back();
      open.pop_back();
      const FrameworkNode* maker = lowered_.graph.MakerOf(id);
      if (maker == nullptr) {
        if (lowered_.kinds[id] == TensorKind::kInput && IsFloating(lowered_.graph.tensors[id].dtype)) return {};
        continue;
      }
      const bool table = of_scores && IsTable(lowered_, *maker) && !IsGiven(lowered_, maker->inputs[1]);
      if (table || IsLayer(lowered_, *maker)) {
        sources.push_back(lowered_.graph.tensors[id].producer);
        continue;
      }
      if (FactsOf(maker->op).family == OpFamily::kCreate) continue;
      if (!LetsPass(*maker)) {
        if (IsFloating(lowered_.graph.tensors[id].dtype)) return {};
        continue;
      }
      const OpFamily family = FactsOf(maker->op).family;
      for (size_t i = 0; i < maker->inputs.size(); ++i) {
        const TensorId input = maker->inputs[i];
        const bool mask = family == OpFamily::kAttention && i == kMaskOfAttention;
        const bool scores = of_scores || mask || family == OpFamily::kSoftmax;
        if (input.valid() && seen.insert({input, scores}).second) open.emplace_back(input, scores);
      }
    }
    return sources;
  }

 private:
  using Open = std::pair<TensorId, bool>;  // whether it is what scores are made of

  const Lowered& lowered_;
};

bool IsReturned(const Lowered& lowered, TensorId id) {
  const FrameworkGraph& graph = lowered.graph;
  for (;;) {
    if (std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end()) return true;
    const NodeIds& readers = graph.tensors[id].consumers;
    if (readers.size() != 1 || !IsView(graph.nodes[readers.front()].op)) return false;
    id = graph.nodes[readers.front()].outputs.front();
  }
}

// What runs around `node` in its module's call: its nodes side by side, as long as they have no other layer among them.
NodeSpan CallAround(const Lowered& lowered, NodeId id) {
  const auto& nodes = lowered.graph.nodes;
  const std::string& module = nodes[id].module;
  NodeSpan span{id.value(), id.value()};
  const auto is_own = [&](int32_t i) {
    return nodes.contains(NodeId(i)) && IsInside(nodes[NodeId(i)].module, module) && !module.empty();
  };
  while (is_own(span.first - 1)) --span.first;
  while (is_own(span.last + 1)) ++span.last;
  for (int32_t i = span.first; i <= span.last; ++i) {
    const bool other = i != id.value() && IsLayer(lowered, nodes[NodeId(i)]);
    if (other) return {id.value(), id.value()};
  }
  return span;
}

class PlanFinder {
 public:
  PlanFinder(const Lowered& lowered, const TensorLayout& layout)
      : lowered_(lowered), nodes_(lowered.graph.nodes), layout_(layout) {}

  absl::StatusOr<std::vector<StyledModule>> Find() {
    PairLayers();
    if (modules_.empty()) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                         "--tp: no layers that belong together were found in the graph",
                         {"way out: --tp T:PLAN, a JSON file that names the layers to split"});
    }
    AddEnds();
    std::vector<StyledModule> plan;
    for (const auto& [id, module] : modules_) plan.push_back(module);
    if (layout_.sequence) AddGathers(lowered_, plan);
    SortModules(plan);
    return plan;
  }

 private:
  bool Has(NodeId id, TensorStyle style) const {
    const auto known = modules_.find(id);
    return known != modules_.end() && known->second.style == style;
  }

  void Set(NodeId id, TensorStyle style) {
    if (modules_.contains(id)) return;
    const NodeSpan span = CallAround(lowered_, id);
    StyledModule module{nodes_[id].module, style, span.first, span.last, 1, {}};
    if (style == TensorStyle::kColwise && IsLayer(lowered_, nodes_[id])) module.pieces = PiecesOf(lowered_, nodes_[id]);
    modules_.emplace(id, std::move(module));
  }

  // A chain of layers is split in pairs.
  void PairLayers() {
    const LayerSources sources(lowered_);
    for (NodeId id(0); nodes_.contains(id); id = NodeId(id.value() + 1)) {
      if (!IsLayer(lowered_, nodes_[id]) || modules_.contains(id)) continue;
      const auto from = sources.Of(nodes_[id]);
      if (!from || from->empty()) continue;
      if (std::any_of(from->begin(), from->end(), [&](NodeId each) { return Has(each, TensorStyle::kRowwise); }))
        continue;
      Set(id, TensorStyle::kRowwise);
      for (const NodeId each : *from) Set(each, TensorStyle::kColwise);
    }
  }

  // The embedding, and the head.
  void AddEnds() {
    std::vector<NodeId> tables;
    const Dims* embedded = nullptr;
    for (NodeId id(0); nodes_.contains(id); id = NodeId(id.value() + 1)) {
      const FrameworkNode& node = nodes_[id];
      if (IsLayer(lowered_, node) && IsReturned(lowered_, node.outputs.front())) Set(id, TensorStyle::kGathered);
      if (!IsTable(lowered_, node)) continue;
      tables.push_back(id);
      if (!IsGiven(lowered_, node.inputs[1])) continue;
      Set(id, TensorStyle::kEmbedding);
      if (embedded == nullptr) embedded = &lowered_.graph.tensors[node.outputs.front()].shape.dims;
    }
    if (!layout_.sequence || embedded == nullptr) return;
    for (const NodeId id : tables) {
      const Dims& own = lowered_.graph.tensors[nodes_[id].outputs.front()].shape.dims;
      if (own.size() == 3 && std::equal(own.begin() + 1, own.end(), embedded->begin() + 1, embedded->end())) {
        Set(id, TensorStyle::kEmbedding);
      }
    }
  }

  const Lowered& lowered_;
  const IdVector<NodeId, FrameworkNode>& nodes_;
  const TensorLayout& layout_;
  std::map<NodeId, StyledModule> modules_;  // by layer, or table
};

}  // namespace

absl::StatusOr<std::vector<StyledModule>> FindTransformerPlan(const Lowered& lowered, const TensorLayout& layout) {
  return PlanFinder(lowered, layout).Find();
}

}  // namespace onnx_mem
