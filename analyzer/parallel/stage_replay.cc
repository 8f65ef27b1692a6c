#include "analyzer/parallel/stage_replay.h"

#include <algorithm>
#include <utility>

#include "analyzer/memory/made_by_a_step.h"
#include "analyzer/parallel/strategies.h"

namespace onnx_mem {
namespace {

bool Contains(const std::vector<BufferId>& ids, BufferId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

StageReplay::StageReplay(const StageProgram& stage, const RankLayout& layout, StepEditor& editor,
                         std::unique_ptr<FsdpHooks> hooks)
    : stage_(stage),
      program_(stage.enacted.program),
      layout_(layout),
      pipeline_(layout.pipeline),
      editor_(editor),
      hooks_(std::move(hooks)),
      end_(program_.steps.next_id().value()),
      first_weight_(end_),
      lives_(program_.buffers.size(), Life::kProgram),
      born_(program_.steps.size()),
      dying_(program_.steps.size() + 1),
      arriving_(program_.steps.size()),
      makes_weight_(program_.steps.size(), false),
      kept_for_weights_(program_.buffers.size(), false),
      backwards_left_(MicroBatchesOf(pipeline_)),
      gradients_(program_.buffers.size()) {
  const auto backward = std::find_if(program_.steps.begin(), program_.steps.end(),
                                     [](const Step& step) { return step.phase == Phase::kBackward; });
  split_ = static_cast<int32_t>(backward - program_.steps.begin());
  Classify();
  FindWeightSteps();
  micro_batches_.resize(static_cast<size_t>(MicroBatchesOf(pipeline_)));
  for (MicroBatch& micro_batch : micro_batches_) {
    micro_batch.at.resize(program_.buffers.size());
    micro_batch.copies.resize(program_.steps.size());
  }
}

void StageReplay::Classify() {
  for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
    const Buffer& buffer = program_.buffers[id];
    lives_[id.index()] = LifeOf(id);
    born_[buffer.begin.index()].push_back(id);
    dying_[buffer.end.index()].push_back(id);
  }
  const std::vector<BufferId>& inputs = stage_.enacted.inputs;
  for (const GradientArrival& arrival : stage_.enacted.arrivals) {
    const bool of_input = Contains(inputs, arrival.parameter);
    lives_[arrival.gradient.index()] = of_input ? Life::kInputGradient : Life::kParameterGradient;
    if (!of_input) arriving_[arrival.step.index()].push_back(arrival.gradient);
  }
}

StageReplay::Life StageReplay::LifeOf(BufferId id) const {
  const Buffer& buffer = program_.buffers[id];
  const std::vector<BufferId>& inputs = stage_.enacted.inputs;
  const auto input = std::find(inputs.begin(), inputs.end(), id);
  if (static_cast<size_t>(input - inputs.begin()) < stage_.received) return Life::kReceivedInput;
  if (!MadeByAStep(buffer)) return Life::kStatic;
  if (buffer.category == Category::kCommunication) return Life::kReceivedGradient;
  const bool to_the_end = buffer.begin.value() < split_ && buffer.end.value() == end_;
  if (stage_.is_last && to_the_end) {
    return Contains(stage_.enacted.outputs, id) ? Life::kResult : Life::kLoss;
  }
  // What autograd saved lives longer than the send anyway.
  const bool sent = !stage_.is_last && Contains(stage_.enacted.outputs, id) && buffer.end.value() <= split_;
  return sent ? Life::kSentOutput : Life::kProgram;
}

void StageReplay::OpenStatics() {
  const int64_t count = MicroBatchesOf(pipeline_);
  if (hooks_) hooks_->OpenShards(program_);
  if (IsDdp()) editor_.OpenStatic(BucketsOf(stage_.facts));
  for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
    if (life(id) != Life::kStatic) continue;
    Buffer buffer = program_.buffers[id];
    if (hooks_ && buffer.category == Category::kParameters) continue;  // their shards are there instead
    if (hooks_) buffer = InOwnType(std::move(buffer), layout_, input_casts_);
    if (buffer.category == Category::kInputs) buffer.bytes *= count;  // micro-batches are views of them
    editor_.OpenStatic(std::move(buffer));
  }
}

void StageReplay::Do(const StageAction& action) {
  const int64_t m = action.micro_batch;
  MicroBatch& micro_batch = micro_batches_[static_cast<size_t>(m)];
  switch (action.kind) {
    case StageAction::Kind::kNothing: return;
    case StageAction::Kind::kForward: return Forward(m);
    case StageAction::Kind::kBackward: return Backward(m);
    case StageAction::Kind::kBackwardInput: return BackwardInput(m);
    case StageAction::Kind::kBackwardWeight: return BackwardWeight(m);
    case StageAction::Kind::kReceiveInput: return ReceiveInput(m);
    case StageAction::Kind::kReceiveGradient: return ReceiveGradient(m);
    case StageAction::Kind::kOutputSent:
      // What a split backward has kept stays until its weight part is done; DDP's reducer looks through the outputs.
      if (pipeline_.schedule == PipelineSchedule::kInterleavedZeroBubble || IsDdp()) return;
      return CloseAll(Life::kSentOutput, micro_batch);
    case StageAction::Kind::kInputGradientSent: return CloseAll(Life::kInputGradient, micro_batch);
  }
}

void StageReplay::CloseAll(Life life, MicroBatch& micro_batch) {
  for (size_t i = 0; i < lives_.size(); ++i) {
    if (lives_[i] == life) editor_.CloseIfOpen(micro_batch.at[i]);
  }
}

void StageReplay::ReceiveInput(int64_t m) {
  if (stage_.received == 0) return;
  MicroBatch& micro_batch = micro_batches_[static_cast<size_t>(m)];
  editor_.SetPhase(Phase::kForward);
  editor_.Event("recv", "");
  for (size_t i = 0; i < stage_.received; ++i) {
    const BufferId id = stage_.enacted.inputs[i];
    if (!id.valid() || At(micro_batch, id).valid()) continue;
    Buffer buffer = program_.buffers[id];
    buffer.category = Category::kCommunication;
    buffer.kept_by =
        stage_.is_last ? "its loss leads to it, which the caller keeps" : "held until its backward is done";
    At(micro_batch, id) = editor_.Open(std::move(buffer));
  }
}

void StageReplay::ReceiveGradient(int64_t m) {
  if (stage_.is_last) return;
  MicroBatch& micro_batch = micro_batches_[static_cast<size_t>(m)];
  editor_.SetPhase(Phase::kBackward);
  editor_.Event("recv", "");
  for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
    if (life(id) == Life::kReceivedGradient) At(micro_batch, id) = editor_.Open(program_.buffers[id]);
  }
}

void StageReplay::Forward(int64_t m) {
  MicroBatch& micro_batch = micro_batches_[static_cast<size_t>(m)];
  editor_.SetPhase(Phase::kForward);
  micro_batch.input_casts = OpenCasts(input_casts_, editor_);
  RunSteps(0, split_, micro_batch, m == 0);
  CloseDying(split_, micro_batch);
}

void StageReplay::Backward(int64_t m) {
  MicroBatch& micro_batch = micro_batches_[static_cast<size_t>(m)];
  --backwards_left_;
  RunSteps(split_, end_, micro_batch, !any_gradient_);
  EndBackward(m);
}

void StageReplay::EndBackward(int64_t m) {
  MicroBatch& micro_batch = micro_batches_[static_cast<size_t>(m)];
  any_gradient_ = true;
  for (BufferId& copy : micro_batch.input_casts) editor_.CloseIfOpen(copy);
  CloseAll(Life::kProgram, micro_batch);
  CloseAll(Life::kReceivedGradient, micro_batch);
  CloseAll(Life::kSentOutput, micro_batch);
  if (!stage_.is_last) CloseAll(Life::kReceivedInput, micro_batch);
  if (!pipeline_.return_outputs) CloseAll(Life::kResult, micro_batch);
}

void StageReplay::RunSteps(int32_t from, int32_t to, MicroBatch& micro_batch, bool is_first) {
  for (int32_t at = from; at < to; ++at) {
    if (at > from) CloseDying(at, micro_batch);
    editor_.SetPhase(program_.steps[StepId(at)].phase);
    if (hooks_) hooks_->Before(StepId(at));
    CopyStep(at, micro_batch);
    OpenMade(at, micro_batch, Made::kAll, is_first);
    if (hooks_) hooks_->After(StepId(at));
    Arrive(at, micro_batch, is_first);
  }
}

// Later gradients are added to the first ones. With bucket views all are gone when the last ones have been copied into
// their buckets; before, under no_sync, they are ordinary tensors.
void StageReplay::Arrive(int32_t at, MicroBatch& micro_batch, bool is_first) {
  for (const BufferId id : arriving_[static_cast<size_t>(at)]) {
    if (!is_first) editor_.CloseIfOpen(At(micro_batch, id));
    if (layout_.bucket_view && backwards_left_ == 0) editor_.CloseIfOpen(gradients_[id.index()]);
  }
}

void StageReplay::CopyStep(int32_t at, MicroBatch& micro_batch) {
  editor_.SetPhase(program_.steps[StepId(at)].phase);
  editor_.Copy(program_, StepId(at), micro_batch.copies);
}

bool StageReplay::Opens(BufferId id) const {
  switch (life(id)) {
    case Life::kStatic:
    case Life::kReceivedInput:
    case Life::kReceivedGradient: return false;
    default: return true;
  }
}

void StageReplay::OpenMade(int32_t at, MicroBatch& micro_batch, Made made, bool is_first) {
  for (const BufferId id : born_[static_cast<size_t>(at)]) {
    const bool wanted = made == Made::kAll || (made == Made::kWeights) == (life(id) == Life::kParameterGradient);
    if (!Opens(id) || !wanted) continue;
    Buffer buffer = program_.buffers[id];
    if (life(id) == Life::kInputGradient) buffer.category = Category::kCommunication;
    const BufferId moved = editor_.Open(std::move(buffer));
    const bool gradient = life(id) == Life::kParameterGradient;
    if (gradient && hooks_ && hooks_->Takes(program_.buffers[id], id, moved)) continue;
    (gradient && is_first ? gradients_[id.index()] : At(micro_batch, id)) = moved;
  }
}

void StageReplay::CloseDying(int32_t at, MicroBatch& micro_batch) {
  for (const BufferId id : dying_[static_cast<size_t>(at)]) {
    if (life(id) == Life::kProgram || life(id) == Life::kReceivedGradient) editor_.CloseIfOpen(At(micro_batch, id));
  }
}

void StageReplay::ReduceGradients() {
  if (hooks_) hooks_->FinalizeBackward();
}

void StageReplay::MergeOutputs() {
  if (!stage_.is_last || !pipeline_.return_outputs) return;
  Buffer merged;
  merged.name = "outputs of all micro-batches";
  merged.category = Category::kTransientActivations;
  merged.kept_by = "returned by the schedule's step";
  for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
    if (life(id) == Life::kResult) merged.bytes += program_.buffers[id].bytes * MicroBatchesOf(pipeline_);
  }
  editor_.Event("cat", "");
  editor_.Open(std::move(merged));
}

void StageReplay::Finish() {
  for (MicroBatch& micro_batch : micro_batches_) {
    for (size_t i = 0; i < lives_.size(); ++i) {
      const bool kept = stage_.is_last && (lives_[i] == Life::kReceivedInput || lives_[i] == Life::kLoss);
      if (!kept && lives_[i] != Life::kResult) editor_.CloseIfOpen(micro_batch.at[i]);
    }
  }
}

}  // namespace onnx_mem
