#include "analyzer/parallel/stage_cut.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/module_path.h"
#include "analyzer/graph/name_pattern.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/ops/ops.h"
#include "analyzer/parallel/fsdp_units.h"

namespace onnx_mem {
namespace {

absl::Status CannotCut(std::string message) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage, std::move(message),
                     {"way out: --split MODULE,MODULE... with modules that run one after another"});
}

// The nodes at which stages begin and, at the end, the number of nodes.
absl::StatusOr<std::vector<int32_t>> BordersOf(const FrameworkGraph& graph, const std::vector<std::string>& split) {
  std::vector<int32_t> borders = {0};
  for (const std::string& module : split) {
    const auto first = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                    [&](const FrameworkNode& node) { return IsAtOrBelow(node.module, module); });
    if (first == graph.nodes.end()) return CannotCut(absl::StrCat("--split: no operator is of module '", module, "'"));
    const auto border = static_cast<int32_t>(first - graph.nodes.begin());
    if (border <= borders.back()) {
      return CannotCut(absl::StrCat("--split: '", module, "' does not come behind what stands before it"));
    }
    borders.push_back(border);
  }
  borders.push_back(static_cast<int32_t>(graph.nodes.size()));
  return borders;
}

// What needs a gradient: parameters that are trained, and what is made of something that does.
IdVector<TensorId, bool> GradientNeeds(const Lowered& whole, const Run& run) {
  const FrameworkGraph& graph = whole.graph;
  std::vector<NamePattern> frozen;
  for (const std::string& pattern : run.freeze) {
    if (std::optional<NamePattern> one = NamePattern::Compile(pattern)) frozen.push_back(*std::move(one));
  }
  IdVector<TensorId, bool> needs(graph.tensors.size(), false);
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    needs[id] = whole.kinds[id] == TensorKind::kParameter && !whole.frozen.contains(id) &&
                std::none_of(frozen.begin(), frozen.end(),
                             [&](const NamePattern& p) { return p.FoundIn(ShownName(graph.tensors[id])); });
  }
  for (const FrameworkNode& node : graph.nodes) {
    const bool any =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) { return id.valid() && needs[id]; });
    for (const TensorId id : node.outputs) {
      if (id.valid()) needs[id] = any && IsFloating(graph.tensors[id].dtype);
    }
  }
  return needs;
}

// What was made before node `border` and is read from there on, by a node or by the caller.
TensorIds CrossingAt(const Lowered& whole, int32_t border) {
  TensorIds crossing;
  const FrameworkGraph& graph = whole.graph;
  const absl::flat_hash_set<TensorId> outputs(graph.outputs.begin(), graph.outputs.end());
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph.tensors[id];
    if (whole.kinds[id] != TensorKind::kActivation || !tensor.producer.valid()) continue;
    if (tensor.producer.value() >= border) continue;
    const bool read = std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                                  [&](NodeId reader) { return reader.value() >= border; });
    if (read || outputs.contains(id)) crossing.push_back(id);
  }
  return crossing;
}

// The stage of a stored tensor that no node reads: that of its module, else the first.
size_t HomeOf(const Lowered& whole, TensorId id, const std::vector<int32_t>& borders) {
  const std::string& name = ShownName(whole.graph.tensors[id]);
  for (size_t s = 0; s + 1 < borders.size(); ++s) {
    for (int32_t i = borders[s]; i < borders[s + 1]; ++i) {
      const std::string& module = whole.graph.nodes[NodeId(i)].module;
      if (!module.empty() && IsAtOrBelow(name, module)) return s;
    }
  }
  return 0;
}

class StageCutter {
 public:
  StageCutter(const Lowered& whole, const Run& run, std::vector<int32_t> borders)
      : whole_(whole), borders_(std::move(borders)), needs_(GradientNeeds(whole, run)) {
    for (const int32_t border : borders_) crossing_.push_back(CrossingAt(whole, border));
    crossing_.front().clear();
    crossing_.back() = whole.graph.outputs;
  }

  absl::StatusOr<StageGraph> Cut(size_t s) {
    StageGraph stage;
    stage.is_last = s + 2 == borders_.size();
    stage.lowered = whole_;
    const int32_t first = borders_[s], end = borders_[s + 1];
    stage.nodes = {first, end - 1};
    FrameworkGraph& graph = stage.lowered.graph;
    graph.nodes = IdVector<NodeId, FrameworkNode>();
    for (int32_t i = first; i < end; ++i) graph.nodes.Add(whole_.graph.nodes[NodeId(i)]);
    for (Tensor& tensor : graph.tensors) tensor = Unlinked(std::move(tensor));
    LinkTensors(graph);
    SetInputs(s, stage);
    SetKinds(s, stage);
    graph.outputs = crossing_[s + 1];
    if (!stage.is_last) stage.lowered.loss = TensorId();
    SetReleases(first, end, stage.lowered);
    RETURN_IF_ERROR(SetSpans(first, end, stage.lowered));
    return stage;
  }

 private:
  void SetInputs(size_t s, StageGraph& stage) {
    FrameworkGraph& graph = stage.lowered.graph;
    graph.inputs = crossing_[s];
    stage.received = graph.inputs.size();
    for (const TensorId id : graph.inputs) {
      Tensor& tensor = graph.tensors[id];
      tensor.name = absl::StrCat("received ", tensor.name);
      tensor.path.clear();
      tensor.role = TensorRole::kInput;
      stage.lowered.kinds[id] = TensorKind::kInput;
      if (needs_[id]) stage.wants_grad.push_back(tensor.name);
    }
    for (const TensorId id : whole_.graph.inputs) {
      if (!graph.tensors[id].consumers.empty()) graph.inputs.push_back(id);
    }
  }

  // What is not of this stage takes no memory.
  void SetKinds(size_t s, StageGraph& stage) {
    FrameworkGraph& graph = stage.lowered.graph;
    const absl::flat_hash_set<TensorId> inputs(graph.inputs.begin(), graph.inputs.end());
    for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
      const Tensor& tensor = graph.tensors[id];
      const bool here = tensor.producer.valid() || !tensor.consumers.empty() || inputs.contains(id);
      const bool unread = whole_.graph.tensors[id].consumers.empty() && whole_.kinds[id] != TensorKind::kActivation &&
                          HomeOf(whole_, id, borders_) == s;
      if (!here && !unread) stage.lowered.kinds[id] = TensorKind::kHost;
    }
    EraseIf(graph.initializers, [&](TensorId id) { return stage.lowered.kinds[id] == TensorKind::kHost; });
    const auto norms = [](const FrameworkGraph& of) {
      return std::count_if(of.nodes.begin(), of.nodes.end(), [](const auto& node) { return IsChannelNorm(node.op); });
    };
    const int64_t all = norms(whole_.graph);
    if (all > 0) stage.lowered.hidden_buffer_bytes = whole_.hidden_buffer_bytes / all * norms(graph);
  }

  // Locals of a stage end with it; the caller holds what is sent.
  static void SetReleases(int32_t first, int32_t end, Lowered& stage) {
    const int32_t count = end - first;
    for (TensorId id(0); stage.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
      int32_t& release = stage.releases[id];
      if (release >= 0) release = std::clamp(release - first, -1, count - 1);
    }
    for (const TensorId id : stage.graph.outputs) stage.releases[id] = count;
  }

  static absl::Status SetSpans(int32_t first, int32_t end, Lowered& stage) {
    const auto shift = [&](auto& calls) {
      std::erase_if(calls, [&](const auto& call) { return call.span.last < first || call.span.first >= end; });
      for (auto& call : calls) {
        if (call.span.first < first || call.span.last >= end) return false;
        call.span.first -= first;
        call.span.last -= first;
      }
      return true;
    };
    if (shift(stage.functions) && shift(stage.checkpointed)) return absl::OkStatus();
    return CannotCut("--split: a stage would begin inside a function or a checkpoint of the model's own code");
  }

  const Lowered& whole_;
  std::vector<int32_t> borders_;
  IdVector<TensorId, bool> needs_;
  std::vector<TensorIds> crossing_;  // at each border
};

// The largest of `parts` sums of neighbours that is least: borders[i] is the first element of part i + 1.
std::vector<size_t> LeastLargest(const std::vector<int64_t>& costs, size_t parts) {
  const size_t n = costs.size();
  std::vector<int64_t> before(n + 1, 0);
  for (size_t i = 0; i < n; ++i) before[i + 1] = before[i] + costs[i];
  std::vector<std::vector<int64_t>> largest(parts + 1, std::vector<int64_t>(n + 1, before[n]));
  std::vector<std::vector<size_t>> from(parts + 1, std::vector<size_t>(n + 1, 0));
  for (size_t i = 0; i <= n; ++i) largest[1][i] = before[i];
  for (size_t k = 2; k <= parts; ++k) {
    for (size_t i = k; i <= n; ++i) {
      for (size_t j = k - 1; j < i; ++j) {
        const int64_t here = std::max(largest[k - 1][j], before[i] - before[j]);
        if (here < largest[k][i] || from[k][i] == 0) {
          largest[k][i] = here;
          from[k][i] = j;
        }
      }
    }
  }
  std::vector<size_t> borders;
  size_t end = n;
  for (size_t k = parts; k > 1; --k) {
    end = from[k][end];
    borders.insert(borders.begin(), end);
  }
  return borders;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> BalancedSplit(const Enacted& whole, const PipelineLayout& layout) {
  const StepFacts facts = FactsOf(whole);
  std::vector<std::pair<StepId, std::string>> blocks;
  for (std::string& module : RepeatedModules(facts)) {
    if (const std::optional<ModuleSpan> span = SpanOf(facts.forward, module)) {
      blocks.emplace_back(span->first, std::move(module));
    }
  }
  std::sort(blocks.begin(), blocks.end());
  const auto stages = static_cast<size_t>(StagesOf(layout));
  if (blocks.size() < stages) {
    return CannotCut(absl::StrCat("--pipeline: the model has ", blocks.size(), " blocks that repeat, fewer than ",
                                  stages, " stages"));
  }
  std::vector<int64_t> costs(blocks.size(), 0);
  size_t block = 0;
  for (StepId id(0); whole.program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = whole.program.steps[id];
    if (step.phase != Phase::kForward) break;
    while (block + 1 < blocks.size() && blocks[block + 1].first <= id) ++block;
    costs[block] += step.flops + 1;
  }
  std::vector<std::string> split;
  for (const size_t border : LeastLargest(costs, stages)) split.push_back(blocks[border].second);
  return split;
}

absl::StatusOr<std::vector<StageGraph>> CutIntoStages(const Lowered& whole, const Run& run,
                                                      const std::vector<std::string>& split) {
  ASSIGN_OR_RETURN(std::vector<int32_t> borders, BordersOf(whole.graph, split));
  StageCutter cutter(whole, run, std::move(borders));
  std::vector<StageGraph> stages;
  for (size_t s = 0; s <= split.size(); ++s) {
    ASSIGN_OR_RETURN(StageGraph stage, cutter.Cut(s));
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace onnx_mem
