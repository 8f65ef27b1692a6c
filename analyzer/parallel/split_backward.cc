// A backward in two parts, as schedules without bubbles run it: stage_backward_input and stage_backward_weight of
// torch/distributed/pipelining/_backward.py.
#include <algorithm>

#include "analyzer/parallel/stage_replay.h"

namespace onnx_mem {

// What the weight part of a split backward does, and what it needs beside what was saved: the gradient with which
// autograd came to the node.
void StageReplay::FindWeightSteps() {
  for (const GradientArrival& arrival : stage_.enacted.arrivals) {
    if (life(arrival.gradient) != Life::kParameterGradient) continue;
    const int32_t made = program_.buffers[arrival.gradient].begin.value();
    makes_weight_[static_cast<size_t>(made)] = true;
    first_weight_ = std::min(first_weight_, made);
    int32_t first = made, last = made;  // of the node
    const SharedText& node = program_.steps[StepId(made)].node;
    while (first > split_ && program_.steps[StepId(first - 1)].node == node) --first;
    while (last + 1 < end_ && program_.steps[StepId(last + 1)].node == node) ++last;
    BufferId incoming;
    for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
      const Buffer& buffer = program_.buffers[id];
      const bool gradient = buffer.category == Category::kActivationGradients || life(id) == Life::kReceivedGradient;
      if (!gradient || buffer.begin.value() >= first || buffer.end.value() <= first) continue;
      if (buffer.end.value() <= last + 1 || !incoming.valid() || program_.buffers[incoming].end.value() > last + 1) {
        incoming = id;  // the latest one, of those that die here where there are any
      }
    }
    if (incoming.valid()) kept_for_weights_[incoming.index()] = true;
  }
}

// The gradients of the inputs alone: autograd keeps what it saved, and the schedule what was received. A stage without
// inputs that need any has nothing to do yet.
void StageReplay::BackwardInput(int64_t m) {
  if (stage_.received == 0) return;
  MicroBatch& micro_batch = micro_batches_[static_cast<size_t>(m)];
  for (int32_t at = split_; at < end_; ++at) {
    for (const BufferId id : dying_[static_cast<size_t>(at)]) {
      // What lies between the loss and the first parameter is gone with the loss's history.
      const bool saved = program_.buffers[id].begin.value() < split_ && at > first_weight_;
      const bool kept = saved || life(id) == Life::kReceivedGradient || kept_for_weights_[id.index()];
      if (!kept) editor_.CloseIfOpen(At(micro_batch, id));
    }
    const std::vector<BufferId>& born = born_[static_cast<size_t>(at)];
    const bool weights_alone = !born.empty() && std::all_of(born.begin(), born.end(), [&](BufferId id) {
      return life(id) == Life::kParameterGradient;
    });
    if (weights_alone) continue;
    CopyStep(at, micro_batch);
    OpenMade(at, micro_batch, Made::kButWeights, /*is_first=*/true);
  }
  if (!pipeline_.return_outputs) CloseAll(Life::kResult, micro_batch);
}

void StageReplay::BackwardWeight(int64_t m) {
  if (stage_.received == 0) return Backward(m);
  MicroBatch& micro_batch = micro_batches_[static_cast<size_t>(m)];
  for (int32_t at = split_; at < end_; ++at) {
    if (!makes_weight_[static_cast<size_t>(at)]) continue;
    CopyStep(at, micro_batch);
    OpenMade(at, micro_batch, Made::kWeights, !any_gradient_);
    CloseAll(Life::kParameterGradient, micro_batch);  // added to those that are there
  }
  EndBackward(m);
}

}  // namespace onnx_mem
