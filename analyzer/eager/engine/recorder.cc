#include "analyzer/eager/engine/recorder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem::eager {
namespace {

Category CategoryOf(Phase phase) {
  return phase == Phase::kBackward ? Category::kActivationGradients : Category::kTransientActivations;
}

// Sizes add up beyond all numbers in a run that is refused when it ends (memory/verify_program.h), not before.
int64_t SaturatedSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

constexpr std::string_view kSaved = "saved by ";

}  // namespace

SharedText Recorder::Shared(std::string_view text) {
  const absl::string_view key(text.data(), text.size());
  const auto known = texts_.find(key);
  return known != texts_.end() ? known->second : texts_.emplace(key, text).first->second;
}

void Recorder::BeginStep(std::string_view op, int64_t flops) {
  if (muted_) return;
  Step step = context_;
  step.op = op;
  step.flops = flops;
  program_.steps.Add(std::move(step));
}

void Recorder::BeginMove(std::string_view op) {
  const bool muted = std::exchange(muted_, false);
  BeginStep(op);
  muted_ = muted;
}

void Recorder::AddMovedBytes(int64_t bytes) {
  if (muted_ || program_.steps.empty()) return;
  int64_t& moved_bytes = program_.steps[current_step()].moved_bytes;
  moved_bytes = SaturatedSum(moved_bytes, bytes);
}

void Recorder::AllowTf32() {
  if (!muted_ && !program_.steps.empty()) program_.steps[current_step()].tf32 = true;
}

void Recorder::MayTake(const WorkspaceBound& bound) {
  if (muted_ || program_.steps.empty()) return;
  program_.steps[current_step()].chosen_workspace_bytes = bound.chosen_bytes;
  program_.steps[current_step()].tried_workspace_bytes = bound.tried_bytes;
}

void Recorder::KernelTakes(std::vector<int64_t> bytes) {
  if (!muted_ && !program_.steps.empty()) program_.steps[current_step()].kernel_takes = std::move(bytes);
}

BufferId Recorder::Begin(int64_t bytes, const Dims& dims, DType dtype) {
  Buffer buffer;
  buffer.category = context_.recompute ? Category::kTransientActivations : CategoryOf(context_.phase);
  buffer.bytes = bytes;
  buffer.begin = current_step();
  buffer.dims = dims;
  buffer.dtype = dtype;
  buffer.module = context_.module;
  buffer.assumed = assumed_;
  AddMovedBytes(bytes);  // written once
  if (!muted_ && !program_.steps.empty() && IsFloating(dtype)) {
    Step& step = program_.steps[current_step()];
    if (step.dtype == DType::kUnknown) step.dtype = dtype;
  }
  live_bytes_ = SaturatedSum(live_bytes_, bytes);
  return program_.buffers.Add(std::move(buffer));
}

std::shared_ptr<Storage> Recorder::AllocateStatic(Category category, SharedText name, int64_t bytes, const Dims& dims,
                                                  DType dtype) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.category = category;
  buffer.bytes = bytes;
  buffer.begin = StepId(0);
  buffer.dims = dims;
  buffer.dtype = dtype;
  live_bytes_ = SaturatedSum(live_bytes_, bytes);
  const BufferId id = program_.buffers.Add(std::move(buffer));
  return std::make_shared<Storage>(this, id, bytes);
}

void Recorder::Free(BufferId id) {
  if (finished_) return;
  Buffer& buffer = program_.buffers[id];
  // What the step before left behind may die before the first operator runs: a buffer lives for one step at least.
  buffer.end = std::max(program_.steps.next_id(), StepId(buffer.begin.value() + 1));
  live_bytes_ -= buffer.bytes;
}

bool Recorder::IsSaved(BufferId id) const {
  const Buffer& buffer = program_.buffers[id];
  return buffer.category != Category::kTransientActivations && buffer.kept_by.starts_with(kSaved);
}

void Recorder::MarkSaved(BufferId id, std::string_view by) {
  Buffer& buffer = program_.buffers[id];
  if (buffer.category == Category::kTransientActivations) buffer.category = Category::kSavedActivations;
  if (!buffer.kept_by.starts_with(kSaved)) buffer.kept_by = absl::StrCat(onnx_mem::View(kSaved), onnx_mem::View(by));
}

void Recorder::MarkHeld(BufferId id, std::string_view why) {
  SharedText& kept_by = program_.buffers[id].kept_by;
  if (kept_by.empty()) kept_by = Shared(why);
}

MemoryProgram Recorder::Finish() {
  for (Buffer& buffer : program_.buffers) {
    if (!buffer.end.valid()) buffer.end = program_.steps.next_id();
  }
  finished_ = true;
  return std::move(program_);
}

}  // namespace onnx_mem::eager
