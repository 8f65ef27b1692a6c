#include "analyzer/parallel/fsdp_writer.h"

#include <algorithm>
#include <memory>

#include "analyzer/graph/shape.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/made_by_a_step.h"
#include "analyzer/parallel/unit_borders.h"

namespace onnx_mem {
namespace {

constexpr int64_t kUnlike = 3;  // of more micro-batches those between the first and the last are alike

}  // namespace

FsdpWriter::FsdpWriter(const SpreadInput& input, std::vector<FsdpUnit> units)
    : program_(input.enacted.program),
      facts_(input.facts),
      layout_(input.layout),
      micro_batches_(std::min(input.run.accumulate, kUnlike)),
      units_(std::move(units)),
      states_(units_.size()),
      place_of_(facts_.parameters.size()),
      born_(program_.steps.size()),
      dying_(program_.steps.size() + 1),
      moved_(program_.buffers.size()) {
  for (size_t u = 0; u < units_.size(); ++u) {
    states_[u].accumulates.resize(units_[u].parameters.size());
    for (size_t k = 0; k < units_[u].parameters.size(); ++k) place_of_[units_[u].parameters[k].index] = {u, k};
  }
  for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.category == Category::kParameters) continue;  // their shards are there instead
    born_[static_cast<size_t>(buffer.begin.value())].push_back(id);
    dying_[static_cast<size_t>(buffer.end.value())].push_back(id);
  }
}

MemoryProgram FsdpWriter::Write() {
  OpenShards();
  OpenStatics();
  for (; micro_batch_ < micro_batches_; ++micro_batch_) {
    for (StepId id(0); program_.steps.contains(id); id = StepId(id.value() + 1)) WriteStep(id);
    if (!IsLast()) CloseMicroBatch();
  }
  return editor_.Finish();
}

void FsdpWriter::OpenShards() {
  if (layout_.host) return;
  for (const FsdpUnit& unit : units_) {
    for (const ShardedParameter& p : unit.parameters) {
      Buffer shard = program_.buffers[facts_.parameters[p.index].buffer];
      shard.bytes = p.shard_bytes;
      shard.dtype = p.dtype;
      shard.kept_by = "the rank's shard of the parameter";
      editor_.OpenStatic(std::move(shard));
    }
  }
}

// Floating buffers and inputs keep their type under MixedPrecisionPolicy. Of inputs a copy is converted.
void FsdpWriter::OpenStatics() {
  if (born_.empty()) return;
  for (const BufferId id : born_.front()) {
    Buffer buffer = program_.buffers[id];
    if (MadeByAStep(buffer)) continue;
    const DType own = OwnType(buffer.dtype, layout_);
    if (own != buffer.dtype) {
      if (buffer.category == Category::kInputs) converted_inputs_.emplace_back(id, buffer.bytes);
      buffer.bytes = buffer.bytes / RowOf(buffer.dtype).bits * RowOf(own).bits;
      buffer.dtype = own;
    }
    moved_[static_cast<size_t>(id.value())] = editor_.OpenStatic(std::move(buffer));
  }
}

// Autograd keeps the copies as long as it may need them.
void FsdpWriter::ConvertInputs() {
  if (converted_inputs_.empty()) return;
  editor_.Event("_to_copy", "");
  for (const auto& [id, bytes] : converted_inputs_) {
    Buffer copy = program_.buffers[id];
    copy.category = Category::kSavedActivations;
    copy.bytes = bytes;
    copy.kept_by = "saved for the backward pass";
    converted_.push_back(editor_.Open(std::move(copy)));
  }
}

void FsdpWriter::WriteStep(StepId id) {
  const auto at = static_cast<size_t>(id.value());
  for (const BufferId buffer : dying_[at]) Close(moved_[static_cast<size_t>(buffer.value())]);
  editor_.SetPhase(program_.steps[id].phase);
  Before(id);
  editor_.Copy(program_.steps[id]);
  for (const BufferId buffer : born_[at]) {
    if (!moved_[static_cast<size_t>(buffer.value())].valid()) Born(buffer);
  }
  After(id);
}

void FsdpWriter::Born(BufferId id) {
  const Buffer& buffer = program_.buffers[id];
  const BufferId moved = editor_.Open(buffer);
  const auto arrived = facts_.arrivals.find(id);
  if (buffer.category != Category::kGradients || arrived == facts_.arrivals.end()) {
    moved_[static_cast<size_t>(id.value())] = moved;
  } else {  // until it is reduced
    arriving_.push_back({arrived->second, moved, buffer.dtype});
  }
}

void FsdpWriter::Close(BufferId& id) {
  if (id.valid()) editor_.Close(id);
  id = BufferId();
}

// What the next micro-batch replaces: outputs and the loss.
void FsdpWriter::CloseMicroBatch() {
  for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
    if (MadeByAStep(program_.buffers[id])) Close(moved_[static_cast<size_t>(id.value())]);
  }
  order_.clear();
  for (UnitState& state : states_) state.backward_done = false;
}

absl::StatusOr<LocalStep> SpreadFsdp(const SpreadInput& input) {
  const RankLayout& layout = input.layout;
  const int64_t rank = layout.rank.value_or(0) % layout.ranks;  // the first one has most rows
  ASSIGN_OR_RETURN(const std::vector<FsdpUnit> units, UnitsOf(input.facts, layout, rank));
  RETURN_IF_ERROR(CheckSegments(input.run.segments, NamesOf(units)));
  LocalStep step;
  step.rank = layout.rank.value_or(0);
  for (const FsdpUnit& unit : units) {
    for (const ShardedParameter& p : unit.parameters) {
      if (!p.trained || layout.host) continue;
      const OwnedParameter& whole = input.facts.parameters[p.index];
      const Shape local(p.local_dims);
      step.trained.push_back(
          {whole.name, NumBytes(local, p.dtype).value_or(0), NumElements(local).value_or(0), p.local_dims, p.dtype});
    }
  }
  step.program = std::make_shared<const MemoryProgram>(FsdpWriter(input, units).Write());
  return step;
}

}  // namespace onnx_mem
