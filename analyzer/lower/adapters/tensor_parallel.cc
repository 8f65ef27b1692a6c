#include "analyzer/lower/adapters/tensor_parallel.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/lower/adapters/fused_layers.h"
#include "analyzer/lower/adapters/split_modules.h"
#include "analyzer/lower/adapters/split_rules.h"
#include "analyzer/lower/adapters/split_weights.h"
#include "analyzer/lower/adapters/styled_modules.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

constexpr int kSequenceAxis = 1;

class TensorSplitter {
 public:
  TensorSplitter(Lowered& lowered, const TensorLayout& layout, std::vector<StyledModule> modules)
      : lowered_(lowered),
        graph_(lowered.graph),
        layout_(layout),
        modules_(std::move(modules)),
        nodes_(std::move(graph_.nodes)),
        axes_(graph_.tensors.size(), kWhole),
        pieces_(graph_.tensors.size(), 1),
        old_releases_(lowered.releases) {
    graph_.nodes = {};
  }

  absl::Status Split() {
    const auto count = static_cast<int32_t>(nodes_.size());
    for (int32_t i = 0; i < count; ++i) {
      for (StyledModule& module : modules_) {
        if (module.first == i) RETURN_IF_ERROR(Enter(module));
      }
      RETURN_IF_ERROR(Write(i));
      for (auto module = modules_.rbegin(); module != modules_.rend(); ++module) {
        if (module->last == i) Leave(*module);
      }
    }
    places_.push_back(graph_.nodes.next_id().value());
    for (TensorId& id : graph_.outputs) id = Renamed(id);
    Finish();
    return absl::OkStatus();
  }

 private:
  TensorId Renamed(TensorId id) const {
    const auto found = renamed_.find(id);
    return found == renamed_.end() ? id : found->second;
  }

  // What node `i` reads in place of `id`.
  TensorId Read(TensorId id, int32_t i) const {
    if (!id.valid()) return id;
    id = Renamed(id);
    for (const StyledModule& module : modules_) {
      if (i < module.first || i > module.last) continue;
      const auto found = module.reads.find(id);
      if (found != module.reads.end()) id = found->second;
    }
    return id;
  }

  TensorId AddLike(TensorId id, std::string_view what) {
    Tensor tensor = Unlinked(graph_.tensors[id]);
    absl::StrAppend(&tensor.name, " ", std::string(what));
    tensor.path.clear();
    tensor.role = TensorRole::kActivation;
    lowered_.kinds.Add(TensorKind::kActivation);
    axes_.Add(kWhole);
    pieces_.Add(1);
    old_releases_.Add(-1);
    return graph_.tensors.Add(std::move(tensor));
  }

  // A collective of `module`, behind what was written so far.
  TensorId Insert(const StyledModule& module, std::string_view op, TensorId x, Attributes attributes = {}) {
    const TensorId y = AddLike(x, op);
    FrameworkNode node;
    const FrameworkNode& like = nodes_[NodeId(module.first)];
    node.op = op;
    node.name = absl::StrCat(module.path, " ", std::string(op));
    node.module = module.path;
    node.calls = like.calls;
    node.inputs = {x};
    node.outputs = {y};
    node.attributes = std::move(attributes);
    graph_.nodes.Add(std::move(node));
    return y;
  }

  // Floating tensors that `module` reads and does not make.
  TensorIds InputsOf(const StyledModule& module) const {
    absl::flat_hash_set<TensorId> made;
    TensorIds inputs;
    for (int32_t i = module.first; i <= module.last; ++i) {
      for (const TensorId old : nodes_[NodeId(i)].inputs) {
        if (!old.valid() || made.contains(old)) continue;
        const TensorId id = Read(old, module.first);
        const bool given = lowered_.kinds[id] == TensorKind::kActivation || lowered_.kinds[id] == TensorKind::kInput;
        const bool known = std::find(inputs.begin(), inputs.end(), id) != inputs.end();
        if (given && !known && IsFloating(graph_.tensors[id].dtype)) inputs.push_back(id);
      }
      for (const TensorId id : nodes_[NodeId(i)].outputs) made.insert(id);
    }
    return inputs;
  }

  absl::Status Enter(StyledModule& module) {
    switch (module.style) {
      case TensorStyle::kSequence: return absl::OkStatus();
      case TensorStyle::kGatherInput: GatherInputs(module, /*marks=*/true); return absl::OkStatus();
      case TensorStyle::kEmbedding:
      case TensorStyle::kRowwise: return SplitWeights(module);
      case TensorStyle::kColwise:
      case TensorStyle::kGathered: break;
    }
    RETURN_IF_ERROR(SplitWeights(module));
    GatherInputs(module, /*marks=*/false);
    return absl::OkStatus();
  }

  // Of a module whose inputs were gathered around it nothing more is to be done: their gradients are added up on the
  // rank, and reduced once.
  void GatherInputs(StyledModule& module, bool marks) {
    for (const TensorId x : InputsOf(module)) {
      if (axes_[x] == kSequenceAxis) {
        module.reads[x] = Insert(module, "all_gather", x, {{"axis", int64_t{kSequenceAxis}}, {"reduces", int64_t{1}}});
        if (marks) gathered_.insert(module.reads[x]);
      } else if (!marks && axes_[x] == kWhole && !gathered_.contains(x)) {
        module.reads[x] = Insert(module, "all_reduce_gradient", x);
      }
    }
  }

  // The rank's columns (outputs), or its rows (inputs), of every linear layer of the module; of an embedding its rows,
  // or columns.
  absl::Status SplitWeights(const StyledModule& module) {
    const bool by_rows = module.style == TensorStyle::kRowwise;
    bool any = false;
    for (int32_t i = module.first; i <= module.last; ++i) {
      const FrameworkNode& node = nodes_[NodeId(i)];
      for (const TensorId id : node.inputs) {
        if (!by_rows && id.valid() && lowered_.kinds[id] == TensorKind::kParameter &&
            graph_.tensors[id].shape.rank() == 1) {
          axes_[id] = 0;
        }
      }
      const TensorId weight = SplitWeightOf(lowered_, nodes_, node);
      if (!weight.valid()) continue;
      axes_[weight] = SplitAxisOf(node, weight, module.style);
      pieces_[weight] = module.pieces;
      any = true;
    }
    return any ? absl::OkStatus()
               : CannotSplit(absl::StrCat("--tp: '", module.path, "' has no linear layer and no embedding"));
  }

  absl::Status Write(int32_t i) {
    places_.push_back(graph_.nodes.next_id().value());
    FrameworkNode node = nodes_[NodeId(i)];
    for (TensorId& id : node.inputs) id = Read(id, i);
    if (node.op == "embedding" && axes_[node.inputs[0]] == 0) {
      node.op = "split_embedding";
      node.attributes["rows"] = graph_.tensors[node.inputs[0]].shape.dims[0];
      graph_.nodes.Add(std::move(node));
      return absl::OkStatus();
    }
    SplitCall call{.graph = graph_, .node = node, .axes = {}, .ranks = layout_.ranks};
    for (const TensorId id : node.inputs) {
      call.axes.push_back(id.valid() ? axes_[id] : kWhole);
      if (call.axes.back() != kWhole) call.pieces = std::max(call.pieces, pieces_[id]);
    }
    const std::optional<OutputSplit> split = SplitOfOutputs(call);
    if (!split) return NoRule(node);
    for (const TensorId id : node.outputs) {
      if (!id.valid() || split->axis >= static_cast<int>(graph_.tensors[id].shape.rank())) continue;
      axes_[id] = split->axis;
      pieces_[id] = split->pieces;
    }
    graph_.nodes.Add(std::move(node));
    return absl::OkStatus();
  }

  static absl::Status NoRule(const FrameworkNode& node) {
    return CannotSplit(absl::StrCat("--tp: operator '", node.op.str(), "' of ",
                                    node.module.empty() ? "the root" : absl::StrCat("'", node.module, "'"),
                                    " has no rule for the dimension that is split"));
  }

  void Leave(StyledModule& module) {
    for (const auto& [from, to] : module.reads) last_reader_[to] = graph_.nodes.next_id().value() - 1;
    const bool sums = module.style == TensorStyle::kRowwise || module.style == TensorStyle::kEmbedding;
    if (!sums && (module.style != TensorStyle::kGathered || layout_.loss)) return;
    for (const TensorId y : OutputsOf(module)) {
      TensorId to;
      if (!sums) {
        to = Insert(module, "all_gather", y, {{"axis", int64_t{axes_[y]}}});
      } else if (layout_.sequence) {
        to = Insert(module, "reduce_scatter", y, {{"axis", int64_t{kSequenceAxis}}});
        axes_[to] = kSequenceAxis;
      } else {
        to = Insert(module, "all_reduce", y);
      }
      old_releases_[to] = old_releases_[y];
      last_reader_[y] = graph_.nodes.next_id().value() - 1;
      renamed_[y] = to;
    }
  }

  // What is made in it and read behind it, or by the caller.
  TensorIds OutputsOf(const StyledModule& module) const {
    TensorIds outputs;
    for (int32_t i = module.first; i <= module.last; ++i) {
      for (const TensorId id : nodes_[NodeId(i)].outputs) {
        if (!id.valid()) continue;
        const NodeIds& readers = graph_.tensors[id].consumers;
        const bool returned = std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
        if (returned ||
            std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return r.value() > module.last; })) {
          outputs.push_back(id);
        }
      }
    }
    return outputs;
  }

  // Sizes become local, and places those of the nodes that are there now.
  void Finish() {
    for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
      Tensor& tensor = graph_.tensors[id];
      if (axes_[id] != kWhole) {
        int64_t& size = tensor.shape.dims[static_cast<size_t>(axes_[id])];
        size = (size + layout_.ranks - 1) / layout_.ranks;
        lowered_.strides.erase(id);
      }
      const int32_t old = old_releases_[id];
      const int32_t place = old < 0 ? old : places_[static_cast<size_t>(old)];
      if (lowered_.releases.contains(id)) {
        lowered_.releases[id] = place;
      } else {
        lowered_.releases.Add(place);
      }
    }
    for (const auto& [id, reader] : last_reader_) lowered_.releases[id] = reader;
    const auto move = [&](NodeSpan& span) {
      span = {places_[static_cast<size_t>(span.first)], places_[static_cast<size_t>(span.last) + 1] - 1};
    };
    for (UserFunction& function : lowered_.functions) move(function.span);
    for (CheckpointCall& call : lowered_.checkpointed) move(call.span);
    LinkTensors(graph_);
  }

  Lowered& lowered_;
  FrameworkGraph& graph_;
  const TensorLayout& layout_;
  std::vector<StyledModule> modules_;
  IdVector<NodeId, FrameworkNode> nodes_;  // as they were; producers and readers are of these until the end
  IdVector<TensorId, int> axes_;
  IdVector<TensorId, int64_t> pieces_;                  // that a split dimension consists of
  IdVector<TensorId, int32_t> old_releases_;            // by node of nodes_
  std::vector<int32_t> places_;                         // of them among the new ones; the number of new ones
  absl::flat_hash_map<TensorId, TensorId> renamed_;     // outputs of modules, as later nodes read them
  absl::flat_hash_map<TensorId, int32_t> last_reader_;  // new nodes behind which tensors are released
  absl::flat_hash_set<TensorId> gathered_;              // by a module around
};

}  // namespace

absl::Status SplitTensors(Lowered& lowered, const TensorLayout& layout) {
  ASSIGN_OR_RETURN(std::vector<StyledModule> modules, StyledPlanOf(lowered, layout));
  return SplitTensors(lowered, layout, std::move(modules));
}

absl::Status SplitTensors(Lowered& lowered, const TensorLayout& layout, std::vector<StyledModule> modules) {
  NoteFused(modules, lowered.diagnostics);
  lowered.split_logits = layout.loss;
  return TensorSplitter(lowered, layout, std::move(modules)).Split();
}

}  // namespace onnx_mem
