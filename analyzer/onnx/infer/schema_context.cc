#include "analyzer/onnx/infer/schema_context.h"

#include <algorithm>

#include "analyzer/onnx/infer/body.h"

namespace onnx_mem {

std::vector<const onnx::TypeProto*> BodyInferencer::doInferencing(
    const std::vector<const onnx::TypeProto*>& input_types, const std::vector<const onnx::TensorProto*>& input_data) {
  static const auto& unknown = *new onnx::TypeProto();
  ValueScope scope(&outer_);
  const size_t bound = std::min(input_types.size(), static_cast<size_t>(body_.input_size()));
  for (size_t i = 0; i < bound; ++i) {
    ScopeValue value;
    value.type = input_types[i];
    if (i < input_data.size()) value.tensor = input_data[i];
    scope.Set(body_.input(static_cast<int>(i)).name(), std::move(value));
  }
  facts_ = InferredGraph();
  if (absl::Status status = pass_.InferGraph(body_, scope, facts_); !status.ok()) {
    status_ = status;
    throw onnx::InferenceError("the body does not fit its inputs");  // caught where the schema's function was called
  }
  pass_.ReportValues(scope, facts_);
  std::vector<const onnx::TypeProto*> outputs;
  for (const onnx::ValueInfoProto& output : body_.output()) {
    const ScopeValue* value = scope.Find(output.name());
    outputs.push_back(value != nullptr && value->type != nullptr ? value->type : &unknown);
  }
  return outputs;
}

const onnx::AttributeProto* SchemaContext::getAttribute(const std::string& name) const {
  for (const onnx::AttributeProto& attribute : site_.node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  const auto& declared = site_.op.schema->attributes();
  const auto found = declared.find(name);
  // Inference functions repeat the defaults, not always rightly (STFT's onesided): the schema's own are the truth.
  if (found == declared.end() || found->second.default_value.name().empty()) return nullptr;
  return &found->second.default_value;
}

const onnx::TypeProto* SchemaContext::getInputType(size_t index) const {
  // Functions look into the type without asking whether there is one.
  static const auto& unknown = *new onnx::TypeProto();
  if (!hasInput(index)) return nullptr;
  const onnx::TypeProto* type = site_.inputs[index]->type;
  return type != nullptr ? type : &unknown;
}

const onnx::TensorProto* SchemaContext::getInputData(size_t index) const {
  return site_.MayRead(index) ? TensorOf(*site_.inputs[index], pass_.arena()) : nullptr;
}

const onnx::TensorShapeProto* SchemaContext::getSymbolicInput(size_t index) const {
  return site_.MayRead(index) ? SymbolicOf(*site_.inputs[index], pass_.arena()) : nullptr;
}

onnx::TypeProto* SchemaContext::getOutputType(size_t index) {
  if (index >= outputs_.size()) throw onnx::InferenceError("too few outputs");
  return outputs_[index];
}

bool SchemaContext::hasOutput(size_t index) {
  return index < outputs_.size() && !site_.node.output(static_cast<int>(index)).empty();
}

onnx::GraphInferencer* SchemaContext::getGraphAttributeInferencer(const std::string& name) {
  size_t body = 0;
  for (const onnx::AttributeProto& attribute : site_.node.attribute()) {
    if (attribute.has_g() && attribute.name() == name && body < site_.bodies.size()) {
      return &bodies_.emplace_back(pass_, attribute.g(), site_.scope, site_.bodies[body], body_status_);
    }
    body += NumBodies(attribute);
  }
  throw onnx::InferenceError("attribute " + name + " holds no graph");
}

}  // namespace onnx_mem
