#include "analyzer/onnx/rebatch/probe.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/infer/shapes.h"
#include "analyzer/onnx/rebatch/wishes.h"

namespace onnx_mem {
namespace {

constexpr int kMostPasses = 30;

// What was granted to the output's readers, beside what follows from the inputs.
void MergeEdits(const std::vector<ContentsEdit>& granted, std::vector<ContentsEdit>& edits) {
  for (const ContentsEdit& grant : granted) {
    const auto same =
        std::find_if(edits.begin(), edits.end(), [&](const ContentsEdit& edit) { return edit.input == grant.input; });
    if (same == edits.end()) {
      edits.push_back(grant);
    } else if (same->base.size() == grant.base.size()) {
      Merge(grant.elements, same->elements);
    }
  }
}

bool IsProduct(std::string_view op) {
  return op == "MatMul" || op == "Gemm" || op == "Conv" || op == "Einsum" || op == "LayerNormalization" ||
         op == "Softmax";
}

// Finds out what must follow. One pass; repeated until no wish is new.
class ProbeHook : public ScalingHook {
 public:
  ProbeHook(const onnx::GraphProto& graph, const InferredGraph& base, const Variables& variables,
            const TraceMap& input_traces)
      : ScalingHook(graph, base, variables, Sizes::kProbe),
        input_traces_(input_traces),
        wishes_(graph, base, variables, plan_.traces) {}

  // Before each pass.
  void Restart() {
    plan_ = BatchPlan();
    settled_ = wishes_.all();
    grants_in_use_ = wishes_.grants();
    heavy_.clear();
    wishes_.ForgetNew();
  }
  bool new_wish() const { return wishes_.any_new(); }
  BatchPlan& plan() { return plan_; }

  absl::Status Begin(InferencePass& pass, ValueScope& scope) override {
    UseArena(pass.arena());
    plan_.traces = input_traces_;
    for (const auto& [name, traces] : settled_) {
      if (wishes_.IsMade(name)) continue;  // granted by its node
      Traces& all = plan_.traces[name];
      Merge(traces, all);
      RETURN_IF_ERROR(ScaleInScope(name, all, scope));
      plan_.sources[name] = all;
    }
    return absl::OkStatus();
  }

  absl::Status Before(int node, NodeSite& site) override;
  absl::Status After(int node, NodeSite& site) override;

 private:
  Operand OperandOf(const std::string& name, ScopeValue* now) const;
  absl::Status GrantWish(int node, const SizeWish& wish, NodeSite& site);
  absl::Status TraceOutput(int node, const std::string& name, NodeSite& site);
  void InheritOuter(const onnx::NodeProto& node, const Dims& base, Traces& traces) const;
  bool Lost(int node) const;

  const TraceMap& input_traces_;
  BatchPlan plan_;
  Wishes wishes_;
  // Those that this pass began with.
  TraceMap settled_;
  absl::flat_hash_map<int, std::vector<ContentsEdit>> grants_in_use_;
  absl::flat_hash_set<std::string> heavy_;  // values of this pass that carry no variable and took products to compute
  std::vector<Operand> inputs_, outputs_;   // of the node at hand
};

// As it is now, in the pass.
Operand ProbeHook::OperandOf(const std::string& name, ScopeValue* now) const {
  Operand operand = wishes_.OperandOf(name);
  if (now == nullptr || operand.base_contents == nullptr) return operand;
  ContentsOf(*now);
  if (!now->partial) operand.contents = now->literal;
  operand.baked = operand.contents != nullptr && *operand.contents == *operand.base_contents;
  return operand;
}

// Scales operand `wish.input` for this pass, and sees to it that the next pass finds it scaled.
absl::Status ProbeHook::GrantWish(int node, const SizeWish& wish, NodeSite& site) {
  const std::string& name = graph_.node(node).input(wish.input);
  Operand& operand = inputs_[static_cast<size_t>(wish.input)];
  Traces all = operand.traces;
  Merge(wish.dims, all);
  if (!AllOfSizeOne(wish.dims, operand.base.dims)) {
    RETURN_IF_ERROR(wishes_.Wish(name, wish.dims, node, wish.ones));
  } else if (!wishes_.TryWish(name, wish.dims, node, wish.ones)) {
    if (wish.ones == Ones::kBroadcast || wish.ones == Ones::kConstant) {
      if (wishes_.IsComputed(name) && Base(name)->value == nullptr) plan_.unreached[name] = heavy_.contains(name);
      return absl::OkStatus();
    }
    plan_.expansions.push_back({.node = node, .input = wish.input, .dims = all});
  }
  operand.traces = all;
  return ScaleOperand(node, wish.input, all, site);
}

absl::Status ProbeHook::Before(int node, NodeSite& site) {
  const onnx::NodeProto& proto = graph_.node(node);
  inputs_.clear();
  outputs_.clear();
  for (int i = 0; i < proto.input_size(); ++i)
    inputs_.push_back(OperandOf(proto.input(i), site.inputs[static_cast<size_t>(i)]));
  for (const std::string& output : proto.output()) outputs_.push_back(wishes_.OperandOf(output));
  Ruling ruling = FollowBatch({proto, inputs_, outputs_, variables_});
  if (!ruling.understood) {
    const auto* target = inputs_.size() > 1 && inputs_[1].base_contents ? inputs_[1].base_contents->ints() : nullptr;
    return Refusal(target != nullptr ? absl::StrCat(DescribeNode(graph_, node), " has the constant shape [",
                                                    absl::StrJoin(*target, ", "), "]")
                                     : absl::StrCat(DescribeNode(graph_, node), " has constants of the exported size"));
  }
  for (const SizeWish& wish : ruling.wishes) RETURN_IF_ERROR(GrantWish(node, wish, site));
  if (const auto it = grants_in_use_.find(node); it != grants_in_use_.end()) MergeEdits(it->second, ruling.edits);
  for (ContentsEdit& edit : ruling.edits) {
    RETURN_IF_ERROR(ScaleContents(node, edit, site));
    plan_.edits.push_back({.node = node, .edit = std::move(edit)});
  }
  return absl::OkStatus();
}

absl::Status ProbeHook::After(int node, NodeSite& site) {
  const onnx::NodeProto& proto = graph_.node(node);
  for (const std::string& output : proto.output()) {
    if (output.empty()) continue;
    if (const auto wish = settled_.find(output); wish != settled_.end()) {
      // A table that is large enough for the sizes requested may be too small for the probe's: a Slice then stops
      // early.
      const bool constant = proto.op_type() == "Constant";
      if (constant || proto.op_type() == "Slice") RETURN_IF_ERROR(ScaleInScope(output, wish->second, site.scope));
      if (constant) plan_.sources[output] = wish->second;
    }
    RETURN_IF_ERROR(TraceOutput(node, output, site));
  }
  if (!Lost(node)) return absl::OkStatus();
  return Refusal(
      absl::StrCat("the batch is lost at ", DescribeNode(graph_, node), ": its inputs follow, its output does not"));
}

absl::Status ProbeHook::TraceOutput(int node, const std::string& name, NodeSite& site) {
  const ValueFact* base = Base(name);
  if (base == nullptr || !base->shape.known()) return absl::OkStatus();
  const ScopeValue* value = site.scope.Find(name);
  const Shape now = value != nullptr ? ShapeOfType(value->type) : Shape();
  if (!now.known()) {
    if (site.fact.assumed) return absl::OkStatus();  // its recorded shape was that of the exported size
    return Refusal(
        absl::StrCat("the size of '", name, "' is unknown at another batch, at ", DescribeNode(graph_, node)));
  }
  std::optional<Traces> traces = TracesOf(base->shape.dims, now.dims, variables_);
  if (!traces) {
    if (base->upper_bound) return absl::OkStatus();
    return Refusal(absl::StrCat(DescribeNode(graph_, node), " gives ", ToString(base->shape),
                                ", which is not proportional to the batch"));
  }
  InheritOuter(graph_.node(node), base->shape.dims, *traces);
  if (const auto wish = settled_.find(name); wish != settled_.end()) {
    for (size_t d = 0; d < traces->size(); ++d) {
      if (wish->second[d].any() && !wish->second[d].SamePower((*traces)[d])) {
        return Refusal(absl::StrCat(DescribeNode(graph_, node), " keeps '", name, "' at the exported size"));
      }
    }
  }
  if (AnyScaled(*traces)) {
    plan_.traces[name] = *std::move(traces);
  } else {
    const auto& inputs = graph_.node(node).input();
    const bool heavy =
        std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) { return heavy_.contains(input); });
    if (heavy || IsProduct(graph_.node(node).op_type())) heavy_.insert(name);
  }
  return absl::OkStatus();
}

// Where within its dims the output carries a variable: as the reshaped data, or as the input dim of the same size.
void ProbeHook::InheritOuter(const onnx::NodeProto& node, const Dims& base, Traces& traces) const {
  if (!AnyScaled(traces) || inputs_.empty()) return;
  if (node.op_type() == "Reshape" || node.op_type() == "Flatten" || node.op_type() == "Squeeze" ||
      node.op_type() == "Unsqueeze") {
    const auto reshaped = Reshaped(inputs_[0].base.dims, inputs_[0].traces, base, variables_);
    for (size_t d = 0; reshaped && d < traces.size(); ++d) {
      if ((*reshaped)[d].SamePower(traces[d])) traces[d] = (*reshaped)[d];
    }
    return;
  }
  for (size_t d = 0; d < traces.size(); ++d) {
    for (const Operand& input : inputs_) {
      const auto same = [&](size_t i) {
        return input.traces[i].any() && input.base.dims[i] == base[d] && input.traces[i].SamePower(traces[d]);
      };
      size_t i = 0;
      while (i < input.base.rank() && !same(i)) ++i;
      if (i == input.base.rank()) continue;
      traces[d] = input.traces[i];
      break;
    }
  }
}

// Whether a scaled input leaves no mark on any output, where the operator has no right to drop it.
bool ProbeHook::Lost(int node) const {
  const onnx::NodeProto& proto = graph_.node(node);
  if (std::none_of(inputs_.begin(), inputs_.end(), [](const Operand& input) { return AnyScaled(input.traces); }))
    return false;
  bool any_known = false;
  for (const std::string& output : proto.output()) {
    const ValueFact* base = output.empty() ? nullptr : Base(output);
    if (base == nullptr || !base->shape.known() || base->upper_bound) continue;
    if (plan_.traces.contains(output) || base->value != nullptr) return false;  // contents: shape arithmetic
    any_known = true;
  }
  return any_known && !MayDropBatch({proto, inputs_, outputs_, variables_});
}

// A misfit at the probe's sizes names its node; the sizes themselves mean nothing to anyone.
absl::Status AtProbeSizes(const absl::Status& misfit) {
  const std::string message = DiagnosticOf(misfit).message;
  const size_t node_end = message.find("): ");
  if (node_end == std::string::npos) return misfit;
  return Refusal(absl::StrCat(message.substr(0, node_end + 1), ": its inputs no longer fit each other"));
}

}  // namespace

absl::StatusOr<BatchPlan> FindBatchPlan(const onnx::ModelProto& model, const InferredGraph& base,
                                        const Variables& variables, const TraceMap& input_traces) {
  absl::flat_hash_map<std::string, Shape> shapes;
  for (const auto& input : model.graph().input()) {
    const auto fact = base.values.find(input.name());
    if (fact == base.values.end() || !fact->second.shape.known()) continue;
    const auto traces = input_traces.find(input.name());
    const auto dims = Scaled(fact->second.shape.dims, traces == input_traces.end() ? Traces() : traces->second,
                             variables, Sizes::kProbe);
    if (!dims) return Refusal(absl::StrCat("input '", input.name(), "' is too large"));
    shapes.emplace(input.name(), Shape(*dims));
  }
  ProbeHook probe(model.graph(), base, variables, input_traces);
  for (int i = 0; i < kMostPasses; ++i) {
    probe.Restart();
    const auto inferred = InferShapes(model, {.input_shapes = &shapes, .hook = &probe});
    if (!inferred.ok()) return AtProbeSizes(inferred.status());
    if (!probe.new_wish()) return std::move(probe.plan());
  }
  return Refusal("its constants depend on each other in too many ways");
}

}  // namespace onnx_mem
