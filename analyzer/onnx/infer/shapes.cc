#include "analyzer/onnx/infer/shapes.h"

#include "analyzer/onnx/infer/inference.h"
#include "analyzer/onnx/infer/scope.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace {

// Binds the inputs of the main graph: the file's types with the dims that the caller gives.
void BindInputs(const onnx::GraphProto& graph, const InferOptions& options, InferencePass& pass, ValueScope& scope) {
  for (const onnx::ValueInfoProto& input : graph.input()) {
    ScopeValue value;
    value.type = &input.type();
    const Shape* given = nullptr;
    if (options.input_shapes != nullptr) {
      const auto found = options.input_shapes->find(input.name());
      if (found != options.input_shapes->end()) given = &found->second;
    }
    if (given != nullptr && input.type().has_tensor_type()) {
      const onnx::TypeProto::Tensor& tensor = input.type().tensor_type();
      value.type = MakeType(tensor.elem_type(), *given, pass.arena());
      for (int i = 0; i < tensor.shape().dim_size() && given->rank() == static_cast<size_t>(tensor.shape().dim_size());
           ++i) {
        const onnx::TensorShapeProto::Dimension& dim = tensor.shape().dim(i);
        const int64_t size = given->dims[static_cast<size_t>(i)];
        if (dim.has_dim_param() && size >= 0) pass.bound_dims().emplace(dim.dim_param(), size);
        if (dim.has_dim_value() && dim.dim_value() != size) pass.DistrustValueInfo();
      }
    }
    scope.Set(input.name(), std::move(value));
  }
}

}  // namespace

absl::StatusOr<InferredGraph> InferShapes(const onnx::ModelProto& model, const InferOptions& options) {
  if (absl::Status status = work::CheckLeft(); !status.ok()) return status;
  InferencePass pass(model, options.fold);
  pass.SetHook(options.hook);
  ValueScope scope;
  BindInputs(model.graph(), options, pass, scope);
  InferredGraph inferred;
  const absl::Status status = pass.InferGraph(model.graph(), scope, inferred);
  work::Spend(work::kOfInference * pass.visits());
  if (!status.ok()) return status;
  pass.ReportValues(scope, inferred);
  return inferred;
}

}  // namespace onnx_mem
