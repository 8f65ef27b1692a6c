// Matrix products as building blocks: linear layers, attention, recurrent cells and einsum are composed of them.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPERATORS_MATMUL_H_
#define ONNX_MEM_ANALYZER_EAGER_OPERATORS_MATMUL_H_

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// No autocast here: the operator that composes them has cast its arguments already.
TensorRef Mm(Machine& m, const TensorRef& a, const TensorRef& b);                            // [m,k] x [k,n]
TensorRef Addmm(Machine& m, const TensorRef& bias, const TensorRef& a, const TensorRef& b);  // bias + [m,k] x [k,n]
TensorRef Bmm(Machine& m, const TensorRef& a, const TensorRef& b);                           // [b,m,k] x [b,k,n]
// aten::matmul: any ranks, broadcast batch dimensions.
TensorRef Matmul(Machine& m, const TensorRef& a, const TensorRef& b);
// aten::linear with `weight_t` = weight.t(), [in, out]; bias may be null.
TensorRef Linear(Machine& m, const TensorRef& x, const TensorRef& weight_t, const TensorRef& bias);
// The last two dimensions of `t` change places, as t.mT.
TensorRef TransposeLast(Machine& m, const TensorRef& t);
// A matrix, or several, as its gradient's formula remembers it.
struct MatrixLayout {
  Dims dims;
  bool column_major;  // in the last two dimensions
};
MatrixLayout LayoutOf(const EagerTensor& t);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OPERATORS_MATMUL_H_
