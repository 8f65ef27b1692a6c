// Writes a program that is another one with steps and buffers between its own, and without some of its buffers.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_STEP_EDITOR_H_
#define ONNX_MEM_ANALYZER_PARALLEL_STEP_EDITOR_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/memory/program.h"

namespace onnx_mem {

class StepEditor {
 public:
  // What is there before the first step.
  BufferId OpenStatic(Buffer buffer) {
    buffer.begin = StepId(0);
    return Add(std::move(buffer));
  }
  // Of the step that was added last.
  BufferId Open(Buffer buffer) {
    buffer.begin = StepId(program_.steps.next_id().value() - 1);
    return Add(std::move(buffer));
  }
  // Gone before it.
  void Close(BufferId id) { program_.buffers[id].end = program_.steps.next_id(); }
  // The same where it is there, and `id` is none from then on.
  void CloseIfOpen(BufferId& id) {
    if (id.valid()) Close(id);
    id = BufferId();
  }

  // Of step `id` of `program`; it waits for the copy of what that waits for. `copies`: where each of its steps is.
  void Copy(const MemoryProgram& program, StepId id, std::vector<StepId>& copies) {
    Step step = program.steps[id];
    if (step.waits_for.valid()) step.waits_for = copies[step.waits_for.index()];
    copies[id.index()] = program_.steps.Add(std::move(step));
  }
  // What a strategy does between the model's own steps, in the phase of the step before.
  StepId Event(std::string_view op, std::string_view module) {
    Step step;
    step.op = op;
    step.module = module;
    step.phase = phase_;
    return program_.steps.Add(std::move(step));
  }
  void SetPhase(Phase phase) { phase_ = phase; }

  // What is open lives to the last step.
  MemoryProgram Finish() {
    for (Buffer& buffer : program_.buffers) {
      if (!buffer.end.valid()) buffer.end = program_.steps.next_id();
    }
    return std::move(program_);
  }

 private:
  BufferId Add(Buffer buffer) {
    buffer.end = StepId();
    return program_.buffers.Add(std::move(buffer));
  }

  MemoryProgram program_;
  Phase phase_ = Phase::kForward;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_STEP_EDITOR_H_
