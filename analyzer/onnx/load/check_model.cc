#include "analyzer/onnx/load/check_model.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/infer/schemas.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {

absl::Status BadModel(const std::string& path, const std::string& what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadModel, absl::StrCat("'", path, "' ", what));
}

absl::Status CheckOpset(const onnx::ModelProto& model, const ModelInfo& info) {
  for (const auto& import : model.opset_import()) {
    if (import.version() >= 0) continue;
    return BadModel(info.path, absl::StrCat("imports version ", import.version(), " of the operators of domain '",
                                            import.domain(), "'"));
  }
  const int64_t newest = NewestOpset();
  const auto opset = info.opsets.find("");
  if (opset == info.opsets.end() || opset->second <= newest) return absl::OkStatus();
  return ErrorStatus(
      absl::StatusCode::kUnimplemented, Code::kOpsetTooNew,
      absl::StrCat("opset ", opset->second, " of domain '' is newer than this build knows (", newest, ")"),
      {"way out: a newer onnx-mem, or export with an older opset_version"});
}

namespace {

absl::Status NoSuchType(const std::string& path, const std::string& name, int32_t type) {
  return BadModel(path, absl::StrCat("gives '", name, "' elements of type ", type, ", which ONNX does not have"));
}

// Sizes that no tensor has would pass for unknown ones later, and types that there are not for such without bytes.
absl::Status CheckTensor(const onnx::TensorProto& tensor, const std::string& path) {
  const int32_t type = tensor.data_type();
  if (type == onnx::TensorProto::UNDEFINED || !onnx::TensorProto::DataType_IsValid(type)) {
    return NoSuchType(path, tensor.name(), type);
  }
  const Shape shape(Dims(tensor.dims().begin(), tensor.dims().end()));
  if (shape.known() && NumBytes(shape, DTypeOf(tensor.data_type()))) return absl::OkStatus();
  return BadModel(path, absl::StrCat("holds the tensor '", tensor.name(), "' of impossible size [",
                                     absl::StrJoin(tensor.dims(), ", "), "]"));
}

absl::Status CheckValueType(const onnx::ValueInfoProto& value, const std::string& path) {
  const int32_t type = value.type().has_tensor_type() ? value.type().tensor_type().elem_type() : 0;
  return onnx::TensorProto::DataType_IsValid(type) ? absl::OkStatus() : NoSuchType(path, value.name(), type);
}

}  // namespace

absl::Status CheckTensors(const onnx::GraphProto& graph, const std::string& path) {
  for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& value : *values) RETURN_IF_ERROR(CheckValueType(value, path));
  }
  for (const auto& tensor : graph.initializer()) RETURN_IF_ERROR(CheckTensor(tensor, path));
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t()) RETURN_IF_ERROR(CheckTensor(attribute.t(), path));
      if (attribute.has_g()) RETURN_IF_ERROR(CheckTensors(attribute.g(), path));
      for (const auto& body : attribute.graphs()) RETURN_IF_ERROR(CheckTensors(body, path));
    }
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
