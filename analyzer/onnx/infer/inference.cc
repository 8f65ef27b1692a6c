#include "analyzer/onnx/infer/inference.h"

#include <algorithm>
#include <exception>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/infer/body.h"
#include "analyzer/onnx/infer/bounds.h"
#include "analyzer/onnx/infer/misfit.h"
#include "analyzer/onnx/infer/schema_context.h"
#include "analyzer/onnx/infer/schemas.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "onnx/shape_inference/implementation.h"

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

// "1x3x224x224 and 64x4x7x7"
std::string InputShapes(const NodeInputs& inputs) {
  std::string text;
  for (const Value* input : inputs) {
    if (input == nullptr) continue;
    absl::StrAppend(&text, text.empty() ? "" : " and ", ToString(ShapeOfType(input->type)));
  }
  return text;
}

absl::Status BadShape(const onnx::NodeProto& node, const onnx::GraphProto& graph, const NodeInputs& inputs,
                      std::string reason) {
  for (const char* prefix : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    if (reason.rfind(prefix, 0) == 0) reason.erase(0, std::char_traits<char>::length(prefix));
  }
  while (!reason.empty() && (reason.back() == '.' || reason.back() == '\n' || reason.back() == ' ')) reason.pop_back();
  std::vector<std::string> details;
  if (!inputs.empty()) details.push_back(absl::StrCat("why: its inputs are ", InputShapes(inputs)));
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadShape,
                     absl::StrCat(Describe(node, graph), ": ", reason), std::move(details));
}

bool IsScalar(const onnx::TypeProto* type) {
  const Shape shape = ShapeOfType(type);
  return shape.has_rank && shape.dims.empty();
}

// Adds what `result` knows beyond `type`; whether that was a size.
bool Fill(const rules::Result& result, onnx::TypeProto& type) {
  if (type.value_case() != onnx::TypeProto::VALUE_NOT_SET && !type.has_tensor_type()) return false;
  if (!type.has_tensor_type() && result.element_type == onnx::TensorProto::UNDEFINED && !result.shape.has_rank) {
    return false;
  }
  onnx::TypeProto::Tensor& tensor = *type.mutable_tensor_type();
  if (tensor.elem_type() == onnx::TensorProto::UNDEFINED) tensor.set_elem_type(result.element_type);
  if (!result.shape.has_rank) return false;
  if (!tensor.has_shape()) {
    for (size_t i = 0; i < result.shape.rank(); ++i) tensor.mutable_shape()->add_dim();
    if (result.shape.rank() == 0) tensor.mutable_shape();
  }
  if (static_cast<size_t>(tensor.shape().dim_size()) != result.shape.rank()) return false;
  bool filled = false;
  for (size_t i = 0; i < result.shape.rank(); ++i) {
    auto& dim = *tensor.mutable_shape()->mutable_dim(static_cast<int>(i));
    if (dim.has_dim_value() || result.shape.dims[i] < 0) continue;
    dim.set_dim_value(result.shape.dims[i]);
    filled = true;
  }
  return filled;
}

using TypeInputs = absl::InlinedVector<fold::Input, 4>;

// The inputs as rules and checks see them; contents only where they are complete and may decide about sizes.
TypeInputs InputsOf(const NodeSite& site, bool contents) {
  TypeInputs inputs;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    fold::Input& added = inputs.emplace_back();
    Value* input = site.inputs[i];
    if (input == nullptr) continue;
    const bool readable = contents && site.MayRead(i) && ContentsOf(*input) != nullptr && !input->partial;
    added = {readable ? input->literal.get() : nullptr, input->type, true};
  }
  return inputs;
}

int VersionOf(const Operator& op) { return op.schema != nullptr ? op.schema->since_version() : 0; }

}  // namespace

bool NodeSite::MayRead(size_t i) const {
  if (i >= inputs.size() || inputs[i] == nullptr) return false;
  return !inputs[i]->contents_are_bounds || SizeGrowsWith(node.op_type(), i);
}

InferencePass::InferencePass(const onnx::ModelProto& model, bool fold) : operators_(model), fold_(fold) {}

void InferencePass::BindInitializers(const onnx::GraphProto& graph, ValueScope& scope) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    Value value;
    value.type = MakeType(tensor.data_type(), Shape(Dims(tensor.dims().begin(), tensor.dims().end())), arena_);
    if (HasPayload(tensor)) value.tensor = &tensor;
    scope.Set(tensor.name(), std::move(value));
  }
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) {
    Value value;
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
  static auto& unknown = *new Value();
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    ++visits_;
    if (scope.depth() > 0) ++body_visits_;
    Site site{node,
              graph,
              operators_.Of(node),
              scope,
              {},
              facts.nodes[static_cast<size_t>(i)],
              facts.bodies[static_cast<size_t>(i)]};
    for (const std::string& name : node.input()) {
      Value* value = name.empty() ? nullptr : scope.Find(name);
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
    const std::string fault = AxisFault(site.node, VersionOf(site.op), ShapeOfType(site.inputs[0]->type));
    if (!fault.empty()) return BadShape(site.node, site.graph, site.inputs, fault);
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
    Value value;
    value.type = MakeType(tensor.data_type(), Shape(Dims(tensor.dims().begin(), tensor.dims().end())), arena_);
    if (HasPayload(tensor)) value.tensor = &tensor;
    site.scope.Set(site.node.output(0), std::move(value));
    return true;
  }
  return false;
}

bool InferencePass::Fold(NodeSite& site) {
  if (site.op.fold == nullptr || made_left_ <= 0) return false;
  const fold::Needs needs = site.op.fold->needs;
  if (needs != fold::Needs::kTypes) {
    if (site.inputs.empty() || site.inputs[0] == nullptr) return false;
    for (const Value* input : site.inputs) {
      if (input != nullptr && !MayHaveContents(*input)) return false;
    }
  }
  absl::InlinedVector<fold::Input, 4> inputs;
  absl::InlinedVector<BoundOperand, 4> operands;
  bool bounds = false;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    Value* input = site.inputs[i];
    fold::Input& added = inputs.emplace_back();
    BoundOperand& operand = operands.emplace_back();
    if (input == nullptr) continue;
    added = {ContentsOf(*input), input->type, true};
    operand = {added.value, input->contents_are_bounds || input->upper_bound};
    bounds = bounds || operand.is_bound;
    const bool partial_allowed = needs == fold::Needs::kPartial || (needs == fold::Needs::kPartial0 && i == 0);
    if (input->partial && !partial_allowed) added.value = nullptr;
    if (needs != fold::Needs::kTypes && added.value == nullptr) return false;
  }
  if (bounds && !KeepsBounds(site.node.op_type(), operands)) return false;
  for (const fold::Input& input : inputs) {
    const int64_t elements = input.value != nullptr ? fold::Count(input.value->dims).value_or(0) : 0;
    if (elements <= kSmallFold) continue;
    if (folded_left_ < elements) return false;
    folded_left_ -= elements;
  }
  fold::Outputs outputs = site.op.fold->run(fold::Call(site.node, site.op.schema->since_version(), inputs));
  if (outputs.size() != static_cast<size_t>(site.node.output_size())) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr && !site.node.output(static_cast<int>(i)).empty()) return false;
  }
  for (const LiteralPtr& output : outputs) {
    if (output != nullptr) made_left_ -= fold::Count(output->dims).value_or(0);
  }
  if (made_left_ < 0) {  // as if the operator were not folded, and neither are those to come
    made_left_ = 0;
    return false;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr) continue;
    Value value;
    value.type = MakeType(ElementTypeOf(outputs[i]->dtype), Shape(outputs[i]->dims), arena_);
    value.partial = fold::HasUnknown(*outputs[i]);
    value.contents_are_bounds = bounds;
    value.literal = std::move(outputs[i]);
    site.scope.Set(site.node.output(static_cast<int>(i)), std::move(value));
  }
  return true;
}

namespace {

// The first operand that the operator cannot do without and that the node leaves out; empty if there is none.
std::string MissingInput(const NodeSite& site) {
  if (site.op.schema == nullptr) return {};
  const auto& formal = site.op.schema->inputs();
  for (size_t i = 0; i < formal.size() && formal[i].GetOption() == onnx::OpSchema::Single; ++i) {
    const int at = static_cast<int>(i);
    if (at >= site.node.input_size() || site.node.input(at).empty()) {
      return absl::StrCat("input ", i, " (", formal[i].GetName(), ") is missing");
    }
  }
  return {};
}

}  // namespace

absl::Status InferencePass::InferTypes(NodeSite& site, NodeOutputs& outputs) {
  std::string reason = MissingInput(site);
  if (!reason.empty()) return BadShape(site.node, site.graph, site.inputs, reason);
  if (site.op.check_inputs != nullptr) {
    const TypeInputs inputs = InputsOf(site, false);
    reason = site.op.check_inputs(fold::Call(site.node, VersionOf(site.op), inputs));
  }
  const onnx::OpSchema* schema = site.op.schema;
  bool certain = !reason.empty();
  if (reason.empty() && (site.op.inferred || (schema != nullptr && schema->HasFunction()))) {
    if (absl::Status status = InferBySchema(site, outputs, reason); !status.ok()) return status;
  } else {
    site.fact.assumed = schema == nullptr && site.op.rule == nullptr;
  }
  if (reason.empty() && site.op.check_output != nullptr && !outputs.empty()) {
    const TypeInputs inputs = InputsOf(site, false);
    reason = site.op.check_output(fold::Call(site.node, VersionOf(site.op), inputs), ShapeOfType(outputs[0]));
    certain = !reason.empty();
  }
  if (reason.empty()) return absl::OkStatus();
  // The checks looked at known sizes only; the schemas may have stumbled over an unknown one.
  const auto exact = [](const Value* input) {
    return input == nullptr || (!input->upper_bound && !input->contents_are_bounds);
  };
  const auto known = [](const Value* input) { return input == nullptr || IsFullyKnown(input->type); };
  certain = (certain || std::all_of(site.inputs.begin(), site.inputs.end(), known)) &&
            std::all_of(site.inputs.begin(), site.inputs.end(), exact);
  if (certain) return BadShape(site.node, site.graph, site.inputs, reason);
  KeepElementTypes(outputs);
  return absl::OkStatus();
}

// Inputs of which something is unknown may fit after all: nothing is known of the outputs but the element type.
void InferencePass::KeepElementTypes(NodeOutputs& outputs) {
  for (onnx::TypeProto*& output : outputs) {
    const int element_type =
        output->has_tensor_type() ? output->tensor_type().elem_type() : onnx::TensorProto::UNDEFINED;
    output = Arena::CreateMessage<onnx::TypeProto>(&arena_);
    if (element_type != onnx::TensorProto::UNDEFINED) output->mutable_tensor_type()->set_elem_type(element_type);
  }
}

rules::Results InferencePass::Apply(rules::Function rule, NodeSite& site) {
  const TypeInputs inputs = InputsOf(site, true);
  return rule(fold::Call(site.node, VersionOf(site.op), inputs));
}

// `reason` is set where the schema's function says that the inputs do not fit.
absl::Status InferencePass::InferBySchema(NodeSite& site, NodeOutputs& outputs, std::string& reason) {
  SchemaContext context(*this, site, outputs);
  try {
    if (site.op.inferred) {
      site.op.schema->GetTypeAndShapeInferenceFunction()(context);
    } else {
      onnx::shape_inference::InferShapeForFunctionNode(*site.op.schema->GetFunction(), &Schemas::Instance(), context);
    }
  } catch (const std::exception& error) {  // how ONNX's functions report a misfit
    reason = error.what();
    if (reason.empty()) reason = "its inputs do not fit";
  }
  return context.body_status();
}

const onnx::TypeProto* InferencePass::TypeFromValueInfo(const onnx::GraphProto& graph, const std::string& name) {
  const auto named = [&name](const onnx::ValueInfoProto& info) { return info.name() == name && info.has_type(); };
  for (const auto* list : {&graph.value_info(), &graph.output()}) {
    const auto found = std::find_if(list->begin(), list->end(), named);
    if (found == list->end()) continue;
    auto* type = Arena::CreateMessage<onnx::TypeProto>(&arena_);
    *type = found->type();
    if (!type->has_tensor_type() || !type->tensor_type().has_shape()) return type;
    for (auto& dim : *type->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (!trust_value_info_) dim.clear_dim_value();
      const auto bound = bound_dims_.find(dim.dim_param());
      if (dim.has_dim_param() && bound != bound_dims_.end()) dim.set_dim_value(bound->second);
    }
    return type;
  }
  return nullptr;
}

namespace {

// Reads a stored list of integers, a shape or axes, whose contents are not in the file.
bool LacksContents(const NodeSite& site) {
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    Value* input = site.inputs[i];
    if (input == nullptr || MayHaveContents(*input) || !IsFullyKnown(input->type)) continue;
    const auto& type = input->type->tensor_type();
    if (!IsIntegral(DTypeOf(type.elem_type())) || type.shape().dim_size() > 1) continue;
    const std::string& name = site.node.input(static_cast<int>(i));
    const auto& stored = site.graph.initializer();
    const auto is_it = [&](const auto& tensor) { return tensor.name() == name; };
    if (std::any_of(stored.begin(), stored.end(), is_it)) return true;
  }
  return false;
}

}  // namespace

void InferencePass::BindOutputs(NodeSite& site, const NodeOutputs& outputs) {
  const bool any_unknown =
      std::any_of(outputs.begin(), outputs.end(), [](const onnx::TypeProto* type) { return !IsFullyKnown(type); });
  rules::Results results;
  if (site.op.rule != nullptr) {
    results = Apply(site.op.rule, site);
  } else if (any_unknown && site.op.bound != nullptr) {
    results = Apply(site.op.bound, site);
  }
  bool from_bound = false;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    const Value* input = site.inputs[i];
    if (input == nullptr) continue;
    from_bound =
        from_bound || input->upper_bound || (input->contents_are_bounds && SizeGrowsWith(site.node.op_type(), i));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value value;
    const bool filled = i < results.size() && Fill(results[i], *outputs[i]);
    if ((!site.op.inferred || LacksContents(site)) && !IsFullyKnown(outputs[i])) {
      const onnx::TypeProto* stored = TypeFromValueInfo(site.graph, site.node.output(static_cast<int>(i)));
      if (stored != nullptr && outputs[i]->value_case() == onnx::TypeProto::VALUE_NOT_SET) *outputs[i] = *stored;
      if (stored != nullptr) Fill({stored->tensor_type().elem_type(), ShapeOfType(stored)}, *outputs[i]);
    }
    if (outputs[i]->value_case() != onnx::TypeProto::VALUE_NOT_SET) value.type = outputs[i];
    // A scalar has one element, however many went into it.
    value.upper_bound = (from_bound || (filled && results[i].upper_bound)) && !IsScalar(value.type);
    site.scope.Set(site.node.output(static_cast<int>(i)), std::move(value));
  }
}

}  // namespace onnx_mem
