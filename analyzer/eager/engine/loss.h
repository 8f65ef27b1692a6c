// Losses as the framework computes them on the model's output. The target is an input that the caller has counted.
// Sources: torch/nn/functional.py, aten/src/ATen/native/LossNLL.cpp (cross_entropy_loss, nll_loss_nd), Loss.cpp.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_LOSS_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_LOSS_H_

#include <cstddef>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// F.cross_entropy with mean reduction; classes stand in dimension `class_axis` of `logits`. Classes that stand last are
// flattened to [rows, classes] first, as training scripts write it. Gives the scalar loss.
TensorRef CrossEntropy(Machine& m, const TensorRef& logits, size_t class_axis);
// The same of logits whose classes, in the last dimension, are split over ranks: loss_parallel().
TensorRef SplitCrossEntropy(Machine& m, const TensorRef& logits);
// F.mse_loss against a target of the output's shape; in float32 under autocast.
TensorRef MseLoss(Machine& m, const TensorRef& output);
TensorRef SumLoss(Machine& m, const TensorRef& output);
TensorRef MeanLoss(Machine& m, const TensorRef& output);
TensorRef AddLosses(Machine& m, const TensorRef& a, const TensorRef& b);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_LOSS_H_
