// What a node gives: by the operator's own rule, by its schema, or as the file itself says.
#include <algorithm>
#include <exception>

#include "absl/strings/str_cat.h"
#include "analyzer/onnx/infer/bounds.h"
#include "analyzer/onnx/infer/inference.h"
#include "analyzer/onnx/infer/misfit.h"
#include "analyzer/onnx/infer/schema_context.h"
#include "analyzer/onnx/infer/schemas.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "onnx/shape_inference/implementation.h"

namespace onnx_mem {
namespace {

using google::protobuf::Arena;

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
    ScopeValue* input = site.inputs[i];
    if (input == nullptr) continue;
    const bool readable = contents && site.MayRead(i) && ContentsOf(*input) != nullptr && !input->partial;
    added = {readable ? input->literal.get() : nullptr, input->type, true};
  }
  return inputs;
}

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
  if (!reason.empty()) return site.BadShape(reason);
  if (site.op.check_inputs != nullptr) {
    const TypeInputs inputs = InputsOf(site, false);
    reason = site.op.check_inputs(fold::FoldCall(site.node, site.version(), inputs));
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
    reason = site.op.check_output(fold::FoldCall(site.node, site.version(), inputs), ShapeOfType(outputs[0]));
    certain = !reason.empty();
  }
  if (reason.empty()) return absl::OkStatus();
  // The checks looked at known sizes only; the schemas may have stumbled over an unknown one.
  const auto exact = [](const ScopeValue* input) {
    return input == nullptr || (!input->upper_bound && !input->contents_are_bounds);
  };
  const auto known = [](const ScopeValue* input) { return input == nullptr || IsFullyKnown(input->type); };
  certain = (certain || std::all_of(site.inputs.begin(), site.inputs.end(), known)) &&
            std::all_of(site.inputs.begin(), site.inputs.end(), exact);
  if (certain) return site.BadShape(reason);
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
  return rule(fold::FoldCall(site.node, site.version(), inputs));
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
    ScopeValue* input = site.inputs[i];
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
    const ScopeValue* input = site.inputs[i];
    if (input == nullptr) continue;
    from_bound =
        from_bound || input->upper_bound || (input->contents_are_bounds && SizeGrowsWith(site.node.op_type(), i));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    ScopeValue value;
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
