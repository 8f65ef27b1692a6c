// Writes the MemoryProgram while the framework is re-enacted: steps as they are dispatched, buffers as they are
// allocated, and their ends when the last reference is gone.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_RECORDER_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_RECORDER_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/eager/engine/tensor.h"
#include "analyzer/eager/engine/workspace.h"
#include "analyzer/memory/program.h"

namespace onnx_mem::eager {

class Recorder {
 public:
  // Context of the steps that follow.
  void SetPhase(Phase phase) { context_.phase = phase; }
  void SetNode(SharedText node, SharedText module) {
    context_.node = std::move(node);
    context_.module = std::move(module);
  }
  void SetRecompute(bool recompute) { context_.recompute = recompute; }
  void SetAssumed(bool assumed) { assumed_ = assumed; }
  Phase phase() const { return context_.phase; }
  bool recompute() const { return context_.recompute; }

  // Muted: there are no steps, and what is allocated has no bytes.
  void SetMuted(bool muted) { muted_ = muted; }

  // Room for so many steps and buffers: address space alone, until they are there. A vector that grows lies in memory
  // twice.
  void Reserve(size_t steps, size_t buffers) {
    program_.steps.reserve(steps);
    program_.buffers.reserve(buffers);
  }
  // The framework dispatches `op`. Buffers allocated until the next step belong to it.
  void BeginStep(std::string_view op, int64_t flops = 0);
  // Traffic of the current step beside what it allocates, which counts as written once.
  void AddMovedBytes(int64_t bytes);
  // The current step is a convolution: torch.backends.cudnn.allow_tf32 is on by default, the switch for matrix
  // products is off.
  void AllowTf32();

  // What the library's kernels may ask of the allocator while the current step runs.
  void MayTake(const WorkspaceBound& bound);
  // What the framework's own kernel on a card makes for its run, a block each.
  void KernelTakes(std::vector<int64_t> bytes);

  // A step that moves bytes between device and host or waits for it: no operator, so it is there where they are muted.
  void BeginMove(std::string_view op);
  // The current step begins to move bytes between device and host.
  void AddLinkBytes(int64_t bytes) { program_.steps[current_step()].link_bytes += bytes; }
  // The current step waits until what `step` began to move is there.
  void WaitFor(StepId step) { program_.steps[current_step()].waits_for = step; }

  // A segment that keeps calls has made so many, in its first or its second run.
  void AddModeCalls(int32_t calls, bool again) {
    if (program_.steps.empty()) return;
    Step& step = program_.steps[current_step()];
    (again ? step.second_mode_calls : step.first_mode_calls) += calls;
  }

  // A dense buffer of the current step; its category follows from the phase.
  std::shared_ptr<Storage> Allocate(int64_t bytes, const Dims& dims, DType dtype) {
    const int64_t taken = muted_ ? 0 : bytes;
    return std::make_shared<Storage>(this, Begin(taken, dims, dtype), taken);
  }
  BufferId Begin(int64_t bytes, const Dims& dims, DType dtype);
  // A buffer that is there before the first step and stays to the last (parameters, buffers, inputs).
  std::shared_ptr<Storage> AllocateStatic(Category category, SharedText name, int64_t bytes, const Dims& dims,
                                          DType dtype);

  void Free(BufferId id);
  void SetCategory(BufferId id, Category category) { program_.buffers[id].category = category; }
  Category category(BufferId id) const { return program_.buffers[id].category; }
  bool IsNamed(BufferId id) const { return !program_.buffers[id].name.empty(); }
  void SetName(BufferId id, SharedText name) { program_.buffers[id].name = std::move(name); }
  // An autograd node saved it: a forward buffer becomes a saved activation. `by` says who and what for. The first
  // that saves is the last that frees it, since backward runs the other way.
  void MarkSaved(BufferId id, std::string_view by);
  bool IsSaved(BufferId id) const;
  // Something else than an operator keeps it: `why`, unless an autograd node does as well.
  void MarkHeld(BufferId id, std::string_view why);
  bool IsHeld(BufferId id) const { return !program_.buffers[id].kept_by.empty(); }

  StepId current_step() const { return StepId(static_cast<int32_t>(program_.steps.size()) - 1); }
  const MemoryProgram& program() const { return program_; }
  int64_t live_bytes() const { return live_bytes_; }

  // What segments moved to host memory and hold there.
  void AddHostBytes(int64_t bytes) {
    host_bytes_ += bytes;
    host_peak_bytes_ = std::max(host_peak_bytes_, host_bytes_);
  }
  int64_t host_peak_bytes() const { return host_peak_bytes_; }

  // Ends all buffers that still live with the last step, and hands the program out. Storages may die afterwards.
  MemoryProgram Finish();

 private:
  SharedText Shared(std::string_view text);

  MemoryProgram program_;
  Step context_;
  absl::flat_hash_map<std::string, SharedText> texts_;  // that come again and again: operators, reasons
  int64_t live_bytes_ = 0;
  int64_t host_bytes_ = 0;
  int64_t host_peak_bytes_ = 0;
  bool muted_ = false;
  bool assumed_ = false;
  bool finished_ = false;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_RECORDER_H_
