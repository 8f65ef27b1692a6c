#include "analyzer/onnx/fold/fold.h"

#include <algorithm>
#include <utility>

namespace onnx_mem::fold {

std::optional<int64_t> FoldCall::scalar(size_t i) const {
  const Literal* literal = value(i);
  if (literal == nullptr || literal->ints() == nullptr || literal->ints()->size() != 1) return std::nullopt;
  const int64_t element = literal->ints()->front();
  return element == kUnknownElement ? std::nullopt : std::optional<int64_t>(element);
}

const onnx::AttributeProto* FoldCall::attribute(std::string_view name) const {
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t FoldCall::int_attribute(std::string_view name, int64_t fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  return found != nullptr ? found->i() : fallback;
}

double FoldCall::float_attribute(std::string_view name, double fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  return found != nullptr ? found->f() : fallback;
}

std::string_view FoldCall::string_attribute(std::string_view name, std::string_view fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  return found != nullptr ? std::string_view(found->s()) : fallback;
}

std::optional<std::vector<int64_t>> FoldCall::ints_input_or_attribute(size_t i, std::string_view name) const {
  if (has(i)) {
    const Literal* literal = value(i);
    if (literal == nullptr || literal->ints() == nullptr) return std::nullopt;
    return *literal->ints();
  }
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return std::nullopt;
  return std::vector<int64_t>(found->ints().begin(), found->ints().end());
}

bool HasUnknown(const Literal& literal) {
  const std::vector<int64_t>* ints = literal.ints();
  return ints != nullptr && std::find(ints->begin(), ints->end(), kUnknownElement) != ints->end();
}

namespace {

template <class T>
Outputs Wrap(DType dtype, Dims dims, std::vector<T> data) {
  std::optional<int64_t> count = Count(dims);
  if (!count || static_cast<size_t>(*count) != data.size()) return {};
  auto literal = std::make_shared<Literal>();
  literal->dtype = dtype;
  literal->dims = std::move(dims);
  literal->data = std::move(data);
  return {std::move(literal)};
}

}  // namespace

Outputs Integers(DType dtype, Dims dims, std::vector<int64_t> data) {
  return Wrap(dtype, std::move(dims), std::move(data));
}

Outputs Floats(DType dtype, Dims dims, std::vector<double> data) {
  return Wrap(dtype, std::move(dims), std::move(data));
}

Outputs Taken(const Literal& from, Dims dims, absl::Span<const int64_t> offsets) {
  return std::visit(
      [&](const auto& source) -> Outputs {
        std::decay_t<decltype(source)> data;
        data.reserve(offsets.size());
        for (int64_t offset : offsets) {
          if (offset < 0 || static_cast<size_t>(offset) >= source.size()) return {};
          data.push_back(source[static_cast<size_t>(offset)]);
        }
        return Wrap(from.dtype, std::move(dims), std::move(data));
      },
      from.data);
}

std::optional<int64_t> Count(absl::Span<const int64_t> dims) {
  // Zero dims count as one on the way: strides of an empty tensor must stay in range as well.
  int64_t span = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0 || dim > kMaxElements) return std::nullopt;
    empty = empty || dim == 0;
    span *= std::max<int64_t>(dim, 1);
    if (span > kMaxElements) return std::nullopt;
  }
  return empty ? 0 : span;
}

Dims StridesOf(absl::Span<const int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(dims[i], 1);
  return strides;
}

std::optional<size_t> NormalAxis(int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

AxisSplit SplitAt(absl::Span<const int64_t> dims, size_t axis) {
  AxisSplit split;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t& part = i < axis ? split.outer : i == axis ? split.length : split.inner;
    part *= dims[i];
  }
  return split;
}

std::optional<Dims> BroadcastDims(absl::Span<const Dims* const> shapes) {
  size_t rank = 0;
  for (const Dims* dims : shapes) rank = std::max(rank, dims->size());
  Dims result(rank, 1);
  for (const Dims* dims : shapes) {
    for (size_t i = 0; i < dims->size(); ++i) {
      int64_t& out = result[rank - dims->size() + i];
      const int64_t dim = (*dims)[i];
      if (dim == 1 || dim == out) continue;
      if (out != 1) return std::nullopt;
      out = dim;
    }
  }
  if (!Count(result)) return std::nullopt;
  return result;
}

std::vector<int64_t> StridedOffsets(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides, int64_t start) {
  std::vector<int64_t> offsets(1, start);
  if (Count(dims).value_or(0) == 0) return {};
  offsets.reserve(static_cast<size_t>(*Count(dims)));
  // From the innermost axis outward: every block so far is repeated at the next axis's stride.
  for (size_t axis = dims.size(); axis-- > 0;) {
    const size_t block = offsets.size();
    for (int64_t i = 1; i < dims[axis]; ++i) {
      for (size_t k = 0; k < block; ++k) offsets.push_back(offsets[k] + i * strides[axis]);
    }
  }
  return offsets;
}

std::vector<int64_t> BroadcastOffsets(const Dims& from, const Dims& to) {
  const Dims from_strides = StridesOf(from);
  const size_t lead = to.size() - from.size();
  Dims strides(to.size(), 0);
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1) strides[lead + axis] = from_strides[axis];
  }
  return StridedOffsets(to, strides, 0);
}

}  // namespace onnx_mem::fold
