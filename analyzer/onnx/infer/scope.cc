#include "analyzer/onnx/infer/scope.h"

#include "absl/strings/str_cat.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/fold/fold.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "analyzer/run/limits.h"

namespace onnx_mem {

const Literal* ContentsOf(ScopeValue& value) {
  if (value.literal == nullptr && value.tensor != nullptr && !value.tensor_was_read) {
    value.tensor_was_read = true;
    LiteralPtr literal = LiteralOf(*value.tensor, fold::kMaxElements);
    if (literal != nullptr && fold::Count(literal->dims)) {
      value.partial = fold::HasUnknown(*literal);
      value.literal = std::move(literal);
    }
  }
  return value.literal.get();
}

const onnx::TensorProto* TensorOf(ScopeValue& value, google::protobuf::Arena& arena) {
  if (value.tensor != nullptr) return value.tensor;
  if (value.literal == nullptr || value.partial) return nullptr;
  auto* tensor = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(&arena);
  FillTensor(*value.literal, *tensor);
  value.tensor = tensor;
  value.tensor_was_read = true;
  return tensor;
}

const onnx::TensorShapeProto* SymbolicOf(ScopeValue& value, google::protobuf::Arena& arena) {
  if (value.symbolic != nullptr) return value.symbolic;
  const Literal* literal = ContentsOf(value);
  if (literal == nullptr || literal->ints() == nullptr || literal->dims.size() > 1) return nullptr;
  auto* dims = google::protobuf::Arena::CreateMessage<onnx::TensorShapeProto>(&arena);
  for (int64_t element : *literal->ints()) {
    onnx::TensorShapeProto::Dimension* dim = dims->add_dim();
    if (element != fold::kUnknownElement) dim->set_dim_value(element);
  }
  value.symbolic = dims;
  return dims;
}

Shape ShapeOfType(const onnx::TypeProto* type) {
  if (type == nullptr || !type->has_tensor_type() || !type->tensor_type().has_shape()) return Shape();
  Shape shape;
  shape.has_rank = true;
  const auto& dims = type->tensor_type().shape().dim();
  shape.dims.reserve(static_cast<size_t>(dims.size()));
  for (const onnx::TensorShapeProto::Dimension& dim : dims) {
    shape.dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : kUnknownDim);
  }
  return shape;
}

bool IsFullyKnown(const onnx::TypeProto* type) {
  if (type == nullptr || !type->has_tensor_type() || !type->tensor_type().has_shape()) return false;
  if (type->tensor_type().elem_type() == onnx::TensorProto::UNDEFINED) return false;
  for (const onnx::TensorShapeProto::Dimension& dim : type->tensor_type().shape().dim()) {
    if (!dim.has_dim_value() || dim.dim_value() < 0) return false;
  }
  return true;
}

onnx::TypeProto* MakeType(int element_type, const Shape& shape, google::protobuf::Arena& arena) {
  auto* type = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(&arena);
  onnx::TypeProto::Tensor* tensor = type->mutable_tensor_type();
  tensor->set_elem_type(element_type);
  if (!shape.has_rank) return type;
  onnx::TensorShapeProto* dims = tensor->mutable_shape();
  for (int64_t dim : shape.dims) {
    onnx::TensorShapeProto::Dimension* added = dims->add_dim();
    if (dim >= 0) added->set_dim_value(dim);
  }
  return type;
}

ValueFact FactOf(ScopeValue& value) {
  ValueFact fact;
  if (value.type != nullptr && value.type->has_tensor_type()) {
    fact.dtype = DTypeOf(value.type->tensor_type().elem_type());
    fact.shape = ShapeOfType(value.type);
  } else if (value.type != nullptr && value.type->has_sparse_tensor_type()) {
    fact.dtype = DTypeOf(value.type->sparse_tensor_type().elem_type());
  }
  ContentsOf(value);
  if (!value.partial && !value.contents_are_bounds) fact.value = value.literal;
  fact.upper_bound = value.upper_bound;
  return fact;
}

absl::Status TooManyDimensions(std::string_view what, int rank) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge,
                     absl::StrCat(View(what), ": a tensor with ", rank, " dimensions"),
                     {absl::StrCat("why: no framework has more than ", limits::kHighestRank)});
}

}  // namespace onnx_mem
