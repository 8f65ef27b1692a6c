// Softmax as a building block of attention and the cross-entropy loss.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPERATORS_SOFTMAX_H_
#define ONNX_MEM_ANALYZER_EAGER_OPERATORS_SOFTMAX_H_

#include <string_view>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// `op`: "_softmax", "_log_softmax", "_safe_softmax". Saves the result. `dtype` is that of the result; where the input
// is half the kernel converts without a copy, and its backward gives halves.
TensorRef Softmax(Machine& m, std::string_view op, const TensorRef& x, DType dtype);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OPERATORS_SOFTMAX_H_
