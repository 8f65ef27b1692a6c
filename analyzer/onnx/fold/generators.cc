// Operators that make contents from shapes, attributes or a few numbers: Shape, Constant, ConstantOfShape, Range.
#include <array>
#include <cmath>

#include "analyzer/onnx/fold/fold.h"
#include "analyzer/onnx/read/tensor_literal.h"

namespace onnx_mem::fold {
namespace {

// The shape of input 0, unknown dims as unknown elements; nullopt where not even the rank is known.
std::optional<std::vector<int64_t>> DimsOfInput(const FoldCall& call) {
  const onnx::TypeProto* type = call.type(0);
  if (type == nullptr || !type->has_tensor_type() || !type->tensor_type().has_shape()) return std::nullopt;
  std::vector<int64_t> dims;
  for (const onnx::TensorShapeProto::Dimension& dim : type->tensor_type().shape().dim()) {
    dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : kUnknownElement);
  }
  return dims;
}

Outputs ShapeOf(const FoldCall& call) {
  std::optional<std::vector<int64_t>> dims = DimsOfInput(call);
  if (!dims) return {};
  const auto rank = static_cast<int64_t>(dims->size());
  const auto clamp = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamp(call.int_attribute("start", 0));
  const int64_t end = std::max(start, clamp(call.int_attribute("end", rank)));
  return Integers(DType::kInt64, {end - start}, {dims->begin() + start, dims->begin() + end});
}

Outputs Size(const FoldCall& call) {
  std::optional<std::vector<int64_t>> dims = DimsOfInput(call);
  if (!dims) return {};
  int64_t size = 1;
  for (int64_t dim : *dims) {
    if (dim == 0) return Integers(DType::kInt64, {}, {0});
    if (size == kUnknownElement) continue;
    size = dim == kUnknownElement ? dim : CheckedMul(size, dim).value_or(kUnknownElement);
  }
  return Integers(DType::kInt64, {}, {size});
}

Outputs Constant(const FoldCall& call) {
  if (const onnx::AttributeProto* a = call.attribute("value_int")) return Integers(DType::kInt64, {}, {a->i()});
  if (const onnx::AttributeProto* a = call.attribute("value_float")) return Floats(DType::kFloat32, {}, {a->f()});
  if (const onnx::AttributeProto* a = call.attribute("value_ints")) {
    return Integers(DType::kInt64, {a->ints_size()}, {a->ints().begin(), a->ints().end()});
  }
  if (const onnx::AttributeProto* a = call.attribute("value_floats")) {
    return Floats(DType::kFloat32, {a->floats_size()}, {a->floats().begin(), a->floats().end()});
  }
  const onnx::AttributeProto* value = call.attribute("value");
  if (value == nullptr || !value->has_t()) return {};
  LiteralPtr literal = LiteralOf(value->t(), kMaxElements);
  if (literal == nullptr || !Count(literal->dims)) return {};
  return {std::move(literal)};
}

Outputs ConstantOfShape(const FoldCall& call) {
  const std::vector<int64_t>* target = call.value(0)->ints();
  if (target == nullptr || call.value(0)->dims.size() != 1) return {};
  const Dims dims(target->begin(), target->end());
  std::optional<int64_t> count = Count(dims);
  if (!count) return {};
  const onnx::AttributeProto* value = call.attribute("value");
  if (value == nullptr) {
    return Floats(DType::kFloat32, dims, std::vector<double>(static_cast<size_t>(*count), 0.0));
  }
  LiteralPtr fill = LiteralOf(value->t(), 1);
  if (fill == nullptr || Count(fill->dims) != 1) return {};
  return Taken(*fill, dims, std::vector<int64_t>(static_cast<size_t>(*count), 0));
}

// One number of an input that is a scalar (or has one element, which runtimes accept).
template <class T>
std::optional<T> Element(const FoldCall& call, size_t i) {
  const Literal* literal = call.value(i);
  if (literal == nullptr) return std::nullopt;
  const auto* data = std::get_if<std::vector<T>>(&literal->data);
  return data != nullptr && data->size() == 1 ? std::optional<T>(data->front()) : std::nullopt;
}

Outputs Range(const FoldCall& call) {
  const DType dtype = call.value(0) != nullptr ? call.value(0)->dtype : DType::kUnknown;
  const auto start = Element<int64_t>(call, 0);
  const auto limit = Element<int64_t>(call, 1);
  const auto delta = Element<int64_t>(call, 2);
  if (start && limit && delta) {
    if (*delta == 0) return {};
    // The limits may lie further apart than an int64 reaches, and so may the first element and the last.
    const auto from = static_cast<uint64_t>(*start), to = static_cast<uint64_t>(*limit);
    const auto step = static_cast<uint64_t>(*delta);
    uint64_t length = 0;
    if (*delta > 0 && *start < *limit) length = (to - from - 1) / step + 1;
    if (*delta < 0 && *start > *limit) length = (from - to - 1) / (0 - step) + 1;
    if (length > kMaxElements) return {};
    std::vector<int64_t> data;
    for (uint64_t i = 0; i < length; ++i) data.push_back(static_cast<int64_t>(from + i * step));
    const auto count = static_cast<int64_t>(data.size());
    return Integers(dtype, {count}, std::move(data));
  }
  const auto float_start = Element<double>(call, 0);
  const auto float_limit = Element<double>(call, 1);
  const auto float_delta = Element<double>(call, 2);
  if (!float_start || !float_limit || !float_delta || *float_delta == 0) return {};
  const double length = std::ceil((*float_limit - *float_start) / *float_delta);
  if (!(length <= kMaxElements)) return {};
  std::vector<double> data;
  for (int64_t i = 0; i < static_cast<int64_t>(length); ++i) {
    data.push_back(RoundToFloat(dtype, *float_start + static_cast<double>(i) * *float_delta));
  }
  const auto count = static_cast<int64_t>(data.size());
  return Floats(dtype, {count}, std::move(data));
}

// Zeros and ones of any dtype, from a test on each element's row-major offset.
template <class Test>
Outputs ZeroOne(DType dtype, Dims dims, int64_t count, Test one_at) {
  if (IsFloating(dtype)) {
    std::vector<double> data;
    for (int64_t i = 0; i < count; ++i) data.push_back(one_at(i) ? 1 : 0);
    return Floats(dtype, std::move(dims), std::move(data));
  }
  if (!IsIntegral(dtype) && dtype != DType::kBool) return {};
  std::vector<int64_t> data;
  for (int64_t i = 0; i < count; ++i) data.push_back(one_at(i) ? 1 : 0);
  return Integers(dtype, std::move(dims), std::move(data));
}

Outputs EyeLike(const FoldCall& call) {
  std::optional<std::vector<int64_t>> shape = DimsOfInput(call);
  if (!shape || shape->size() != 2) return {};
  const Dims dims(shape->begin(), shape->end());
  std::optional<int64_t> count = Count(dims);
  if (!count) return {};
  const auto to = call.int_attribute("dtype", call.type(0)->tensor_type().elem_type());
  const int64_t diagonal = call.int_attribute("k", 0);
  const DType dtype = DTypeOf(static_cast<int>(to));
  if (ElementTypeOf(dtype) == onnx::TensorProto::UNDEFINED) return {};
  return ZeroOne(dtype, dims, *count, [&](int64_t i) { return i % dims[1] - i / dims[1] == diagonal; });
}

constexpr auto kGeneratorsRows = std::to_array<FoldRow>({
    {"Constant", Constant, FoldNeeds::kTypes},
    {"ConstantOfShape", ConstantOfShape},
    {"EyeLike", EyeLike, FoldNeeds::kTypes},
    {"Range", Range},
    {"Shape", ShapeOf, FoldNeeds::kTypes},
    {"Size", Size, FoldNeeds::kTypes},
});

}  // namespace

absl::Span<const FoldRow> GeneratorRows() { return kGeneratorsRows; }

}  // namespace onnx_mem::fold
