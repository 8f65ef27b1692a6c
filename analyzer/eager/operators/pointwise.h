// Elementwise results: which dtype, shape and memory order an operator on several tensors gives, and runs of
// elementwise operators inside one backward formula. Sources: c10/core/ScalarType.h (promotion),
// aten/src/ATen/native/TypeProperties.cpp (result_type), aten/src/ATen/TensorIterator.cpp (shape and strides).
#ifndef ONNX_MEM_ANALYZER_EAGER_OPERATORS_POINTWISE_H_
#define ONNX_MEM_ANALYZER_EAGER_OPERATORS_POINTWISE_H_

#include <initializer_list>
#include <span>
#include <string_view>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// float16 x float32 -> float32, float16 x bfloat16 -> float32, int64 x float16 -> float16, bool x int8 -> int8.
DType PromoteTypes(DType a, DType b);
// As PromoteTypes, but a 0-dimensional operand only counts when it is of a higher kind (bool < integer < floating).
DType ResultType(std::initializer_list<TensorRef> operands);
// What a floating function gives: the dtype of `t`, float32 for integers.
DType FloatingTypeOf(const EagerTensor& t);

// Dispatches `op` on `operands` (null ones are skipped): broadcast shape, promoted dtype unless given.
TensorRef NewPointwise(Machine& m, std::string_view op, std::initializer_list<TensorRef> operands);
TensorRef NewPointwise(Machine& m, std::string_view op, std::initializer_list<TensorRef> operands, DType dtype);

// Dispatches `op` as an in-place operator on `x`: the same storage, no allocation.
TensorRef InPlace(Machine& m, std::string_view op, const TensorRef& x);

// The framework's formulas that write in place unless a tensor subclass or a dispatch mode looks on
// (isTensorSubclassLike in aten/src/ATen/TensorSubclassLikeUtils.h). A measurement taken through such a mode shows the
// other branch: one more tensor. Training runs take the first.
inline constexpr bool kObserved = false;
// Dispatches `op` on `x`, which the formula owns: x itself, or a new tensor when observed.
TensorRef OverwriteUnlessObserved(Machine& m, std::string_view op, const TensorRef& x);

// aten::_to_copy; the very same tensor where the dtype is right already. Its backward casts the gradient back.
TensorRef ToCopy(Machine& m, const TensorRef& x, DType dtype);

// Runs `steps` one after the other on tensors like `operands`; all results live until the last, which is returned.
// Comparisons give bool masks, "scalar_tensor" one element.
TensorRef RunPointwise(Machine& m, std::span<const std::string_view> steps, std::initializer_list<TensorRef> operands);
TensorRef RunPointwise(Machine& m, std::initializer_list<std::string_view> steps,
                       std::initializer_list<TensorRef> operands);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OPERATORS_POINTWISE_H_
