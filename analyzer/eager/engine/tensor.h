// Tensors without data: a storage (the bytes that live or die) and a strided window on it. Strides decide whether a
// reshape is a view or a copy, and a view keeps its whole storage alive; both decide memory.
// Sources: c10/core/TensorImpl.h, aten/src/ATen/TensorUtils.cpp (computeStride), aten/src/ATen/TensorIterator.cpp.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_TENSOR_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_TENSOR_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "analyzer/graph/dtype.h"
#include "analyzer/graph/shape.h"
#include "analyzer/memory/program.h"

namespace onnx_mem::eager {

class Recorder;

// Bytes that the allocator handed out. Dies, and says so to the recorder, with the last tensor on it.
struct Storage {
  Storage(Recorder* r, BufferId b, int64_t n) : recorder(r), buffer(b), bytes(n) {}
  ~Storage() { Release(); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // Gives the bytes back while tensors still stand on it (untyped_storage().resize_(0)).
  void Release();
  // Takes as many again, as a buffer of the current step; there must be none.
  void Materialize(const Dims& dims, DType dtype);

  Recorder* recorder;
  BufferId buffer;  // invalid while it has none
  int64_t bytes;
  int32_t version = 0;  // how often an operator has written over it
};

// Which node gets a tensor's gradient: output `output_nr` of autograd node `node`; node < 0: it has none. A tensor that
// an operator made and a node behind it each hold a share in the node (grad_fn and next_functions are counted
// references); with the last share the node dies, and what it saved. A leaf has none: its node lives as long as others
// lead to it.
struct Edge {
  int32_t node = -1;
  int32_t output_nr = 0;
  std::shared_ptr<const void> share = nullptr;
};

struct EagerTensor {
  std::shared_ptr<Storage> storage;
  Dims dims;
  Dims strides;  // in elements
  DType dtype = DType::kFloat32;
  bool is_view = false;  // made by a view operator: its base stays alive with it
  bool requires_grad = false;
  bool is_leaf_parameter = false;
  Edge grad_edge;
  // Views that autograd knows as such, and what is written over (copy_slices.h).
  std::shared_ptr<EagerTensor> base;       // what the view is of, itself no view; null for all others
  std::shared_ptr<EagerTensor> successor;  // the same tensor once an operator has written over it
  int32_t version = 0;                     // of the storage when `grad_edge` was set
  bool rebases = false;                    // made of a view in place: its operator's node belongs to the base
};
// The framework's reference counts decide when bytes die and whether a gradient may be stolen or added in place, so
// tensors are shared pointers and use_count() is meaningful: copy a TensorRef only where the framework holds one.
using TensorRef = std::shared_ptr<EagerTensor>;

int64_t NumElements(const Dims& dims);  // no unknown dims; saturated
int64_t DenseBytes(const Dims& dims, DType dtype);
// The elements of dims[first], dims[first + 1], ... dims[last - 1] together. What is left of a shape when some sizes
// are taken out of it is this product, and never a quotient: of an empty tensor that would be a division by zero.
int64_t ElementsBetween(const Dims& dims, size_t first, size_t last);
inline int64_t ElementsFrom(const Dims& dims, size_t first) { return ElementsBetween(dims, first, dims.size()); }
// Rows of a tensor that is read as a matrix of its last dimension.
inline int64_t NumRows(const Dims& dims) { return ElementsBetween(dims, 0, dims.empty() ? 0 : dims.size() - 1); }

// The only division by a size in this layer (a test reads the source): sizes come from files, and one of 0 shares
// nothing out.
constexpr int64_t Quotient(int64_t whole, int64_t size) { return size > 0 ? whole / size : 0; }

// From the first element to the last: a table that is expanded lies in memory once. No overflow (checked with the
// record).
int64_t SpannedBytes(const EagerTensor& t);
// The product of factors that are not negative, or the largest number where that is beyond it: counts of operations
// grow faster than sizes, which are checked at import.
int64_t Saturated(std::initializer_list<int64_t> factors);

// Of all elements of all tensors, null ones skipped: what an operator that reads them moves.
int64_t TotalBytes(std::span<const TensorRef> tensors);

Dims ChannelsLastStrides(const Dims& dims);  // NHWC or NDHWC; rank 4 or 5
bool IsContiguous(const EagerTensor& t);
bool IsNonOverlappingAndDense(const EagerTensor& t);

// Strides of a view of `t` with shape `dims` (same element count), or nullopt where only a copy can have that shape.
std::optional<Dims> ViewStrides(const EagerTensor& t, const Dims& dims);
// Strides of `t` broadcast to `dims` (stride 0 where expanded).
Dims ExpandStrides(const EagerTensor& t, const Dims& dims);
Dims BroadcastDims(const Dims& a, const Dims& b);

// Strides that an elementwise result of shape `dims` gets: dense, in the memory order of the operands.
Dims ElementwiseStrides(const Dims& dims, std::initializer_list<const EagerTensor*> operands);
Dims ElementwiseStrides(const Dims& dims, std::span<const EagerTensor* const> operands);
// Strides of empty_like(t): those of t if dense and non-overlapping, else dense in t's memory order.
Dims LikeStrides(const EagerTensor& t);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_TENSOR_H_
