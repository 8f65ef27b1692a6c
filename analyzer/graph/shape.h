// Concrete shapes and their byte sizes, overflow-checked.
#ifndef ONNX_MEM_ANALYZER_GRAPH_SHAPE_H_
#define ONNX_MEM_ANALYZER_GRAPH_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "analyzer/graph/dtype.h"

namespace onnx_mem {

inline constexpr int64_t kUnknownDim = -1;

// Dims of a tensor, outermost first. kUnknownDim marks a size that the file does not determine.
using Dims = absl::InlinedVector<int64_t, 4>;  // hardly any tensor has more, and graphs hold millions

struct Shape {
  bool has_rank = false;  // false: not even the rank is known
  Dims dims;

  Shape() = default;
  explicit Shape(Dims d) : has_rank(true), dims(std::move(d)) {}
  static Shape Scalar() {
    Shape shape;
    shape.has_rank = true;
    return shape;
  }

  bool known() const;  // rank and all dims
  size_t rank() const { return dims.size(); }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// a*b and a+b of non-negative sizes; nullopt on overflow of int64.
std::optional<int64_t> CheckedMul(int64_t a, int64_t b);
std::optional<int64_t> CheckedAdd(int64_t a, int64_t b);

// Number of elements; nullopt when a dim is unknown or the product overflows.
std::optional<int64_t> NumElements(const Shape& shape);

// Bytes of a dense tensor (4-bit types are packed two to a byte); nullopt as NumElements. Strings take 0.
std::optional<int64_t> NumBytes(const Shape& shape, DType dtype);

// `step` times `size`, of which 0 counts as 1; the largest number where that is beyond it, as an empty tensor's other
// sizes may be.
int64_t SaturatedStep(int64_t step, int64_t size);
// In elements, row-major: the last dim's is 1.
Dims ContiguousStrides(const Dims& dims);

// "64x3x224x224"; "?" for an unknown dim, "scalar" for rank 0, "?" for unknown rank.
std::string ToString(const Shape& shape);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_SHAPE_H_
