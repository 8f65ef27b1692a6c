// Gradients that outlive a micro-step: the next one adds to them.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_KEPT_GRADIENTS_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_KEPT_GRADIENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/eager/engine/executor.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/graph/shape.h"

namespace onnx_mem {

// The gradient that a micro-step left to the next one.
struct KeptGradient {
  TensorId parameter;
  std::string name;
  int64_t bytes = 0;  // of its storage
  Dims dims;
  DType dtype = DType::kUnknown;
};

std::vector<KeptGradient> KeptGradients(eager::Machine& m, const eager::Executor& executor);

// Gives the parameters their gradients of an earlier micro-step.
void TakeOver(const std::vector<KeptGradient>& gradients, eager::Machine& m, const eager::Executor& executor);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_KEPT_GRADIENTS_H_
