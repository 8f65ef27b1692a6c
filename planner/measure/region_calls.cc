#include "planner/measure/region_calls.h"

namespace onnx_mem {

void SetCosts(const MemoryProgram& program, const Clock& clock, RegionCalls& calls) {
  for (RegionCall& call : calls.calls) {
    for (int32_t i = call.first_step; i < call.end_step; ++i) {
      call.flops += program.steps[StepId(i)].flops;
      call.ns += StepTimeNs(program.steps[StepId(i)], clock.card);
    }
  }
}

}  // namespace onnx_mem
