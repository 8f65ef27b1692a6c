#include "analyzer/eager/engine/micro_batches.h"

#include <algorithm>
#include <utility>

namespace onnx_mem {
namespace {

// The four kinds of buffer that one micro-batch hands to the next.
bool LivesOn(Category category) {
  return category == Category::kParameters || category == Category::kBuffers || category == Category::kInputs ||
         category == Category::kGradients;
}

// Of one micro-batch: its steps alone, and where they stand in the whole.
class MicroBatchSteps {
 public:
  explicit MicroBatchSteps(const MemoryProgram& program) : program_(&program) {
    const auto backward = std::find_if(program.steps.begin(), program.steps.end(),
                                       [](const Step& step) { return step.phase == Phase::kBackward; });
    split_ = static_cast<int32_t>(backward - program.steps.begin());
  }

  const MemoryProgram& program() const { return *program_; }

  void AddPart(StepPart::Kind kind, MemoryProgram& whole) {
    const bool forward = kind == StepPart::Kind::kForward;
    const int32_t from = forward ? 0 : split_;
    const int32_t to = forward ? split_ : program_->steps.next_id().value();
    (forward ? forward_ : backward_) = whole.steps.next_id().value() - from;
    for (StepId id(from); id.value() < to; id = StepId(id.value() + 1)) {
      Step step = program_->steps[id];
      if (step.waits_for.valid()) step.waits_for = At(step.waits_for);
      whole.steps.Add(std::move(step));
    }
  }

  StepId At(StepId id) const { return StepId(id.value() + (id.value() < split_ ? forward_ : backward_)); }
  // What ends before step `end` ends behind the step that comes before it here.
  StepId EndAt(StepId end) const { return StepId(At(StepId(end.value() - 1)).value() + 1); }

 private:
  const MemoryProgram* program_;
  int32_t split_ = 0;    // its first step of backward
  int32_t forward_ = 0;  // from its own steps to those of the whole
  int32_t backward_ = 0;
};

}  // namespace

std::vector<StepPart> OneAfterAnother(int32_t micro_batches) {
  std::vector<StepPart> order;
  for (int32_t i = 0; i < micro_batches; ++i) {
    order.push_back({StepPart::Kind::kForward, i});
    order.push_back({StepPart::Kind::kBackward, i});
  }
  return order;
}

MemoryProgram RunInOrder(const MemoryProgram& first, const MemoryProgram& later, std::span<const StepPart> order) {
  std::vector<MicroBatchSteps> places;
  for (size_t i = 0; i < order.size() / 2; ++i) places.emplace_back(i == 0 ? first : later);
  MemoryProgram whole;
  for (const StepPart& part : order) places[static_cast<size_t>(part.micro_batch)].AddPart(part.kind, whole);
  for (const MicroBatchSteps& place : places) {
    const bool is_first = &place == &places.front();
    for (Buffer buffer : place.program().buffers) {
      const bool lives_on = LivesOn(buffer.category);
      if (lives_on && !is_first) continue;
      const bool at_end = buffer.end == place.program().steps.next_id();
      buffer.begin = place.At(buffer.begin);
      buffer.end = lives_on && at_end ? whole.steps.next_id() : place.EndAt(buffer.end);
      whole.buffers.Add(std::move(buffer));
    }
  }
  return whole;
}

}  // namespace onnx_mem
