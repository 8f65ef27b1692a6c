// When a parameter's gradient is there.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_GRADIENT_ARRIVAL_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_GRADIENT_ARRIVAL_H_

#include "analyzer/memory/program.h"

namespace onnx_mem {

// A gradient that a parameter's AccumulateGrad takes: the buffer in which it arrives, behind `step`.
struct GradientArrival {
  BufferId parameter, gradient;
  StepId step;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_GRADIENT_ARRIVAL_H_
