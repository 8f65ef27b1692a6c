// Reductions as building blocks of composites.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPERATORS_REDUCE_H_
#define ONNX_MEM_ANALYZER_EAGER_OPERATORS_REDUCE_H_

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// Over `axes` (non-negative; empty: all). Under autocast a sum of halves is taken, and given, in float32.
TensorRef Sum(Machine& m, const TensorRef& x, const Dims& axes, bool keep_dims);
TensorRef Mean(Machine& m, const TensorRef& x, const Dims& axes, bool keep_dims);
// torch.linalg.vector_norm, p = 1 or 2.
TensorRef VectorNorm(Machine& m, const TensorRef& x, double p, const Dims& axes, bool keep_dims);

// `x_dims` with every axis of `axes` (empty: all) set to 1, or dropped.
Dims ReducedDims(const Dims& x_dims, const Dims& axes, bool keep_dims);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OPERATORS_REDUCE_H_
