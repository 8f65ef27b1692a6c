// In-place operators on views. The base is what changes, so autograd puts a node between its old history and whoever
// reads it: CopySlices, which runs the operator's own backward on a copy of the view's part of the gradient. The view
// gets a new history too, AsStridedBackward. An in-place activation behind an instance norm, whose result is a view of
// a batch norm's, is the common case: its backward holds four gradients where others hold two. Sources:
// torch/csrc/autograd/VariableTypeUtils.h (rebase_history), variable.cpp (VariableHooks::grad_fn), functions/tensor.cpp
// (CopySlices::apply), FunctionsManual.cpp (as_strided_backward).
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_COPY_SLICES_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_COPY_SLICES_H_

#include <cstdint>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// Makes `view` a view of `x` that autograd knows as one, while gradients are recorded.
void KnowAsView(const Machine& m, const TensorRef& x, const TensorRef& view);

// `result` is `x` written over.
void WriteOver(const TensorRef& x, const TensorRef& result);

// `result`, a view, is the one output of autograd node `node`, whose first argument it overwrote: makes the node a
// CopySlices in the base's history and gives the result its new one.
void RebaseHistory(Machine& m, int32_t node, const TensorRef& result);

// The history of a view whose base was written over since: AsStridedBackward of what the base is now.
void RefreshHistory(Machine& m, const TensorRef& view);

// What the node of RebaseHistory runs in backward, `formula` being that of the operator.
Formula ThroughView(Formula formula, TensorMeta base, TensorMeta view);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_COPY_SLICES_H_
