#include "analyzer/onnx/strict/onnx_checker.h"

#include <exception>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/shape.h"
#include "analyzer/onnx/infer/scope.h"
#include "analyzer/onnx/infer/shapes.h"
#include "analyzer/onnx/load/functions.h"
#include "analyzer/onnx/load/order_nodes.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "onnx/checker.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

bool HasContents(const onnx::TensorProto& tensor) {
  return tensor.has_raw_data() || tensor.float_data_size() > 0 || tensor.int32_data_size() > 0 ||
         tensor.string_data_size() > 0 || tensor.int64_data_size() > 0 || tensor.double_data_size() > 0 ||
         tensor.uint64_data_size() > 0;
}

// The checker wants contents of the size that the tensor has, and reads nothing of them. Where they were left behind, a
// tensor without elements stands for it.
void PretendContents(onnx::TensorProto& tensor) {
  tensor.clear_external_data();
  tensor.clear_data_location();
  if (HasContents(tensor)) return;
  tensor.clear_dims();
  tensor.add_dims(0);
}

// It wants shapes, too, which the text of the format does not.
void PretendShapes(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  for (onnx::ValueInfoProto& value : values) {
    if (value.type().has_tensor_type()) value.mutable_type()->mutable_tensor_type()->mutable_shape();
  }
}

void PretendContents(onnx::NodeProto& node);

void PretendContents(onnx::GraphProto& graph) {
  PretendShapes(*graph.mutable_input());
  PretendShapes(*graph.mutable_output());
  PretendShapes(*graph.mutable_value_info());
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) PretendContents(tensor);
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) {  // its indices are among what was left out
    onnx::TensorProto& dense = *graph.add_initializer();
    dense.set_name(sparse.values().name());
    dense.set_data_type(sparse.values().data_type());
    *dense.mutable_dims() = sparse.dims();
    PretendContents(dense);
  }
  graph.clear_sparse_initializer();
  for (onnx::NodeProto& node : *graph.mutable_node()) PretendContents(node);
}

void PretendContents(onnx::NodeProto& node) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_t()) PretendContents(*attribute.mutable_t());
    for (onnx::TensorProto& tensor : *attribute.mutable_tensors()) PretendContents(tensor);
    if (attribute.has_g()) PretendContents(*attribute.mutable_g());
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) PretendContents(graph);
  }
}

// What the checker says, without the context behind it, which repeats a whole node; "" for nothing.
std::string FaultByChecker(onnx::ModelProto model) {
  PretendContents(*model.mutable_graph());
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    for (onnx::NodeProto& node : *function.mutable_node()) PretendContents(node);
  }
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception& error) {  // ONNX tells of errors so
    const std::string_view words = error.what();
    return std::string(words.substr(0, words.find('\n')));
  }
  return "";
}

std::string Says(const std::string& name, const std::string& one, const std::string& other) {
  return absl::StrCat("it says of '", name, "' that it is ", one, ", and makes it ", other);
}

std::string TypeText(DType dtype, const Shape& shape) {
  return absl::StrCat(std::string(NameOf(dtype)), " ", ToString(shape));
}

// Two types that cannot both be true. What is not known contradicts nothing.
bool Contradict(DType a_dtype, const Shape& a, DType b_dtype, const Shape& b) {
  if (a_dtype != DType::kUnknown && b_dtype != DType::kUnknown && a_dtype != b_dtype) return true;
  if (!a.has_rank || !b.has_rank) return false;
  if (a.rank() != b.rank()) return true;
  for (size_t i = 0; i < a.rank(); ++i) {
    if (a.dims[i] >= 0 && b.dims[i] >= 0 && a.dims[i] != b.dims[i]) return true;
  }
  return false;
}

// What the file says of its values, held against its own weights and operators, as onnx.checker does with full_check.
// An error of inference is the caller's, who infers the model again with the dimensions that the user gives.
std::string FaultByTypes(onnx::ModelProto& model) {
  if (!InlineFunctions(model).ok()) return "";
  if (const absl::StatusOr<bool> sorted = OrderNodes(*model.mutable_graph()); !sorted.ok()) return "";
  const onnx::GraphProto& graph = model.graph();
  const absl::StatusOr<InferredGraph> inferred = InferShapes(model);
  if (!inferred.ok()) return "";
  absl::flat_hash_map<std::string, const onnx::TensorProto*> stored;
  for (const onnx::TensorProto& tensor : graph.initializer()) stored.emplace(tensor.name(), &tensor);
  for (const auto* values : {&graph.input(), &graph.output()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (!value.type().has_tensor_type()) continue;
      const DType said_dtype = DTypeOf(value.type().tensor_type().elem_type());
      const Shape said = ShapeOfType(&value.type());
      if (const auto weight = stored.find(value.name()); weight != stored.end()) {
        const Shape shape(Dims(weight->second->dims().begin(), weight->second->dims().end()));
        const DType dtype = DTypeOf(weight->second->data_type());
        if (Contradict(said_dtype, said, dtype, shape)) {
          return Says(value.name(), TypeText(said_dtype, said), TypeText(dtype, shape));
        }
        continue;
      }
      const auto fact = inferred->values.find(value.name());
      if (values != &graph.output() || fact == inferred->values.end() || fact->second.upper_bound) continue;
      if (Contradict(said_dtype, said, fact->second.dtype, fact->second.shape)) {
        return Says(value.name(), TypeText(said_dtype, said), TypeText(fact->second.dtype, fact->second.shape));
      }
    }
  }
  return "";
}

}  // namespace

absl::Status CheckAsOnnxDoes(const std::string& slim, const std::string& path) {
  onnx::ModelProto model;
  if (slim.empty() || !model.ParseFromString(slim) || model.graph().node().empty()) return absl::OkStatus();
  std::string fault = FaultByChecker(model);
  if (fault.empty()) fault = FaultByTypes(model);
  if (fault.empty()) return absl::OkStatus();
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadModel,
                     absl::StrCat("'", path, "' is no valid ONNX: ", fault),
                     {"why: --strict takes what onnx.checker refuses for an error"});
}

}  // namespace onnx_mem
