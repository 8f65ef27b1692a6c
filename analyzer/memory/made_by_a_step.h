// Which buffers of a program were made by a step, and which existed before; the latter begin in the first step too.
// Which of those are the module's own.
#ifndef ONNX_MEM_ANALYZER_MEMORY_MADE_BY_A_STEP_H_
#define ONNX_MEM_ANALYZER_MEMORY_MADE_BY_A_STEP_H_

#include "analyzer/memory/program.h"

namespace onnx_mem {

// Not the model, its inputs, gradients of earlier batches and the optimizer's state of earlier steps.
inline bool MadeByAStep(const Buffer& buffer) {
  switch (buffer.category) {
    case Category::kParameters:
    case Category::kBuffers:
    case Category::kInputs: return false;
    case Category::kGradients:
    case Category::kOptimizerState: return buffer.begin.value() > 0;
    default: return true;
  }
}

// A parameter or a buffer of a module: what deepcopy(module) copies. A constant of the forward's code is neither.
inline bool IsOfModule(const Buffer& buffer) {
  return buffer.category == Category::kParameters ||
         (buffer.category == Category::kBuffers && !buffer.name.starts_with("const"));
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_MEMORY_MADE_BY_A_STEP_H_
