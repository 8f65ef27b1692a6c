#include "analyzer/allocators/replay_script.h"

namespace onnx_mem {
namespace {

bool MayBeFixed(Category category) {
  switch (category) {
    case Category::kParameters:
    case Category::kBuffers:
    case Category::kInputs:
    case Category::kOptimizerState: return true;
    default: return false;
  }
}

}  // namespace

ReplayScript::ReplayScript(const MemoryProgram& program) : num_steps_(program.steps.size()) {
  lives_.reserve(program.buffers.size());
  for (const Buffer& buffer : program.buffers) {
    ReplayedLife life;
    life.bytes = HasBlock(buffer) ? buffer.bytes : 0;
    life.begin = buffer.begin;
    life.end = buffer.end;
    life.category = buffer.category;
    const bool to_the_end = buffer.end == program.steps.next_id();
    life.fixed = buffer.begin.value() == 0 && to_the_end && MayBeFixed(buffer.category);
    life.survives = life.fixed || (to_the_end && buffer.category == Category::kOptimizerState);
    if (life.survives) {
      life.name = static_cast<int32_t>(names_.size());
      names_.push_back(buffer.name);
    }
    lives_.Add(life);
  }
}

void ReplayScript::Add(int64_t bytes, StepId begin, StepId end) {
  ReplayedLife life;
  life.bytes = bytes;
  life.begin = begin;
  life.end = end;
  life.category = Category::kWorkspace;
  lives_.Add(life);
}

void ReplayScript::AddKept(int64_t bytes, StepId begin, std::string_view name) {
  ReplayedLife life;
  life.bytes = bytes;
  life.begin = begin;
  life.end = StepId(static_cast<int32_t>(num_steps_));
  life.category = Category::kWorkspace;
  life.fixed = begin.value() == 0;
  life.survives = true;
  life.name = static_cast<int32_t>(names_.size());
  names_.emplace_back(name);
  lives_.Add(life);
}

}  // namespace onnx_mem
