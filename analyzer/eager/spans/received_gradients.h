// The backward pass of a pipeline's stage whose outputs are sent on (torch/distributed/pipelining/_backward.py).
#ifndef ONNX_MEM_ANALYZER_EAGER_SPANS_RECEIVED_GRADIENTS_H_
#define ONNX_MEM_ANALYZER_EAGER_SPANS_RECEIVED_GRADIENTS_H_

#include <vector>

#include "analyzer/eager/engine/executor.h"
#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// The storage of each; invalid where a tensor has no value.
std::vector<BufferId> StoragesOf(const Executor& executor, const TensorIds& tensors);

// The forward's outputs are sent on and released; one step receives the gradients of those that have any. Autograd
// starts from the edges of what was sent. Who received the gradients holds them until the pass is done, so that
// nothing is added to one of them in place.
void RunReceivedBackward(Machine& m, Executor& executor, const TensorIds& outputs);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_SPANS_RECEIVED_GRADIENTS_H_
