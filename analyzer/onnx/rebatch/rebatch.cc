#include "analyzer/onnx/rebatch/rebatch.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/onnx/rebatch/plain_resize.h"
#include "analyzer/onnx/rebatch/probe.h"

namespace onnx_mem {
namespace {

using ShapeMap = absl::flat_hash_map<std::string, Shape>;

// Does again at the target sizes what the probe decided.
class ReplayHook : public ScalingHook {
 public:
  ReplayHook(const onnx::GraphProto& graph, const InferredGraph& base, const Variables& variables,
             const BatchPlan& plan)
      : ScalingHook(graph, base, variables, Sizes::kTarget), plan_(plan) {
    for (const NodeEdit& edit : plan.edits) edits_[edit.node].push_back(&edit.edit);
    for (const Expansion& expansion : plan.expansions) expansions_[expansion.node].push_back(&expansion);
  }

  absl::Status Begin(InferencePass& pass, ValueScope& scope) override {
    UseArena(pass.arena());
    for (const auto& [name, traces] : plan_.sources) {
      if (scope.Find(name) != nullptr) RETURN_IF_ERROR(ScaleInScope(name, traces, scope));
    }
    return absl::OkStatus();
  }
  absl::Status Before(int node, NodeSite& site) override {
    if (const auto it = expansions_.find(node); it != expansions_.end()) {
      for (const Expansion* expansion : it->second)
        RETURN_IF_ERROR(ScaleOperand(node, expansion->input, expansion->dims, site));
    }
    if (const auto it = edits_.find(node); it != edits_.end()) {
      for (const ContentsEdit* edit : it->second) RETURN_IF_ERROR(ScaleContents(node, *edit, site));
    }
    return absl::OkStatus();
  }
  absl::Status After(int node, NodeSite& site) override {
    if (graph_.node(node).op_type() != "Constant") return absl::OkStatus();
    for (const std::string& output : graph_.node(node).output()) {
      const auto source = plan_.sources.find(output);
      if (source != plan_.sources.end()) RETURN_IF_ERROR(ScaleInScope(output, source->second, site.scope));
    }
    return absl::OkStatus();
  }

 private:
  const BatchPlan& plan_;
  absl::flat_hash_map<int, std::vector<const ContentsEdit*>> edits_;
  absl::flat_hash_map<int, std::vector<const Expansion*>> expansions_;
};

}  // namespace

// The changes as variables: one for all dims 0 that change alike, one for all others that do.
struct Grouping {
  Variables variables;
  TraceMap inputs;
  ShapeMap exported;  // input shapes with the changes undone
};

namespace {

bool ChangesAlike(const DimChange& a, const DimChange& b) {
  return (a.dim == 0) == (b.dim == 0) && a.from == b.from && a.to == b.to;
}

absl::StatusOr<Grouping> Group(const BoundInputs& bound, const std::vector<DimChange>& changes) {
  Grouping grouping{.variables = {}, .inputs = {}, .exported = bound.shapes};
  std::vector<const DimChange*> heads;
  for (const DimChange& change : changes) {
    const auto head =
        std::find_if(heads.begin(), heads.end(), [&](const DimChange* h) { return ChangesAlike(*h, change); });
    const auto k = static_cast<size_t>(head - heads.begin());
    if (head == heads.end()) {
      if (k == kMostVariables || change.from < 1 || change.to < 1)
        return Refusal("too many fixed sizes change at once");
      heads.push_back(&change);
      grouping.variables.push_back({.from = change.from, .to = change.to});
    }
    Shape& shape = grouping.exported.at(change.input);
    Traces& traces = grouping.inputs[change.input];
    traces.resize(shape.rank());
    traces[static_cast<size_t>(change.dim)].power[k] = 1;
    shape.dims[static_cast<size_t>(change.dim)] = change.from;
  }
  return grouping;
}

// Whether a plan made for `a` serves `b`: they differ in the sizes requested only.
bool SamePlan(const Grouping& a, const Grouping& b) {
  if (a.variables.size() != b.variables.size() || a.exported != b.exported || a.inputs.size() != b.inputs.size())
    return false;
  for (size_t k = 0; k < a.variables.size(); ++k) {
    if (a.variables[k].from != b.variables[k].from) return false;
  }
  return std::all_of(a.inputs.begin(), a.inputs.end(), [&](const auto& entry) {
    const auto it = b.inputs.find(entry.first);
    return it != b.inputs.end() &&
           std::equal(entry.second.begin(), entry.second.end(), it->second.begin(), it->second.end(),
                      [](const Trace& x, const Trace& y) { return x.SamePower(y); });
  });
}

std::string MakerOf(const onnx::GraphProto& graph, const std::string& name) {
  for (int i = 0; i < graph.node_size(); ++i) {
    const auto& outputs = graph.node(i).output();
    if (std::find(outputs.begin(), outputs.end(), name) != outputs.end()) return DescribeNode(graph, i);
  }
  return absl::StrCat("input '", name, "'");
}

// Every value that was known at the exported sizes has the size that the plan predicts.
absl::Status CheckSizes(const onnx::GraphProto& graph, const InferredGraph& base, const InferredGraph& facts,
                        const BatchPlan& plan, const Variables& variables) {
  for (const auto& [name, before] : base.values) {
    if (!before.shape.known() || before.upper_bound) continue;
    const auto now = facts.values.find(name);
    if (now == facts.values.end()) return Refusal(absl::StrCat("'", name, "' is gone at ", MakerOf(graph, name)));
    if (!now->second.shape.known()) {
      const std::string maker = MakerOf(graph, name);
      const bool assumed = [&, &name = name] {
        for (int i = 0; i < graph.node_size(); ++i) {
          const auto& outputs = graph.node(i).output();
          if (std::find(outputs.begin(), outputs.end(), name) != outputs.end())
            return facts.nodes[static_cast<size_t>(i)].assumed;
        }
        return false;
      }();
      if (assumed) continue;  // said by the note about operators without a rule
      return Refusal(absl::StrCat("the size of '", name, "' is unknown at ", maker));
    }
    const auto traces = plan.traces.find(name);
    const auto expected =
        Scaled(before.shape.dims, traces == plan.traces.end() ? Traces() : traces->second, variables, Sizes::kTarget);
    if (!expected || *expected != now->second.shape.dims) {
      return Refusal(absl::StrCat(MakerOf(graph, name), " gives ", ToString(now->second.shape), " where ",
                                  expected ? ToString(Shape(*expected)) : "no whole size", " was expected"));
    }
  }
  return absl::OkStatus();
}

// Every output that had the exported batch in front has the new one, unless another dim of it carries the batch.
absl::Status CheckOutputs(const onnx::GraphProto& graph, const InferredGraph& base, const BatchPlan& plan,
                          const Variables& variables, const absl::flat_hash_map<std::string, bool>& reached) {
  for (const auto& output : graph.output()) {
    const auto fact = base.values.find(output.name());
    if (fact == base.values.end() || !fact->second.shape.known() || fact->second.shape.rank() == 0) continue;
    if (fact->second.upper_bound || fact->second.shape.dims[0] != variables[0].from) continue;
    const auto scaled = plan.traces.find(output.name());
    const auto reach = reached.find(output.name());
    if (scaled != plan.traces.end() || reach == reached.end() || !reach->second) continue;
    return Refusal(absl::StrCat("the output '", output.name(), "' keeps the exported size ",
                                ToString(fact->second.shape), ", at ", MakerOf(graph, output.name())));
  }
  return absl::OkStatus();
}

// Values to whose contents a changed input contributes, shapes read on the way aside.
absl::flat_hash_map<std::string, bool> Reached(const onnx::GraphProto& graph, const Grouping& grouping) {
  absl::flat_hash_map<std::string, bool> reached;
  for (const auto& [name, traces] : grouping.inputs) reached[name] = true;
  for (const auto& node : graph.node()) {
    if (node.op_type() == "Shape" || node.op_type() == "Size") continue;
    const bool any = std::any_of(node.input().begin(), node.input().end(),
                                 [&](const std::string& name) { return reached.contains(name); });
    if (!any) continue;
    for (const std::string& name : node.output()) reached[name] = true;
  }
  return reached;
}

std::vector<InputRewrite> RewritesOf(const onnx::GraphProto& graph, const InferredGraph& base,
                                     const InferredGraph& facts, const BatchPlan& plan, const Variables& variables) {
  std::vector<InputRewrite> rewrites;
  for (const NodeEdit& edit : plan.edits) {
    const std::string& name = graph.node(edit.node).input(edit.edit.input);
    Literal literal{.dtype = DType::kInt64, .dims = {}, .data = {}};
    if (const auto fact = facts.values.find(name); fact != facts.values.end()) {
      literal.dtype = fact->second.dtype;
      if (fact->second.shape.rank() == 1) literal.dims = {static_cast<int64_t>(edit.edit.base.size())};
    }
    std::vector<int64_t> contents;
    for (size_t i = 0; i < edit.edit.base.size(); ++i) {
      contents.push_back(Scaled(edit.edit.base[i], edit.edit.elements[i], variables, Sizes::kTarget).value_or(0));
    }
    literal.data = std::move(contents);
    rewrites.push_back(
        {.node = edit.node, .input = edit.edit.input, .contents = std::make_shared<const Literal>(std::move(literal))});
  }
  for (const Expansion& expansion : plan.expansions) {
    const auto fact = base.values.find(graph.node(expansion.node).input(expansion.input));
    const auto dims = Scaled(fact->second.shape.dims, expansion.dims, variables, Sizes::kTarget);
    rewrites.push_back({.node = expansion.node, .input = expansion.input, .expanded = Shape(dims.value_or(Dims{}))});
  }
  return rewrites;
}

absl::Status StaticSizes(const BoundInputs& bound, const absl::Status& reason) {
  if (DiagnosticOf(reason).code == Code::kTooLarge) return reason;
  const bool batch_only =
      std::all_of(bound.changes.begin(), bound.changes.end(), [](const DimChange& change) { return change.dim == 0; });
  const DimChange& first = bound.changes.front();
  const std::string what = batch_only
                               ? absl::StrCat("exported with a fixed batch of ", first.from, "; cannot be re-batched")
                               : absl::StrCat("exported with fixed sizes (dimension ", first.dim, " of '", first.input,
                                              "' is ", first.from, "); cannot be changed to ", first.to);
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kStaticBatch, what,
                     {absl::StrCat("why: ", DiagnosticOf(reason).message),
                      absl::StrCat("way out: without ", batch_only ? "--batch" : "--input", ", at the exported size"),
                      std::string(kExportRecipe)});
}

}  // namespace

// The last plan, and what was inferred at the exported sizes.
struct RebatchMemory {
  std::mutex mutex;
  std::optional<Grouping> grouping;
  InferredGraph base;
  BatchPlan plan;
};

Rebatcher::Rebatcher() : memory_(std::make_unique<RebatchMemory>()) {}
Rebatcher::~Rebatcher() = default;

absl::StatusOr<Rebatched> Rebatcher::Follow(const onnx::ModelProto& model, const BoundInputs& bound,
                                            const std::vector<DimChange>& changes) {
  ASSIGN_OR_RETURN(Grouping grouping, Group(bound, changes));
  const std::lock_guard lock(memory_->mutex);
  const onnx::GraphProto& graph = model.graph();
  if (!memory_->grouping || !SamePlan(*memory_->grouping, grouping)) {
    memory_->grouping.reset();
    ASSIGN_OR_RETURN(memory_->base, InferShapes(model, {.input_shapes = &grouping.exported}));
    ASSIGN_OR_RETURN(memory_->plan, FindBatchPlan(model, memory_->base, grouping.variables, grouping.inputs));
    RETURN_IF_ERROR(CheckOutputs(graph, memory_->base, memory_->plan, grouping.variables, Reached(graph, grouping)));
    memory_->grouping = grouping;
  }
  ReplayHook replay(graph, memory_->base, grouping.variables, memory_->plan);
  Rebatched result;
  ASSIGN_OR_RETURN(result.facts, InferShapes(model, {.input_shapes = &bound.shapes, .hook = &replay}));
  RETURN_IF_ERROR(CheckSizes(graph, memory_->base, result.facts, memory_->plan, grouping.variables));
  result.rewrites = RewritesOf(graph, memory_->base, result.facts, memory_->plan, grouping.variables);
  result.unreached = memory_->plan.unreached;
  result.followed = static_cast<int64_t>(result.rewrites.size() + memory_->plan.sources.size());
  return result;
}

absl::StatusOr<Rebatched> Rebatcher::Infer(const onnx::ModelProto& model, const BoundInputs& bound) {
  absl::StatusOr<Rebatched> result = Follow(model, bound, bound.changes);
  if (result.ok()) return result;
  // Image sizes seldom scale everything in proportion (borders, strides); where no constant holds them, none has to
  // follow, and only the batch is left to change.
  std::vector<DimChange> batch;
  std::copy_if(bound.changes.begin(), bound.changes.end(), std::back_inserter(batch),
               [](const DimChange& c) { return c.dim == 0; });
  if (batch.size() == bound.changes.size()) return StaticSizes(bound, result.status());
  absl::Status plain = CheckPlainResize(model, bound);
  if (!plain.ok()) return StaticSizes(bound, result.status());
  if (!batch.empty()) {
    result = Follow(model, bound, batch);
  } else {
    auto facts = InferShapes(model, {.input_shapes = &bound.shapes});
    if (!facts.ok()) return StaticSizes(bound, facts.status());
    result = Rebatched{.facts = *std::move(facts), .rewrites = {}, .unreached = {}};
  }
  if (!result.ok()) return StaticSizes(bound, result.status());
  return result;
}

}  // namespace onnx_mem
