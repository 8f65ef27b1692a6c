// In-place operators on views. The base is what changes, so autograd puts a node between its old history and whoever
// reads it: CopySlices, which runs the operator's own backward on a copy of the view's part of the gradient. The view
// gets a new history too, AsStridedBackward. An in-place activation behind an instance norm, whose result is a view of
// a batch norm's, is the usual case: its backward holds four gradients where others hold two. Sources:
// torch/csrc/autograd/VariableTypeUtils.h (rebase_history), variable.cpp (VariableHooks::grad_fn), functions/tensor.cpp
// (CopySlices::apply), FunctionsManual.cpp (as_strided_backward).
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_COPY_SLICES_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_COPY_SLICES_H_

#include <cstdint>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// The edge of `x` where it is a view that autograd knows as one, else an edge to nowhere.
Edge ViewEdge(Machine& m, const EagerTensor& x);

// `result`, with a view_edge, is the one output of autograd node `node`, whose first argument it overwrote: makes the
// node a CopySlices and gives the result its new history.
void RebaseHistory(Machine& m, int32_t node, const TensorRef& result);

// What the node of RebaseHistory runs in backward, `formula` being that of the operator.
Formula ThroughView(Formula formula, TensorMeta base, TensorMeta view);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_COPY_SLICES_H_
