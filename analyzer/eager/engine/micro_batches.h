// Gradient accumulation: micro-steps composed into one step of training. The first finds no gradients, the later ones
// find them and add to them, so that what they hold is there during their forward as well.
//
//   for i in range(n): loss(model(x[i])).backward()      first micro-step | a later one    | optimizer
//   optimizer.step(); optimizer.zero_grad()              gradient   |=====|================|==========|
//                                                        activations /\   |        /\      |
//
// Output and loss of a micro-step are gone when the next one begins (a loop whose body is a function).
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_ACCUMULATE_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_ACCUMULATE_H_

#include "analyzer/memory/program.h"

namespace onnx_mem {

// `first` followed by `later`, a micro-step of the same model that was enacted with the gradients which `first` leaves.
// Parameters, buffers, inputs and gradients are those of `first` and live on.
MemoryProgram WithLaterMicroStep(MemoryProgram first, const MemoryProgram& later);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_ACCUMULATE_H_
