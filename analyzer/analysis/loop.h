// What the loop around the model holds, by who runs it (run/trainer.h): targets, outputs, gradients of the last step.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_LOOP_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_LOOP_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "analyzer/analysis/kept_gradients.h"
#include "analyzer/eager/engine/executor.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/memory/program.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// Counters of batch norms that no file has, and the targets of a loss outside of the model.
std::vector<std::shared_ptr<eager::Storage>> HeldBesideModel(const Lowered& lowered, const Run& run, LossKind loss,
                                                             const TensorIds& loss_outputs, eager::Machine& m);

// Whether the loss is computed under autocast too: what hands out converted outputs has autocast around the model
// alone.
bool LossIsUnderAutocast(const Run& run);

// What the model returns, as the trainer hands it to the loop.
void HandOutOutputs(const Run& run, eager::Executor& executor);

// Of y.backward(g): the first output that needs a gradient, and one that the caller made for it and holds. Null: none.
std::pair<eager::TensorRef, eager::TensorRef> GivenGradient(eager::Machine& m, const eager::Executor& executor,
                                                            const TensorIds& outputs);

// The loss is there. Bytes of the outputs that the loop holds on.
int64_t HoldOutputs(const Run& run, eager::Executor& executor);

// `gradients`, which the step leaves, live in the next one until `loss_end` where the trainer drops them there. Step 1,
// which finds none, is counted like the later ones.
void HoldThroughForward(const Run& run, const std::vector<KeptGradient>& gradients, StepId loss_end,
                        MemoryProgram& program);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_LOOP_H_
