// Arithmetic of two tensors as building blocks of composites. Rules in binary.cc.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPERATORS_BINARY_H_
#define ONNX_MEM_ANALYZER_EAGER_OPERATORS_BINARY_H_

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// Broadcasting and promoting, with history. In place: the result is written into `a`.
TensorRef Add(Machine& m, const TensorRef& a, const TensorRef& b, bool in_place = false);
TensorRef Sub(Machine& m, const TensorRef& a, const TensorRef& b, bool in_place = false);
TensorRef Mul(Machine& m, const TensorRef& a, const TensorRef& b, bool in_place = false);
TensorRef Div(Machine& m, const TensorRef& a, const TensorRef& b, bool in_place = false);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OPERATORS_BINARY_H_
