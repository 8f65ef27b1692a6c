// fully_shard: the step of one rank, whose walk over the enacted step is here; what happens around steps is the hooks'.
#include <algorithm>
#include <memory>
#include <utility>

#include "analyzer/graph/shape.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/made_by_a_step.h"
#include "analyzer/parallel/fsdp_hooks.h"
#include "analyzer/parallel/strategies.h"
#include "analyzer/parallel/unit_borders.h"

namespace onnx_mem {
namespace {

constexpr int64_t kUnlike = 3;  // of more micro-batches those between the first and the last are alike

class FsdpWriter {
 public:
  // `units`: UnitsOf; the root first. `input` outlives this.
  FsdpWriter(const SpreadInput& input, std::vector<FsdpUnit> units)
      : program_(input.enacted.program),
        facts_(input.facts),
        layout_(input.layout),
        micro_batches_(std::min(input.run.accumulate, kUnlike)),
        hooks_(facts_, layout_, std::move(units), editor_),
        born_(program_.steps.size()),
        dying_(program_.steps.size() + 1),
        moved_(program_.buffers.size()),
        copies_(program_.steps.size()) {
    for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
      const Buffer& buffer = program_.buffers[id];
      if (buffer.category == Category::kParameters) continue;  // their shards are there instead
      born_[buffer.begin.index()].push_back(id);
      dying_[buffer.end.index()].push_back(id);
    }
  }

  MemoryProgram Write() {
    hooks_.OpenShards(program_);
    OpenStatics();
    for (int64_t m = 0; m < micro_batches_; ++m) {
      const bool last = m + 1 == micro_batches_;
      const bool each = layout_.sync_every || micro_batches_ == 1;
      hooks_.SetSync(each ? GradientSync::kEach : last ? GradientSync::kLast : GradientSync::kAddUp);
      for (StepId id(0); program_.steps.contains(id); id = StepId(id.value() + 1)) WriteStep(id);
      if (!last) CloseMicroBatch();
    }
    return editor_.Finish();
  }

 private:
  void OpenStatics() {
    if (born_.empty()) return;
    for (const BufferId id : born_.front()) {
      if (MadeByAStep(program_.buffers[id])) continue;
      moved_[id.index()] = editor_.OpenStatic(InOwnType(program_.buffers[id], layout_, input_casts_));
    }
  }

  void WriteStep(StepId id) {
    const auto at = id.index();
    for (const BufferId buffer : dying_[at]) editor_.CloseIfOpen(moved_[buffer.index()]);
    editor_.SetPhase(program_.steps[id].phase);
    if (id == StepId(0)) converted_ = OpenCasts(input_casts_, editor_);
    if (id == facts_.end_of_backward) {
      for (BufferId& copy : converted_) editor_.CloseIfOpen(copy);
    }
    hooks_.Before(id);
    editor_.Copy(program_, id, copies_);
    for (const BufferId buffer : born_[at]) {
      if (!moved_[buffer.index()].valid()) Born(buffer);
    }
    hooks_.After(id);
  }

  void Born(BufferId id) {
    const Buffer& buffer = program_.buffers[id];
    const BufferId moved = editor_.Open(buffer);
    if (!hooks_.Takes(buffer, id, moved)) moved_[id.index()] = moved;
  }

  // What the next micro-batch replaces: outputs and the loss.
  void CloseMicroBatch() {
    for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
      if (MadeByAStep(program_.buffers[id])) editor_.CloseIfOpen(moved_[id.index()]);
    }
    hooks_.EndMicroBatch();
  }

  const MemoryProgram& program_;
  const StepFacts& facts_;
  const RankLayout& layout_;
  int64_t micro_batches_;
  StepEditor editor_;
  FsdpHooks hooks_;
  std::vector<std::vector<BufferId>> born_, dying_;  // by step of program_
  std::vector<BufferId> moved_;                      // by buffer of program_: where it is now
  std::vector<StepId> copies_;                       // by step of program_, of the micro-batch that runs
  std::vector<Buffer> input_casts_;
  std::vector<BufferId> converted_;
};

}  // namespace

Buffer InOwnType(Buffer buffer, const RankLayout& layout, std::vector<Buffer>& casts) {
  const DType own = OwnType(buffer.dtype, layout);
  if (own == buffer.dtype) return buffer;
  if (buffer.category == Category::kInputs) {
    casts.push_back(buffer);
    casts.back().category = Category::kSavedActivations;
    casts.back().kept_by = "saved for the backward pass";  // as long as autograd may need them
  }
  buffer.bytes = buffer.bytes / RowOf(buffer.dtype).bits * RowOf(own).bits;
  buffer.dtype = own;
  return buffer;
}

std::vector<BufferId> OpenCasts(const std::vector<Buffer>& casts, StepEditor& editor) {
  std::vector<BufferId> opened;
  if (!casts.empty()) editor.Event("_to_copy", "");
  for (const Buffer& copy : casts) opened.push_back(editor.Open(copy));
  return opened;
}

std::vector<TrainedParameter> TrainedShards(const StepFacts& facts, const std::vector<FsdpUnit>& units,
                                            const RankLayout& layout) {
  std::vector<TrainedParameter> trained;
  for (const FsdpUnit& unit : units) {
    for (const ShardedParameter& p : unit.parameters) {
      if (!p.trained || layout.host) continue;
      const Shape local(p.local_dims);
      trained.push_back({facts.parameters[p.index].name, NumBytes(local, p.dtype).value_or(0),
                         NumElements(local).value_or(0), p.local_dims, p.dtype});
    }
  }
  return trained;
}

absl::StatusOr<LocalStep> SpreadFsdp(const SpreadInput& input) {
  const RankLayout& layout = input.layout;
  ASSIGN_OR_RETURN(const std::vector<FsdpUnit> units, UnitsOf(input.facts, layout));
  RETURN_IF_ERROR(CheckSegments(input.run.segments, NamesOf(units)));
  LocalStep step;
  step.rank = layout.rank.value_or(0);  // the first one has most rows
  step.trained = TrainedShards(input.facts, units, layout);
  step.program = std::make_shared<const MemoryProgram>(FsdpWriter(input, units).Write());
  return step;
}

}  // namespace onnx_mem
