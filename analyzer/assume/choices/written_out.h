// Autograd functions that TorchScript's exporter replaces by the operators of their forward. These look like operators
// of the model, each of which saves what its gradient needs; the function itself saves only what its code names.
//
//   return GeLUFunction.apply(x)       x alone, where x * 0.5 * (1 + tanh(...)) saves five tensors
//   return LayerNormFunction.apply(x, weight, bias, eps)
//
// Sources: transformers/models/bloom/modeling_bloom.py (GeLUFunction), torch/csrc/jit/passes/onnx.cpp (a PythonOp with
// a traced body is replaced by it: autograd_inlining). The other exporter tells of them in the program's calls.
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_WRITTEN_OUT_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_WRITTEN_OUT_H_

#include <cstdint>

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// About the bytes that a training step has no need of if each expression of several operators, of which one is no sum
// or product, is such a function that saves what it is given alone: all that is made and read within and saved.
int64_t BytesOfWrittenOut(const Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_WRITTEN_OUT_H_
