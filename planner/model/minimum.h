// A floor under every checkpoint plan, proven from the step without any.
//
// Recomputation moves activations; it does not touch parameters, optimizer state, inputs or gradients, nor what a step
// allocates while it runs. So at every step these bytes are alive under any plan that keeps the backward's order, and
// the largest such sum is a floor under the peak.
#ifndef ONNX_MEM_PLANNER_MODEL_MINIMUM_H_
#define ONNX_MEM_PLANNER_MODEL_MINIMUM_H_

#include <cstdint>
#include <string>

#include "analyzer/memory/program.h"

namespace onnx_mem {

struct Minimum {
  int64_t bytes = 0;
  std::string why;  // "conv of layer1.0.conv1 (backward)"
};

// `steady` is the whole steady step with its optimizer.
Minimum ProvenMinimum(const MemoryProgram& steady);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MODEL_MINIMUM_H_
