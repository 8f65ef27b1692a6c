#include "analyzer/eager/engine/accumulate.h"

#include <utility>

namespace onnx_mem {
namespace {

// The four kinds of buffer that one micro-step hands to the next.
bool LivesOn(Category category) {
  return category == Category::kParameters || category == Category::kBuffers || category == Category::kInputs ||
         category == Category::kGradients;
}

}  // namespace

MemoryProgram WithLaterMicroStep(MemoryProgram first, const MemoryProgram& later) {
  const StepId boundary = first.steps.next_id();
  for (const Step& step : later.steps) first.steps.Add(step);
  for (Buffer& buffer : first.buffers) {
    if (buffer.end == boundary && LivesOn(buffer.category)) buffer.end = first.steps.next_id();
  }
  for (Buffer buffer : later.buffers) {
    if (LivesOn(buffer.category)) continue;
    buffer.begin = StepId(buffer.begin.value() + boundary.value());
    buffer.end = StepId(buffer.end.value() + boundary.value());
    first.buffers.Add(std::move(buffer));
  }
  return first;
}

}  // namespace onnx_mem
