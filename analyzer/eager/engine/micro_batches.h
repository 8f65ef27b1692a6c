// A training step as the list of the forwards and backwards of its micro-batches, in whatever order a schedule runs
// them; the optimizer's update follows (optimizer/optimizer_step.h).
//
//   accumulation        F0 B0 F1 B1      for i in range(n): loss(model(x[i])).backward()
//   pipeline, 1F1B      F0 F1 B0 F2 B1 B2
//
//                       F0   B0   F1   B1                     F0   F1   B0   B1
//   gradient               |====|====|====|     activations of 0  .========.
//   activations of 0    .====.                            of 1       .========.
//
// Micro-batch 0 finds no gradients; the others add to them, so that what they hold is there during their forward as
// well. Output and loss of a micro-batch are gone with its backward (a loop whose body is a function).
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_MICRO_BATCHES_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_MICRO_BATCHES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/memory/program.h"

namespace onnx_mem {

struct StepPart {
  enum class Kind : uint8_t { kForward, kBackward };
  Kind kind;
  int32_t micro_batch;
};

// F0 B0 F1 B1 ...
std::vector<StepPart> OneAfterAnother(int32_t micro_batches);

// The step in which `order` runs each micro-batch's forward (its loss with it) and, some time later, its backward; F0
// is first. `first` is micro-batch 0 alone, `later` any other: the same model, enacted with the gradients which `first`
// leaves. Parameters, buffers, inputs and gradients are those of `first` and live on.
MemoryProgram RunInOrder(const MemoryProgram& first, const MemoryProgram& later, std::span<const StepPart> order);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_MICRO_BATCHES_H_
