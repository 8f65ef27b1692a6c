// Reductions as building blocks of composites.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPERATORS_REDUCE_H_
#define ONNX_MEM_ANALYZER_EAGER_OPERATORS_REDUCE_H_

#include "analyzer/eager/engine/machine.h"
#include "analyzer/eager/engine/op_table.h"

namespace onnx_mem::eager {

// Over `axes` (non-negative; empty: all). Under autocast a sum of halves is taken, and given, in float32.
TensorRef Sum(Machine& m, const TensorRef& x, const Dims& axes, bool keep_dims);
TensorRef Mean(Machine& m, const TensorRef& x, const Dims& axes, bool keep_dims);
// torch.linalg.vector_norm, by linear_algebra.cc.
TensorRef VectorNorm(Machine& m, const TensorRef& x, double p, const Dims& axes, bool keep_dims);

// `x_dims` with every axis of `axes` (empty: all) set to 1, or dropped.
Dims ReducedDims(const Dims& x_dims, const Dims& axes, bool keep_dims);

// What the gradient of a reduction needs to know of its input.
struct Reduction {
  Dims x;     // of the input
  Dims kept;  // of the output with the reduced axes as 1
  DType x_dtype;
};
Reduction ReductionOf(const EagerTensor& x, const Dims& axes);

struct ReductionArguments {
  Dims axes;  // non-negative; empty: all
  bool keep_dims;
};
ReductionArguments ReductionArgumentsOf(const Call& call);

// Under autocast: run in float32 by an argument of the kernel, without a copy of the input.
DType WideType(const Machine& m, const EagerTensor& x);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OPERATORS_REDUCE_H_
