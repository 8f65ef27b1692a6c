// Writes the step of one rank under fully_shard. Every unit's parameters are gathered before it runs and given back
// behind it; gradients are reduced when the unit's backward is done. What is alive when follows _fsdp_state.py,
// _fsdp_param_group.py and _fsdp_collectives.py of torch 2.15.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_FSDP_WRITER_H_
#define ONNX_MEM_ANALYZER_PARALLEL_FSDP_WRITER_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/parallel/fsdp_units.h"
#include "analyzer/parallel/step_editor.h"
#include "analyzer/parallel/step_facts.h"
#include "analyzer/parallel/strategies.h"

namespace onnx_mem {

class FsdpWriter {
 public:
  // `units`: UnitsOf; the root first. `input` outlives this.
  FsdpWriter(const SpreadInput& input, std::vector<FsdpUnit> units);

  MemoryProgram Write();

 private:
  // Where a unit stands while the step is written. A buffer that is invalid is not there.
  struct UnitState {
    BufferId all_gather;              // gathered, and not yet copied out
    std::vector<BufferId> unsharded;  // its parameters, whole
    std::vector<BufferId> smaller;    // what reshard_after_forward=K keeps of them between the passes
    int64_t smaller_bytes = 0;
    std::vector<BufferId> gradients;  // of whole parameters, until they are reduced
    std::vector<bool> accumulates;    // by parameter: an earlier micro-batch's gradient is among them
    BufferId gradient_shards;
    bool backward_done = false;  // in this micro-batch
  };
  struct Arriving {
    Arrived at;
    BufferId buffer;
    DType dtype = DType::kUnknown;
  };

  // The walk, and the model's own buffers (fsdp_writer.cc).
  void OpenShards();
  void OpenStatics();
  void ConvertInputs();
  void WriteStep(StepId id);
  void Born(BufferId id);
  void Close(BufferId& id);
  void CloseMicroBatch();
  bool IsLast() const { return micro_batch_ + 1 == micro_batches_; }
  // Gradients of this micro-batch are reduced; else they stay whole until the last one's are.
  bool Reduces() const { return layout_.sync_every || IsLast(); }
  bool AddsUp() const { return micro_batches_ > 1 && !layout_.sync_every; }

  // What FSDP's hooks do (fsdp_hooks.cc). `u`: of units_.
  void Before(StepId id);
  void After(StepId id);
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

  const MemoryProgram& program_;
  const StepFacts& facts_;
  const RankLayout& layout_;
  int64_t micro_batches_;
  int64_t micro_batch_ = 0;
  std::vector<FsdpUnit> units_;
  std::vector<UnitState> states_;
  std::vector<std::pair<size_t, size_t>> place_of_;  // of a parameter: its unit, and its place there
  StepEditor editor_;
  std::vector<std::vector<BufferId>> born_, dying_;             // by step of program_
  std::vector<BufferId> moved_;                                 // by buffer of program_: where it is now
  std::vector<std::pair<BufferId, int64_t>> converted_inputs_;  // of program_, with bytes of the copy
  std::vector<BufferId> converted_;
  std::vector<Arriving> arriving_;
  std::vector<size_t> order_;  // units whose forward is done
  BufferId last_all_gather_;   // which stays until the next unit's is copied out
  std::vector<BufferId> reduce_inputs_, reduce_outputs_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_FSDP_WRITER_H_
