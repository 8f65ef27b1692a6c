#include "analyzer/onnx/infer/inference.h"

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/infer/body.h"
#include "analyzer/onnx/infer/bounds.h"
#include "analyzer/onnx/infer/misfit.h"
#include "analyzer/onnx/read/tensor_literal.h"

namespace onnx_mem {
namespace {

using google::protobuf::Arena;

constexpr int64_t kSmallFold = 1024;  // elements: shape arithmetic never has more

std::string Describe(const onnx::NodeProto& node, const onnx::GraphProto& graph) {
  if (!node.name().empty()) return absl::StrCat("node '", node.name(), "' (", node.op_type(), ")");
  for (int i = 0; i < graph.node_size(); ++i) {
    if (&graph.node(i) == &node) return absl::StrCat("node #", i, " (", node.op_type(), ")");
  }
  return absl::StrCat("a node (", node.op_type(), ")");
}

// Element types that value_info gives to tensors that are stored as doubles, where it says another floating type: what
// torch computed with. onnxscript's constant folding runs ONNX's reference operators, in which numpy may go over to
// doubles, and stores what came out; the node's value_info, from torch's program, stays.
// Source: onnxscript/optimizer/_constant_folding.py, new_initializer.
absl::flat_hash_map<absl::string_view, int> FoldedToDouble(const onnx::GraphProto& graph) {
  absl::flat_hash_map<absl::string_view, int> types;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (tensor.data_type() == onnx::TensorProto::DOUBLE) types.emplace(tensor.name(), onnx::TensorProto::DOUBLE);
  }
  if (types.empty()) return types;
  for (const onnx::ValueInfoProto& info : graph.value_info()) {
    const auto stored = types.find(info.name());
    const int type = info.type().tensor_type().elem_type();
    if (stored != types.end() && IsFloating(DTypeOf(type))) stored->second = type;
  }
  return types;
}

// "1x3x224x224 and 64x4x7x7"
std::string InputShapes(const NodeInputs& inputs) {
  std::string text;
  for (const ScopeValue* input : inputs) {
    if (input == nullptr) continue;
    absl::StrAppend(&text, text.empty() ? "" : " and ", ToString(ShapeOfType(input->type)));
  }
  return text;
}

}  // namespace

absl::Status NodeSite::BadShape(std::string reason) const {
  for (const char* prefix : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    if (reason.rfind(prefix, 0) == 0) reason.erase(0, std::char_traits<char>::length(prefix));
  }
  while (!reason.empty() && (reason.back() == '.' || reason.back() == '\n' || reason.back() == ' ')) reason.pop_back();
  std::vector<std::string> details;
  if (!inputs.empty()) details.push_back(absl::StrCat("why: its inputs are ", InputShapes(inputs)));
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadShape,
                     absl::StrCat(Describe(node, graph), ": ", reason), std::move(details));
}

int NodeSite::version() const { return op.schema != nullptr ? op.schema->since_version() : 0; }

bool NodeSite::MayRead(size_t i) const {
  if (i >= inputs.size() || inputs[i] == nullptr) return false;
  return !inputs[i]->contents_are_bounds || SizeGrowsWith(node.op_type(), i);
}

InferencePass::InferencePass(const onnx::ModelProto& model, bool fold) : operators_(model), fold_(fold) {}

void InferencePass::BindInitializers(const onnx::GraphProto& graph, ValueScope& scope) {
  const absl::flat_hash_map<absl::string_view, int> doubles = FoldedToDouble(graph);
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    ScopeValue value;
    const auto of_double = doubles.find(tensor.name());
    const int type = of_double == doubles.end() ? tensor.data_type() : of_double->second;
    value.type = MakeType(type, Shape(Dims(tensor.dims().begin(), tensor.dims().end())), arena_);
    if (HasPayload(tensor)) value.tensor = &tensor;
    scope.Set(tensor.name(), std::move(value));
  }
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) {
    ScopeValue value;
    value.type = MakeType(sparse.values().data_type(), Shape(Dims(sparse.dims().begin(), sparse.dims().end())), arena_);
    scope.Set(sparse.values().name(), std::move(value));
  }
}

absl::Status InferencePass::InferGraph(const onnx::GraphProto& graph, ValueScope& scope, InferredGraph& facts) {
  scope.Reserve(size_t{0} + graph.node_size() + graph.initializer_size() + graph.input_size());
  BindInitializers(graph, scope);
  if (scope.highest_rank() > limits::kHighestRank) {
    return TooManyDimensions(absl::StrCat("graph '", graph.name(), "'"), scope.highest_rank());
  }
  NodeHook* hook = scope.depth() == 0 ? hook_ : nullptr;
  if (hook != nullptr) {
    if (absl::Status status = hook->Begin(*this, scope); !status.ok()) return status;
  }
  facts.nodes.assign(static_cast<size_t>(graph.node_size()), NodeFact());
  facts.bodies.assign(static_cast<size_t>(graph.node_size()), {});
  static auto& unknown = *new ScopeValue();
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    ++visits_;
    if (scope.depth() > 0) ++body_visits_;
    NodeSite site{node,
                  graph,
                  operators_.Of(node),
                  scope,
                  {},
                  facts.nodes[static_cast<size_t>(i)],
                  facts.bodies[static_cast<size_t>(i)]};
    for (const std::string& name : node.input()) {
      ScopeValue* value = name.empty() ? nullptr : scope.Find(name);
      site.inputs.push_back(name.empty() || value != nullptr ? value : &unknown);
    }
    if (hook != nullptr) {
      if (absl::Status status = hook->Before(i, site); !status.ok()) return status;
    }
    if (absl::Status status = InferNode(site); !status.ok()) return status;
    if (scope.highest_rank() > limits::kHighestRank) {
      return TooManyDimensions(Describe(node, graph), scope.highest_rank());
    }
    if (hook != nullptr) {
      if (absl::Status status = hook->After(i, site); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

void InferencePass::ReportValues(ValueScope& scope, InferredGraph& facts) {
  facts.values.reserve(scope.bound().size());
  for (ValueScope::Bound& bound : scope.bound()) facts.values.insert_or_assign(View(bound.name), FactOf(bound.value));
}

absl::Status InferencePass::InferNode(NodeSite& site) {
  if (site.op.default_domain && !site.inputs.empty() && site.inputs[0] != nullptr && site.node.attribute_size() > 0) {
    const std::string fault = AxisFault(site.node, site.version(), ShapeOfType(site.inputs[0]->type));
    if (!fault.empty()) return site.BadShape(fault);
  }
  if (BindConstant(site) || (fold_ && Fold(site))) return absl::OkStatus();
  for (const onnx::AttributeProto& attribute : site.node.attribute()) {
    site.bodies.resize(site.bodies.size() + NumBodies(attribute));
  }
  if (site.op.infer_bodies != nullptr) return site.op.infer_bodies(*this, site);
  NodeOutputs outputs;
  for (int i = 0; i < site.node.output_size(); ++i) outputs.push_back(Arena::CreateMessage<onnx::TypeProto>(&arena_));
  if (absl::Status status = InferTypes(site, outputs); !status.ok()) return status;
  BindOutputs(site, outputs);
  return absl::OkStatus();
}

// A Constant's tensor is contents like an initializer's: not read before someone asks.
bool InferencePass::BindConstant(NodeSite& site) {
  if (!site.op.default_domain || site.node.op_type() != "Constant" || site.node.output_size() != 1) return false;
  for (const onnx::AttributeProto& attribute : site.node.attribute()) {
    if (attribute.name() != "value" || !attribute.has_t()) continue;
    const onnx::TensorProto& tensor = attribute.t();
    ScopeValue value;
    value.type = MakeType(tensor.data_type(), Shape(Dims(tensor.dims().begin(), tensor.dims().end())), arena_);
    if (HasPayload(tensor)) value.tensor = &tensor;
    site.scope.Set(site.node.output(0), std::move(value));
    return true;
  }
  return false;
}

namespace {

// What an operator is folded from, and whether some of it is a bound.
struct FoldOperands {
  absl::InlinedVector<fold::Input, 4> inputs;
  bool bounds = false;
};

// nullopt where something that the operator needs to be known is not.
std::optional<FoldOperands> FoldOperandsOf(const NodeSite& site) {
  const fold::FoldNeeds needs = site.op.fold->needs;
  if (needs != fold::FoldNeeds::kTypes) {
    if (site.inputs.empty() || site.inputs[0] == nullptr) return std::nullopt;
    for (const ScopeValue* input : site.inputs) {
      if (input != nullptr && !MayHaveContents(*input)) return std::nullopt;
    }
  }
  FoldOperands all;
  absl::InlinedVector<BoundOperand, 4> operands;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    ScopeValue* input = site.inputs[i];
    fold::Input& added = all.inputs.emplace_back();
    BoundOperand& operand = operands.emplace_back();
    if (input == nullptr) continue;
    added = {ContentsOf(*input), input->type, true};
    operand = {added.value, input->contents_are_bounds || input->upper_bound};
    all.bounds = all.bounds || operand.is_bound;
    const bool partial_allowed = needs == fold::FoldNeeds::kPartial || (needs == fold::FoldNeeds::kPartial0 && i == 0);
    if (input->partial && !partial_allowed) added.value = nullptr;
    if (needs != fold::FoldNeeds::kTypes && added.value == nullptr) return std::nullopt;
  }
  if (all.bounds && !KeepsBounds(site.node.op_type(), operands)) return std::nullopt;
  return all;
}

// Whether there is a result for each output of the node.
bool IsComplete(const fold::Outputs& outputs, const onnx::NodeProto& node) {
  if (outputs.size() != static_cast<size_t>(node.output_size())) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr && !node.output(static_cast<int>(i)).empty()) return false;
  }
  return true;
}

}  // namespace

bool InferencePass::Fold(NodeSite& site) {
  if (site.op.fold == nullptr || made_left_ <= 0) return false;
  const std::optional<FoldOperands> operands = FoldOperandsOf(site);
  if (!operands) return false;
  for (const fold::Input& input : operands->inputs) {
    const int64_t elements = input.value != nullptr ? fold::Count(input.value->dims).value_or(0) : 0;
    if (elements <= kSmallFold) continue;
    if (folded_left_ < elements) return false;
    folded_left_ -= elements;
  }
  fold::Outputs outputs = site.op.fold->run(fold::FoldCall(site.node, site.version(), operands->inputs));
  if (!IsComplete(outputs, site.node)) return false;
  for (const LiteralPtr& output : outputs) {
    if (output != nullptr) made_left_ -= fold::Count(output->dims).value_or(0);
  }
  if (made_left_ < 0) {  // as if the operator were not folded, and neither are those to come
    made_left_ = 0;
    return false;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr) continue;
    ScopeValue value;
    value.type = MakeType(ElementTypeOf(outputs[i]->dtype), Shape(outputs[i]->dims), arena_);
    value.partial = fold::HasUnknown(*outputs[i]);
    value.contents_are_bounds = operands->bounds;
    value.literal = std::move(outputs[i]);
    site.scope.Set(site.node.output(static_cast<int>(i)), std::move(value));
  }
  return true;
}

}  // namespace onnx_mem
