// Joining tensors as a building block of recurrent layers.
#ifndef ONNX_MEM_ANALYZER_EAGER_VIEWS_SHAPE_H_
#define ONNX_MEM_ANALYZER_EAGER_VIEWS_SHAPE_H_

#include <vector>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// Along `axis`; null tensors are skipped, mixed dtypes promoted. Backward: a view of the gradient for each tensor.
// `dtype`: of the result, where it is not that of the inputs (an empty one of another type was left out).
TensorRef Cat(Machine& m, const std::vector<TensorRef>& tensors, size_t axis, DType dtype = DType::kUnknown);
// Along a new `axis`.
TensorRef Stack(Machine& m, const std::vector<TensorRef>& tensors, size_t axis);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_VIEWS_SHAPE_H_
