#include "analyzer/graph/shape.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_mem {

bool Shape::known() const {
  return has_rank && std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
}

std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<int64_t> NumElements(const Shape& shape) {
  if (!shape.known()) return std::nullopt;
  // A zero anywhere makes the tensor empty, however large the other dims are.
  if (std::find(shape.dims.begin(), shape.dims.end(), 0) != shape.dims.end()) return 0;
  int64_t count = 1;
  for (int64_t dim : shape.dims) {
    std::optional<int64_t> product = CheckedMul(count, dim);
    if (!product) return std::nullopt;
    count = *product;
  }
  return count;
}

std::optional<int64_t> NumBytes(const Shape& shape, DType dtype) {
  std::optional<int64_t> count = NumElements(shape);
  if (!count) return std::nullopt;
  const int bits = RowOf(dtype).bits;
  if (bits >= 8) return CheckedMul(*count, bits / 8);
  if (bits == 0) return 0;
  const int64_t per_byte = 8 / bits;
  return *count / per_byte + (*count % per_byte != 0 ? 1 : 0);
}

int64_t SaturatedStep(int64_t step, int64_t size) {
  return CheckedMul(step, std::max<int64_t>(size, 1)).value_or(std::numeric_limits<int64_t>::max());
}

Dims ContiguousStrides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = SaturatedStep(strides[i], dims[i]);
  return strides;
}

std::string ToString(const Shape& shape) {
  if (!shape.has_rank) return "?";
  if (shape.dims.empty()) return "scalar";
  return absl::StrJoin(shape.dims, "x", [](std::string* out, int64_t dim) {
    if (dim < 0) {
      out->push_back('?');
    } else {
      absl::StrAppend(out, dim);
    }
  });
}

}  // namespace onnx_mem
