// What the hooks of fully_shard do around the steps of a model. Every unit's parameters are gathered before it runs and
// given back behind it; gradients are reduced when the unit's backward is done. What is alive when follows
// _fsdp_state.py, _fsdp_param_group.py and _fsdp_collectives.py of torch 2.15.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_FSDP_HOOKS_H_
#define ONNX_MEM_ANALYZER_PARALLEL_FSDP_HOOKS_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/parallel/fsdp_units.h"
#include "analyzer/parallel/step_editor.h"
#include "analyzer/parallel/step_facts.h"

namespace onnx_mem {

// When gradients are reduced.
enum class GradientSync : uint8_t {
  kEach,    // behind each unit's backward
  kAddUp,   // set_requires_gradient_sync(False): they are added up, whole
  kLast,    // they were added up; this backward reduces them
  kByHand,  // of a stage: they are added up, and units stay gathered behind their backward, until FinalizeBackward
};

class FsdpHooks {
 public:
  // `units`: UnitsOf; the root first. What is referred to outlives this; steps are of the program of `facts`.
  FsdpHooks(const StepFacts& facts, const RankLayout& layout, std::vector<FsdpUnit> units, StepEditor& editor);

  void OpenShards(const MemoryProgram& program);
  void SetSync(GradientSync sync) { sync_ = sync; }
  // Around a step; behind what it makes.
  void Before(StepId id);
  void After(StepId id);
  // A gradient of a parameter, of the program, which is `moved` in the rank's step, stays until it is reduced. False:
  // it is no such gradient.
  bool Takes(const Buffer& buffer, BufferId id, BufferId moved);
  // A forward and its backward are over, and no other forward waits for its own.
  void EndMicroBatch();
  // FSDPModule.finalize_backward: every unit is given back and its gradients reduced, last ones first.
  void FinalizeBackward();

 private:
  // Where a unit stands while the step is written. A buffer that is invalid is not there.
  struct UnitState {
    BufferId all_gather;              // gathered, and not yet copied out
    std::vector<BufferId> unsharded;  // its parameters, whole
    std::vector<BufferId> smaller;    // what reshard_after_forward=K keeps of them between the passes
    int64_t smaller_bytes = 0;
    std::vector<BufferId> gradients;  // of whole parameters, until they are reduced
    std::vector<bool> accumulates;    // by parameter: an earlier micro-batch's gradient is among them
    std::vector<size_t> forwards;     // in order_: those whose backward has not begun
    BufferId gradient_shards;
    bool backward_done = false;  // in this micro-batch
  };
  struct Arriving {
    Arrived at;
    BufferId buffer;
    DType dtype = DType::kUnknown;
  };

  bool Reduces() const { return sync_ == GradientSync::kEach || sync_ == GradientSync::kLast; }
  bool AddsUp() const { return sync_ != GradientSync::kEach; }
  void Arrive(const Arriving& gradient);
  void PreForward(size_t u);
  void PostForward(size_t u);
  void PreBackward(size_t u);
  void PostBackward(size_t u);
  void FinalCallback();
  void Gather(size_t u);
  void CopyOut(size_t u, bool forward);
  void Reshard(size_t u);
  void ToSmallerMesh(size_t u);
  void Reduce(size_t u);
  bool ReshardsBehindForward(size_t u) const;
  int64_t GatherInputBytes(size_t u) const;
  BufferId Open(std::string_view name, Category category, int64_t bytes, std::string_view kept_by, size_t u);
  void CloseAll(std::vector<BufferId>& buffers);

  const StepFacts& facts_;
  const RankLayout& layout_;
  std::vector<FsdpUnit> units_;
  StepEditor& editor_;
  GradientSync sync_ = GradientSync::kEach;
  std::vector<UnitState> states_;
  std::vector<std::pair<size_t, size_t>> place_of_;  // of a parameter: its unit, and its place there
  std::vector<Arriving> arriving_;
  std::vector<size_t> order_;  // units whose forward is done
  BufferId last_all_gather_;   // which stays until the next unit's is copied out
  std::vector<BufferId> reduce_inputs_, reduce_outputs_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_FSDP_HOOKS_H_
