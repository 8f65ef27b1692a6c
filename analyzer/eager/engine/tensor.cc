#include "analyzer/eager/engine/tensor.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "analyzer/eager/engine/recorder.h"

namespace onnx_mem::eager {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 56;  // beyond it a tensor is too large, whatever its type

// Of factors that are not negative.
int64_t SaturatedProduct(std::span<const int64_t> factors) {
  int64_t product = 1;
  bool beyond = false;
  for (int64_t factor : factors) {
    if (factor == 0) return 0;
    beyond |= __builtin_mul_overflow(product, factor, &product);
  }
  return beyond ? std::numeric_limits<int64_t>::max() : product;
}

// Dense strides when memory order is perm[0] (slowest) ... perm[n-1] (fastest).
Dims StridesInOrder(const Dims& dims, std::span<const int> perm) {
  Dims strides(dims.size(), 1);
  int64_t step = 1;
  for (size_t i = perm.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(perm[i]);
    strides[d] = step;
    step = SaturatedStep(step, dims[d]);
  }
  return strides;
}

// Stride of dim `d` of a result of rank `rank` in operand `t`, 0 where t is broadcast there.
int64_t OperandStride(const EagerTensor& t, size_t rank, size_t d, int64_t result_dim) {
  if (d + t.dims.size() < rank) return 0;
  const size_t own = d + t.dims.size() - rank;  // of more dimensions than the result, which is malformed, the last ones
  if (t.dims[own] == 1 && result_dim != 1) return 0;
  return t.strides[own];
}

// TensorIterator's comparison: does dim a move faster than dim b? -1 yes, 1 no, 0 the operands cannot tell.
int CompareDims(const Dims& dims, std::span<const EagerTensor* const> operands, int a, int b) {
  const auto da = static_cast<size_t>(a), db = static_cast<size_t>(b);
  for (const EagerTensor* t : operands) {
    const int64_t sa = OperandStride(*t, dims.size(), da, dims[da]);
    const int64_t sb = OperandStride(*t, dims.size(), db, dims[db]);
    if (sa == 0 || sb == 0) continue;
    if (sa < sb) return -1;
    if (sa > sb) return 1;
    if (dims[da] > dims[db]) return 1;
  }
  return 0;
}

}  // namespace

void Storage::Release() {
  if (recorder == nullptr || !buffer.valid()) return;
  recorder->Free(buffer);
  buffer = {};
}

void Storage::Materialize(const Dims& dims, DType dtype) { buffer = recorder->Begin(bytes, dims, dtype); }

int64_t NumElements(const Dims& dims) { return ElementsFrom(dims, 0); }

int64_t ElementsBetween(const Dims& dims, size_t first, size_t last) {
  return SaturatedProduct(std::span(dims).subspan(first, last - first));
}

int64_t SpannedBytes(const EagerTensor& t) {
  int64_t elements = 1;
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (t.dims[i] == 0) return 0;
    elements += (t.dims[i] - 1) * t.strides[i];
  }
  return DenseBytes({elements}, t.dtype);
}

int64_t Saturated(std::initializer_list<int64_t> factors) { return SaturatedProduct(factors); }

int64_t DenseBytes(const Dims& dims, DType dtype) {
  const int64_t elements = NumElements(dims), bits = RowOf(dtype).bits;
  return elements > kMostElements ? kMostElements : (elements * bits + 7) / 8;
}

int64_t TotalBytes(std::span<const TensorRef> tensors) {
  int64_t bytes = 0;
  for (const TensorRef& t : tensors) {
    if (t != nullptr) bytes += DenseBytes(t->dims, t->dtype);
  }
  return bytes;
}

Dims ChannelsLastStrides(const Dims& dims) {
  if (dims.size() == 4) return StridesInOrder(dims, std::array{0, 2, 3, 1});
  return StridesInOrder(dims, std::array{0, 2, 3, 4, 1});
}

bool IsContiguous(const EagerTensor& t) {
  int64_t expected = 1;
  for (size_t i = t.dims.size(); i-- > 0;) {
    if (t.dims[i] == 0) return true;
    if (t.dims[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.dims[i];
  }
  return true;
}

bool IsNonOverlappingAndDense(const EagerTensor& t) {
  if (IsContiguous(t)) return true;
  absl::InlinedVector<int, 6> order(t.dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const auto ia = static_cast<size_t>(a), ib = static_cast<size_t>(b);
    if (t.dims[ia] < 2) return false;
    if (t.dims[ib] < 2) return true;
    return t.strides[ia] < t.strides[ib];
  });
  int64_t expected = 1;
  for (int d : order) {
    const auto i = static_cast<size_t>(d);
    if (t.dims[i] < 2) return true;
    if (t.strides[i] != expected) return false;
    expected *= t.dims[i];
  }
  return true;
}

std::optional<Dims> ViewStrides(const EagerTensor& t, const Dims& dims) {
  if (NumElements(t.dims) == 0) return t.dims == dims ? t.strides : ContiguousStrides(dims);
  Dims strides(dims.size(), 0);
  if (t.dims.empty()) return Dims(dims.size(), 1);
  int64_t view_d = static_cast<int64_t>(dims.size()) - 1;
  int64_t chunk_base = t.strides.back();
  int64_t tensor_numel = 1, view_numel = 1;
  for (size_t d = t.dims.size(); d-- > 0;) {
    tensor_numel *= t.dims[d];
    const bool chunk_ends = d == 0 || (t.dims[d - 1] != 1 && t.strides[d - 1] != tensor_numel * chunk_base);
    if (!chunk_ends) continue;
    while (view_d >= 0 && (view_numel < tensor_numel || dims[static_cast<size_t>(view_d)] == 1)) {
      strides[static_cast<size_t>(view_d)] = view_numel * chunk_base;
      view_numel *= dims[static_cast<size_t>(view_d)];
      --view_d;
    }
    if (view_numel != tensor_numel) return std::nullopt;
    if (d > 0) {
      chunk_base = t.strides[d - 1];
      tensor_numel = 1;
      view_numel = 1;
    }
  }
  if (view_d != -1) return std::nullopt;
  return strides;
}

Dims ExpandStrides(const EagerTensor& t, const Dims& dims) {
  Dims strides(dims.size(), 0);
  for (size_t d = 0; d < dims.size(); ++d) strides[d] = OperandStride(t, dims.size(), d, dims[d]);
  return strides;
}

Dims BroadcastDims(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    if (out[i + shift] == 1) out[i + shift] = shorter[i];
  }
  return out;
}

Dims ElementwiseStrides(const Dims& dims, std::span<const EagerTensor* const> operands) {
  // Insertion sort as in TensorIteratorBase::reorder_dimensions: perm from fastest to slowest.
  absl::InlinedVector<int, 6> perm(dims.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  for (size_t i = 1; i < perm.size(); ++i) {
    size_t dim1 = i;
    for (size_t dim0 = i; dim0-- > 0;) {
      const int comparison = CompareDims(dims, operands, perm[dim0], perm[dim1]);
      if (comparison > 0) {
        std::swap(perm[dim0], perm[dim1]);
        dim1 = dim0;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  std::reverse(perm.begin(), perm.end());
  return StridesInOrder(dims, perm);
}

Dims ElementwiseStrides(const Dims& dims, std::initializer_list<const EagerTensor*> operands) {
  return ElementwiseStrides(dims, std::span<const EagerTensor* const>(operands.begin(), operands.size()));
}

Dims LikeStrides(const EagerTensor& t) {
  if (IsNonOverlappingAndDense(t)) return t.strides;
  return ElementwiseStrides(t.dims, {&t});
}

}  // namespace onnx_mem::eager
