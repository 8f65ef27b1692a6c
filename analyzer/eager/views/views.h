// View operators as building blocks: composites (linear, matmul, attention) are written with them, forward and
// backward.
#ifndef ONNX_MEM_ANALYZER_EAGER_VIEWS_VIEWS_H_
#define ONNX_MEM_ANALYZER_EAGER_VIEWS_VIEWS_H_

#include <vector>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// Each returns a new tensor with history where one is due. In backward (grad disabled) they make plain views.
TensorRef View(Machine& m, const TensorRef& t, const Dims& dims, std::string_view backward = "ViewBackward0");
// aten::reshape: a view where the strides allow it, else a contiguous copy (clone, then _unsafe_view).
TensorRef Reshape(Machine& m, const TensorRef& t, const Dims& dims);
// As aten::_unsafe_view: shares the storage but is no view to the autograd engine.
TensorRef UnsafeView(Machine& m, const TensorRef& t, const Dims& dims);
TensorRef Permute(Machine& m, const TensorRef& t, const Dims& perm);
TensorRef Transpose(Machine& m, const TensorRef& t, int64_t dim0, int64_t dim1);
TensorRef Expand(Machine& m, const TensorRef& t, const Dims& dims);
// One view per index of `axis`, without it. Backward stacks the gradients once, zeros where none arrived.
std::vector<TensorRef> Unbind(Machine& m, const TensorRef& x, int64_t axis);
// Backward of what gave `count` views: their gradients, zeros where none arrived, joined by `op` to what `meta` says.
void JoinGradients(Backward& b, std::string_view op, size_t count, const TensorMeta& meta);
TensorRef Contiguous(Machine& m, const TensorRef& t);  // the same tensor if it is contiguous
TensorRef Clone(Machine& m, const TensorRef& t, bool contiguous);
TensorRef CloneAs(Machine& m, const TensorRef& t, const Dims& strides);
// at::real: a view of a complex tensor, the very same tensor where it is real.
TensorRef RealPart(Machine& m, const TensorRef& t);
// A view of some of the elements, for which backward runs `backward`: a tensor like the whole `t`, written in part.
TensorRef PartView(Machine& m, const TensorRef& t, const Dims& dims, const Dims& strides, std::string_view node,
                   std::string_view backward);
// One dimension: `count` elements, each `step` behind the one before.
TensorRef SliceView(Machine& m, const TensorRef& t, int64_t axis, int64_t count, int64_t step);
// Tensor.repeat to shape `dims`: a copy.
TensorRef Repeat(Machine& m, const TensorRef& x, const Dims& dims);
TensorRef SelectView(Machine& m, const TensorRef& t, int64_t axis);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_VIEWS_VIEWS_H_
