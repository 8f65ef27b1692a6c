// An evaluation export merges initializers of equal contents (torch/csrc/jit/passes/onnx/deduplicate_initializers.cpp,
// DeduplicateInitializersByDataValue): the first is kept, and each other becomes an Identity of it that keeps its name.
//
//   Identity_7: features.norm2.bias = Identity(features.norm1.bias)   ->   an initializer features.norm2.bias
//
// Which of them were one tensor of the model, and which were two with the same numbers:
//   a module's name     Two. What the traced module stores comes into the graph once for each parameter or buffer
//                       object (torch/jit/_trace.py, _unique_state_dict), under the first of its names, so a tensor
//                       that is shared has no second name. But for an embedding's table beside a projection of its
//                       shape, which a scripted module names twice.
//   an exporter's name  What the exporter computed: a folded convolution's bias, a linear's transposed weight. Each
//                       call has one, so the calls of one module share a tensor, and other modules have others.
#include "analyzer/lower/facts/merged_weights.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/facts/scopes.h"

namespace onnx_mem {
namespace {

// The exporter's nodes without a module, which these are, are numbered: "Identity_7".
bool IsMerge(const Graph& graph, const Node& node) {
  if (node.op != "Identity" || !node.domain.empty() || !absl::StartsWith(node.name, "Identity_")) return false;
  if (node.inputs.size() != 1 || node.outputs.size() != 1 || !node.inputs[0].valid() || !node.outputs[0].valid())
    return false;
  const Tensor& kept = graph.tensors[node.inputs[0]];
  const Tensor& merged = graph.tensors[node.outputs[0]];
  return kept.role == TensorRole::kInitializer && kept.dtype == merged.dtype && kept.shape.dims == merged.shape.dims &&
         std::find(graph.outputs.begin(), graph.outputs.end(), node.outputs[0]) == graph.outputs.end();
}

bool LooksUp(const Graph& graph, TensorId id) {
  const NodeIds& readers = graph.tensors[id].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = graph.nodes[reader];
    return node.op == "Gather" && node.inputs[0] == id;
  });
}

// A head that shares the embedding's table.
bool MayBeTied(const Graph& graph, TensorId kept, TensorId merged) {
  return graph.tensors[kept].shape.rank() == 2 && LooksUp(graph, kept) != LooksUp(graph, merged);
}

bool IsOneRow(const Shape& shape) {
  return std::count_if(shape.dims.begin(), shape.dims.end(), [](int64_t d) { return d != 1; }) == 1;
}

// Read as a layer's weight, or a vector that scales or shifts: the parameter of a module, seen through a change of
// layout. Anything else that was computed may have been computed once, for all.
bool IsComputedWeight(const Graph& graph, TensorId id) {
  if (!IsFloating(graph.tensors[id].dtype)) return false;
  if (IsLayerWeight(graph, id)) return true;
  const NodeIds& readers = graph.tensors[id].consumers;
  return IsOneRow(graph.tensors[id].shape) && !readers.empty() &&
         std::all_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return graph.nodes[reader].op == "Mul" || graph.nodes[reader].op == "Add"; });
}

struct Merge {
  NodeId node;
  TensorId same;  // the tensor that it is after all; invalid: one of its own
};

class Splitter {
 public:
  explicit Splitter(const Graph& graph) : graph_(graph), modules_(graph.nodes.size()) {
    ScopeReader scopes(graph);
    for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1))
      modules_[static_cast<size_t>(id.value())] = scopes.Of(graph.nodes[id]).module;
  }

  std::vector<Merge> Merges() {
    std::vector<Merge> merges;
    for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
      if (IsMerge(graph_, graph_.nodes[id])) merges.push_back({id, SameAs(graph_.nodes[id])});
    }
    return merges;
  }

 private:
  // The tensor that `merge` gives under another name; invalid if it is another tensor with the same numbers.
  TensorId SameAs(const Node& merge) {
    const TensorId kept = merge.inputs[0], merged = merge.outputs[0];
    if (!IsExporterName(graph_.tensors[merged].name)) return MayBeTied(graph_, kept, merged) ? kept : TensorId();
    if (!IsComputedWeight(graph_, merged)) return kept;
    const auto [owners, fresh] = owners_.try_emplace(kept);
    if (fresh && IsExporterName(graph_.tensors[kept].name)) owners->second.emplace(OwnerOf(kept), kept);
    const auto [same, is_first] = owners->second.emplace(OwnerOf(merged), merged);
    return is_first ? TensorId() : same->second;
  }

  // The module that reads it, or, in a file without modules, the weight that stands beside it.
  std::string OwnerOf(TensorId id) const {
    for (NodeId reader : graph_.tensors[id].consumers) {
      const Node& node = graph_.nodes[reader];
      if (node.op == "Identity") continue;
      if (const std::string& module = modules_[static_cast<size_t>(reader.value())]; !module.empty()) return module;
      if (node.inputs.size() < 2 || !node.inputs[1].valid()) return "";
      const Tensor& weight = graph_.tensors[node.inputs[1]];
      if (!weight.producer.valid()) return weight.name;
      const Node& maker = graph_.nodes[weight.producer];
      return maker.op == "Identity" && maker.inputs[0].valid() ? graph_.tensors[maker.inputs[0]].name : weight.name;
    }
    return "";
  }

  const Graph& graph_;
  std::vector<std::string> modules_;  // by node
  // By the tensor that is kept and the owner: what the exporter computed.
  std::map<TensorId, std::map<std::string, TensorId>> owners_;
};

}  // namespace

std::optional<Graph> SplitMergedWeights(const Graph& graph) {
  const auto merges = [&](const Node& node) { return IsMerge(graph, node); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), merges)) return std::nullopt;
  Graph split = graph;
  for (const Merge& merge : Splitter(graph).Merges()) {
    Node& node = split.nodes[merge.node];
    if (merge.same.valid()) {
      node.inputs[0] = merge.same;
      continue;
    }
    Tensor& own = split.tensors[node.outputs[0]];
    own.role = TensorRole::kInitializer;
    own.value = split.tensors[node.inputs[0]].value;
    split.initializers.push_back(node.outputs[0]);
    node.inputs.clear();
    node.outputs.clear();
  }
  LinkTensors(split);
  return split;
}

}  // namespace onnx_mem
