#include "analyzer/lower/facts/lost_tensors.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/exported/second_names.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/facts/stored_tensors.h"

namespace onnx_mem {
namespace {

// Of a norm that was folded, or that never runs: counted with the norm, or as small as its vectors.
bool IsStatistic(std::string_view target) {
  return target.ends_with("running_mean") || target.ends_with("running_var") || target.ends_with("num_batches_tracked");
}

// One call of the framework and the nodes that it became.
struct CallNodes {
  FxCall call;
  NodeIds nodes;
};

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {
    for (TensorId id : graph_.initializers) {
      if (graph_.signature.FindTarget(graph_.tensors[id].name) != nullptr) present_.insert(graph_.tensors[id].name);
    }
    for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
      FxCall call = FxCallOf(graph_.nodes[id]);
      if (call.name.empty()) continue;
      const auto [place, is_new] = places_.emplace(call.name, calls_.size());
      if (is_new) calls_.push_back({std::move(call), {}});
      calls_[place->second].nodes.push_back(id);
    }
  }

  LostTensors Find() && {
    LostTensors lost;
    for (const CallNodes& call : calls_) {
      if (!IsFoldedNorm(call)) lost.merged += Split(call);
    }
    for (const CallNodes& call : calls_) {
      for (NodeId id : call.nodes) lost.biases += RestoreBias(call, id);
    }
    for (const CallNodes& call : calls_) lost.merged += SettleFolded(call);
    if (!calls_.empty()) {  // without calls, what is folded looks like what is not there
      lost.unknown = Unknown(SignatureKind::kParameter);
      lost.unread_buffers = Unknown(SignatureKind::kBuffer);
      std::erase_if(lost.unread_buffers, IsStatistic);
      lost.unknown_most = MostBytesOf(graph_, lost.unknown, copies_);
    }
    if (lost.merged + lost.biases > 0 || joins_) {
      LinkTensors(graph_);
      lost.graph = std::move(graph_);
    }
    return lost;
  }

 private:
  // A layer that carries the call of the norm that was folded into it.
  bool IsFoldedNorm(const CallNodes& call) const {
    return IsBatchNormCall(call.call) && std::any_of(call.nodes.begin(), call.nodes.end(), [&](NodeId id) {
             return IsConvolutionLayer(graph_.nodes[id]) || IsLinearLayer(graph_.nodes[id]);
           });
  }

  const SignatureEntry* Entry(TensorId id) const { return graph_.signature.FindTarget(graph_.tensors[id].name); }
  bool IsStored(TensorId id) const { return id.valid() && graph_.tensors[id].role == TensorRole::kInitializer; }

  bool IsInFile(const SignatureEntry& entry) const {
    return present_.contains(entry.target) && !restored_.contains(entry.target);
  }

  // The node reads the tensor in its slot `input`, which may be a new one. 1 where the tensor is new.
  int64_t Give(NodeId node, size_t input, const SignatureEntry& entry, DType dtype, Shape shape) {
    const auto [it, is_new] = restored_.try_emplace(entry.target);
    if (is_new) {
      Tensor tensor;
      tensor.name = entry.target;
      tensor.dtype = dtype;
      tensor.shape = std::move(shape);
      tensor.role = TensorRole::kInitializer;
      it->second = graph_.tensors.Add(std::move(tensor));
      graph_.initializers.push_back(it->second);
      present_.insert(entry.target);
    }
    TensorIds& inputs = graph_.nodes[node].inputs;
    if (inputs.size() <= input) inputs.resize(input + 1);
    inputs[input] = it->second;
    return is_new ? 1 : 0;
  }

  // The tensors of the module that the call reads, in the order in which exporters hand them to operators. Of a list
  // several operators read parts (lstm), one reads it as it is (cat).
  std::vector<const SignatureEntry*> ArgumentsOf(const CallNodes& call) const {
    std::vector<const SignatureEntry*> entries;
    for (const std::string& arg : call.nodes.size() == 1 ? ArgumentsAndListed(call.call) : call.call.args) {
      if (const SignatureEntry* entry = graph_.signature.FindPlaceholder(arg)) entries.push_back(entry);
    }
    // addmm(bias, x, weight) is x * weight + bias.
    if (absl::StartsWith(call.call.target, "aten.addmm") && entries.size() > 1)
      std::rotate(entries.begin(), entries.begin() + 1, entries.end());
    return entries;
  }

  // A stored tensor in a slot of a node that the call does not read: one of equal contents took the place of what it
  // does read.
  int64_t Split(const CallNodes& call) {
    std::vector<const SignatureEntry*> arguments = ArgumentsOf(call);
    std::vector<std::pair<NodeId, size_t>> slots;
    bool any_named = false;
    for (NodeId id : call.nodes) {
      const TensorIds& inputs = graph_.nodes[id].inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!IsStored(inputs[i])) continue;
        const SignatureEntry* entry = Entry(inputs[i]);
        const auto read = std::find(arguments.begin(), arguments.end(), entry);
        if (entry != nullptr && read != arguments.end()) {
          arguments.erase(read);
        } else if (entry != nullptr || IsFoldedTensor(graph_.tensors[inputs[i]])) {
          slots.emplace_back(id, i);
          any_named |= entry != nullptr;
        }
      }
    }
    std::erase_if(arguments, [&](const auto* entry) { return IsInFile(*entry) || IsLifted(entry->target); });
    int64_t count = 0;
    if (!any_named || slots.size() > arguments.size()) return count;
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto [id, input] = slots[i];
      const TensorId merged = graph_.nodes[id].inputs[input];
      if (Entry(merged) == nullptr || IsInFile(*arguments[i])) continue;
      count += Give(id, input, *arguments[i], graph_.tensors[merged].dtype, graph_.tensors[merged].shape);
    }
    return count;
  }

  // A slot of a node of the call, and the parameter that the call reads there.
  struct FoldedRead {
    NodeId node;
    size_t slot;
    const SignatureEntry* parameter;
  };

  // Where the nodes of the call read what the exporter computed of one parameter each. Of a call without a row: its
  // only parameter, where its nodes read only one such tensor.
  std::vector<FoldedRead> FoldedReads(const CallNodes& call) const {
    const auto parameter = [&](size_t i) -> const SignatureEntry* {
      const SignatureEntry* entry =
          i < call.call.args.size() ? graph_.signature.FindPlaceholder(call.call.args[i]) : nullptr;
      return entry != nullptr && entry->kind == SignatureKind::kParameter && !IsInFile(*entry) ? entry : nullptr;
    };
    const bool is_linear = absl::StartsWith(call.call.target, "aten.linear");
    const bool is_group_norm = absl::StartsWith(call.call.target, "aten.group_norm");
    std::vector<const SignatureEntry*> parameters;
    for (size_t i = 0; i < call.call.args.size(); ++i) {
      if (const SignatureEntry* entry = parameter(i)) parameters.push_back(entry);
    }
    std::vector<FoldedRead> reads;
    for (NodeId id : call.nodes) {
      const Node& node = graph_.nodes[id];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorId input = node.inputs[i];
        if (!IsStored(input) || Entry(input) != nullptr || !IsFoldedTensor(graph_.tensors[input])) continue;
        const SignatureEntry* read = nullptr;
        if (is_linear) {
          read = IsLinearLayer(node) && i == 1 ? parameter(1) : nullptr;
        } else if (is_group_norm) {  // torch_lib/ops/core.py: a norm without scale, then scale and shift
          read = node.op == "Mul" ? parameter(2) : node.op == "Add" ? parameter(3) : nullptr;
        } else if (parameters.size() == 1) {  // but for what another call gave
          read = IsArgumentOfCall(node, graph_.tensors[input].name) ? nullptr : parameters[0];
        } else if (parameters.empty() && i == 1 && (IsConvolutionLayer(node) || IsLinearLayer(node))) {
          read = ParametrizationOf(node);
        }
        if (read != nullptr) reads.push_back({id, i, read});
      }
    }
    if (!is_linear && !is_group_norm && reads.size() > 1) reads.clear();
    return reads;
  }

  // The parameter that the weight of the node's module is computed from in each run, where it is not in the file: one
  // of the weight's shape (torch/nn/utils/parametrize.py, ParametrizationList: "original" where there is one input).
  const SignatureEntry* ParametrizationOf(const Node& node) const {
    const SignatureEntry* entry = graph_.signature.FindTarget(
        absl::StrCat(std::string(CallingModuleOf(node)), ".parametrizations.weight.original"));
    return entry != nullptr && entry->kind == SignatureKind::kParameter && !IsInFile(*entry) ? entry : nullptr;
  }

  // What the exporter computed of a parameter (its transpose) is one tensor for each parameter: a module that runs
  // twice has one for each run, and what it computed of two parameters of equal contents was made one.
  int64_t SettleFolded(const CallNodes& call) {
    int64_t count = 0;
    for (const FoldedRead& read : FoldedReads(call)) {
      const TensorId folded = graph_.nodes[read.node].inputs[read.slot];
      const auto [copy, is_first] = copies_.try_emplace(read.parameter->target, folded);
      if (!is_first) {
        const bool is_alike = graph_.tensors[copy->second].shape == graph_.tensors[folded].shape;
        if (copy->second == folded || !is_alike) continue;
        graph_.nodes[read.node].inputs[read.slot] = copy->second;
        joins_ = true;
      } else if (!owned_.insert(folded).second) {
        count +=
            Give(read.node, read.slot, *read.parameter, graph_.tensors[folded].dtype, graph_.tensors[folded].shape);
        copy->second = graph_.nodes[read.node].inputs[read.slot];
      }
    }
    return count;
  }

  // The name of the bias that the layer's call reads, or that stands beside the weight of a layer whose call is the
  // folded norm's.
  const SignatureEntry* BiasOf(const CallNodes& call, const Node& node) const {
    const FxCall& fx = call.call;
    if (IsBatchNormCall(fx)) {
      const auto [module, last] = SplitPath(graph_.tensors[node.inputs[1]].name);
      return last == "weight" ? graph_.signature.FindTarget(absl::StrCat(std::string(module), ".bias")) : nullptr;
    }
    const auto argument = [&](size_t i) {
      return i < fx.args.size() ? graph_.signature.FindPlaceholder(fx.args[i]) : nullptr;
    };
    if (absl::StartsWith(fx.target, "aten.addmm")) return argument(0);
    if (absl::StartsWith(fx.target, "aten.linear") || absl::StartsWith(fx.target, "aten.conv")) return argument(2);
    return nullptr;
  }

  int64_t RestoreBias(const CallNodes& call, NodeId id) {
    const Node& node = graph_.nodes[id];
    const bool has_slot = IsConvolutionLayer(node) || node.op == "Gemm";
    if (!has_slot || node.inputs.size() != 2 || !node.inputs[1].valid()) return 0;
    const SignatureEntry* bias = BiasOf(call, node);
    const int64_t channels = ChannelsOf(graph_, node);
    if (bias == nullptr || bias->kind != SignatureKind::kParameter || channels == 0 || IsInFile(*bias)) return 0;
    return Give(id, 2, *bias, graph_.tensors[node.inputs[1]].dtype, Shape(Dims{channels}));
  }

  std::vector<ForeignRead> ForeignReads() const {
    std::vector<ForeignRead> reads;
    for (const CallNodes& call : calls_) {
      const std::string module(CallingModuleOf(graph_.nodes[call.nodes[0]]));
      for (const SignatureEntry* entry : ArgumentsOf(call)) {
        if (SplitPath(entry->target).first != module) reads.push_back({module, entry->target});
      }
    }
    return reads;
  }

  std::vector<std::string> Unknown(SignatureKind kind) const {
    absl::flat_hash_set<std::string> known;
    for (const CallNodes& call : calls_) {
      for (const std::string& arg : ArgumentsAndListed(call.call)) {
        if (const SignatureEntry* entry = graph_.signature.FindPlaceholder(arg)) known.insert(entry->target);
      }
    }
    std::vector<std::string> unknown;
    for (const SignatureEntry& entry : graph_.signature.entries()) {
      const bool is_known =
          present_.contains(entry.target) || known.contains(entry.target) || copies_.contains(entry.target);
      if (entry.kind == kind && !is_known) unknown.push_back(entry.target);
    }
    if (!unknown.empty()) EraseSecondNames(graph_.signature, kind, ForeignReads(), unknown);
    return unknown;
  }

  Graph graph_;
  std::vector<CallNodes> calls_;
  std::map<std::string, size_t> places_;      // in calls_, by the result's name
  absl::flat_hash_set<std::string> present_;  // names of the signature that the file or this pass has
  absl::flat_hash_map<std::string, TensorId> restored_;
  ShownParameters copies_;
  absl::flat_hash_set<TensorId> owned_;  // the tensors of copies_ that the file has
  bool joins_ = false;
};

}  // namespace

bool IsBatchNormCall(const FxCall& call) { return absl::StrContains(call.target, "batch_norm"); }

LostTensors FindLostTensors(const Graph& graph) {
  if (graph.signature.empty()) return {};
  return Finder(graph).Find();
}

}  // namespace onnx_mem
