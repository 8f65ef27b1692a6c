#include "analyzer/onnx/sizes/declared.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/infer/scope.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "analyzer/run/limits.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

absl::StatusOr<DeclaredInput> Declare(const onnx::ValueInfoProto& info) {
  const auto& type = info.type().tensor_type();
  if (type.shape().dim_size() > limits::kHighestRank) {
    return TooManyDimensions(absl::StrCat("input '", info.name(), "'"), type.shape().dim_size());
  }
  DeclaredInput input{
      .name = info.name(), .dtype = DTypeOf(type.elem_type()), .has_rank = type.has_shape(), .dims = {}};
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const auto& dim = type.shape().dim(i);
    DeclaredDim declared;
    // Some exporters write -1, and for the batch 0, where a dimension is dynamic.
    if (dim.has_dim_value() && dim.dim_value() < -1) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadModel,
                         absl::StrCat("input '", info.name(), "' has the negative dimension ", dim.dim_value()));
    }
    if (dim.has_dim_value() && dim.dim_value() >= (i == 0 && type.shape().dim_size() > 1 ? 1 : 0)) {
      declared.size = dim.dim_value();
    } else {
      declared.symbol = dim.dim_param() == "?" ? "" : dim.dim_param();
    }
    input.dims.push_back(std::move(declared));
  }
  return input;
}

}  // namespace

InputNames StoredInputs(const onnx::GraphProto& graph) {
  InputNames names, stored;
  for (const auto& input : graph.input()) names.insert(input.name());
  const auto add = [&](const std::string& name) {
    if (const auto found = names.find(name); found != names.end()) stored.insert(*found);
  };
  for (const auto& tensor : graph.initializer()) add(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) add(tensor.values().name());
  return stored;
}

absl::StatusOr<std::vector<DeclaredInput>> DeclaredInputs(const onnx::GraphProto& graph) {
  const InputNames stored = StoredInputs(graph);
  std::vector<DeclaredInput> inputs;
  for (const auto& info : graph.input()) {
    if (stored.contains(info.name())) continue;
    if (!info.type().has_tensor_type()) continue;  // a sequence, map or optional has no shape to bind
    ASSIGN_OR_RETURN(DeclaredInput input, Declare(info));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace onnx_mem
