#include "analyzer/devices/two_timelines.h"

namespace onnx_mem {
namespace {

bool IsDispatched(const Step& step) {
  return step.flops > 0 || step.moved_bytes > 0 || step.link_bytes > 0 || step.waits_for.valid();
}

int64_t CpuNs(const MemoryProgram& program, const RooflineCard& card) {
  int64_t ns = 0;
  bool before = false;
  for (const Step& step : program.steps) {
    if (IsDispatched(step)) ns += card.launch_ns;
    if (step.recompute && !before) ns += card.checkpoint_call_ns;
    before = step.recompute;
    ns += step.first_mode_calls * kFirstModeCallNs + step.second_mode_calls * kSecondModeCallNs;
  }
  return ns;
}

}  // namespace

TwoTimelines OnTwoTimelines(const MemoryProgram& program, const RooflineCard& card,
                            const std::vector<MeasuredTime>& measured) {
  RooflineCard kernels = card;
  kernels.launch_ns = kShortestKernelNs;
  kernels.checkpoint_call_ns = 0;
  TwoTimelines both{.cpu_ns = CpuNs(program, card)};
  for (const StepTime& time : StepTimes(program, kernels, measured)) both.gpu_ns += time.nanoseconds;
  return both;
}

}  // namespace onnx_mem
