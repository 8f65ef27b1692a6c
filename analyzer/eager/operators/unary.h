// Elementwise operators of one tensor as building blocks of composites. Rows and rules in unary.cc and scalar.cc.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPERATORS_UNARY_H_
#define ONNX_MEM_ANALYZER_EAGER_OPERATORS_UNARY_H_

#include <string_view>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// The operator of row `name` in unary.cc ("relu", "abs", ...), with its history. `name` must be a row.
TensorRef Unary(Machine& m, std::string_view name, const TensorRef& x, bool in_place = false);

// Arithmetic with a Python number. Multiplication and division keep the number as a tensor of 8 bytes.
TensorRef AddScalar(Machine& m, const TensorRef& x, bool in_place = false);
TensorRef MulScalar(Machine& m, const TensorRef& x, bool in_place = false);
TensorRef DivScalar(Machine& m, const TensorRef& x, bool in_place = false);
TensorRef PowScalar(Machine& m, const TensorRef& x, double exponent, bool in_place = false);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OPERATORS_UNARY_H_
