// The micro-batches of one stage of a pipeline, written into the step of its rank as a schedule runs them:
// torch/distributed/pipelining/stage.py.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_STAGE_REPLAY_H_
#define ONNX_MEM_ANALYZER_PARALLEL_STAGE_REPLAY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/analysis/enact.h"
#include "analyzer/parallel/fsdp_hooks.h"
#include "analyzer/parallel/schedules.h"
#include "analyzer/parallel/step_editor.h"
#include "analyzer/parallel/step_facts.h"

namespace onnx_mem {

// A stage, enacted for one micro-batch.
struct StageProgram {
  Enacted enacted;
  StepFacts facts;      // of it
  size_t received = 0;  // of its inputs
  bool is_last = false;
  std::vector<std::string> units = {};  // fully_shard's modules in the whole model
};

class StageReplay {
 public:
  // `stage` and `editor`, of the rank's step, outlive it. `hooks`: of a stage under fully_shard; may be nullptr.
  StageReplay(const StageProgram& stage, const RankLayout& layout, StepEditor& editor,
              std::unique_ptr<FsdpHooks> hooks);

  // What is there throughout: of inputs and targets that of all micro-batches.
  void OpenStatics();
  void Do(const StageAction& action);
  // Of a stage under fully_shard (_PipelineStageBase.perform_reduce_grad).
  void ReduceGradients();
  // Joins the outputs of all micro-batches, where the step returns them.
  void MergeOutputs();
  // What the schedule holds no longer when it is done.
  void Finish();

 private:
  // Who decides when a buffer of a micro-batch is gone.
  enum class Life : uint8_t {
    kProgram,            // its own end
    kStatic,             // nobody
    kReceivedInput,      // the backward; of the last stage nobody: its losses lead to it
    kSentOutput,         // the send
    kReceivedGradient,   // its own end; it is there before the backward
    kInputGradient,      // the send
    kParameterGradient,  // nobody; of a later micro-batch its arrival, where it is added to the first one's
    kResult,             // who returns the outputs, else the backward
    kLoss,               // nobody: the caller keeps the list of losses
  };
  struct MicroBatch {
    std::vector<BufferId> at;  // by buffer of the program: where it is; invalid: it is not
    std::vector<BufferId> input_casts;
    std::vector<StepId> copies;  // by step of the program: in the rank's step
  };

  enum class Made : uint8_t { kAll, kWeights, kButWeights };  // kWeights: gradients of parameters

  void Classify();
  Life LifeOf(BufferId id) const;
  void FindWeightSteps();
  void Forward(int64_t m);
  void Backward(int64_t m);
  void BackwardInput(int64_t m);
  void BackwardWeight(int64_t m);
  void ReceiveInput(int64_t m);
  void ReceiveGradient(int64_t m);
  void RunSteps(int32_t from, int32_t to, MicroBatch& micro_batch, bool is_first);
  void CopyStep(int32_t at, MicroBatch& micro_batch);
  bool Opens(BufferId id) const;
  void OpenMade(int32_t at, MicroBatch& micro_batch, Made made, bool is_first);
  void CloseDying(int32_t at, MicroBatch& micro_batch);
  void EndBackward(int64_t m);
  void Arrive(int32_t at, MicroBatch& micro_batch, bool is_first);
  bool IsDdp() const { return layout_.data == DataParallel::kDdp || layout_.data == DataParallel::kZero1; }
  void CloseAll(Life life, MicroBatch& micro_batch);
  Life life(BufferId id) const { return lives_[id.index()]; }
  BufferId& At(MicroBatch& micro_batch, BufferId id) { return micro_batch.at[id.index()]; }

  const StageProgram& stage_;
  const MemoryProgram& program_;
  const RankLayout& layout_;
  const PipelineLayout& pipeline_;
  StepEditor& editor_;
  std::unique_ptr<FsdpHooks> hooks_;
  int32_t split_ = 0;  // the first step of backward
  int32_t end_ = 0;
  int32_t first_weight_ = 0;                         // the first step of backward that makes a parameter's gradient
  std::vector<Life> lives_;                          // by buffer
  std::vector<std::vector<BufferId>> born_, dying_;  // by step
  std::vector<std::vector<BufferId>> arriving_;      // by step: gradients of parameters that arrive behind it
  std::vector<bool> makes_weight_;                   // by step: a parameter's gradient
  std::vector<bool> kept_for_weights_;               // by buffer: the weight part of a split backward reads it
  std::vector<MicroBatch> micro_batches_;
  bool any_gradient_ = false;  // an earlier micro-batch has left some
  int64_t backwards_left_;
  std::vector<BufferId> gradients_;  // by buffer of the program: the first micro-batch's, which stays
  std::vector<Buffer> input_casts_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_STAGE_REPLAY_H_
