#include "planner/model/minimum.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace onnx_mem {
namespace {

bool PlansMoveIt(const Buffer& buffer) {
  return buffer.category == Category::kSavedActivations || buffer.category == Category::kTransientActivations;
}

}  // namespace

Minimum ProvenMinimum(const MemoryProgram& steady) {
  std::vector<int64_t> change(steady.steps.size() + 1, 0);
  for (const Buffer& buffer : steady.buffers) {
    const auto begin = static_cast<size_t>(buffer.begin.value());
    change[begin] += buffer.bytes;
    change[PlansMoveIt(buffer) ? begin + 1 : static_cast<size_t>(buffer.end.value())] -= buffer.bytes;
  }
  Minimum minimum;
  int64_t bytes = 0;
  for (StepId id(0); steady.steps.contains(id); id = StepId(id.value() + 1)) {
    bytes += change[static_cast<size_t>(id.value())];
    if (bytes <= minimum.bytes) continue;
    const Step& step = steady.steps[id];
    const std::string& place = step.module.empty() ? step.node : step.module;
    minimum.bytes = bytes;
    minimum.why = absl::StrCat(step.op, place.empty() ? "" : absl::StrCat(" of ", place), " (",
                               std::string(NameOf(step.phase)), ")");
  }
  return minimum;
}

}  // namespace onnx_mem
