// A step on two timelines that run beside each other: the CPU dispatches operators, the card runs their kernels.
//
// A loop that reads nothing back before the step ends (`loss.item()` does) lets the CPU run ahead, so a step takes as
// long as the longer of the two. A call of checkpoint and the Python modes of a segment that keeps calls are work of
// the CPU: where the card is the longer one they cost nothing, where the CPU is they cost all that they take.
#ifndef ONNX_MEM_ANALYZER_DEVICES_TWO_TIMELINES_H_
#define ONNX_MEM_ANALYZER_DEVICES_TWO_TIMELINES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/devices/roofline.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// What the shortest kernel takes on the card, one behind the other: about 3 us (njuffa on NVIDIA's developer forum,
// "Too much time for kernel launch latency", of kernels that do nothing).
inline constexpr int64_t kShortestKernelNs = 3'000;
// What each call of a segment that keeps calls takes on the CPU beside its own work, in the first run and in the
// second, where those that are kept or skipped take it too. Measured: a segment of 200 calls on one element under
// onnx_mem.checkpoint against torch.utils.checkpoint, torch 2.15 on an AMD EPYC, processor time, least of 60 steps: 19
// to 23 us, and 10 to 14 us (studies/2026-11-29-cpu-costs).
inline constexpr int64_t kFirstModeCallNs = 21'000;
inline constexpr int64_t kSecondModeCallNs = 12'000;

struct TwoTimelines {
  int64_t cpu_ns = 0;
  int64_t gpu_ns = 0;
  int64_t wall_ns() const { return std::max(cpu_ns, gpu_ns); }
};

// On the CPU: RooflineCard::launch_ns for each step that computes or moves something, checkpoint_call_ns for each
// second run, and the modes. On the card: StepTimes with no launch and no call in it.
TwoTimelines OnTwoTimelines(const MemoryProgram& program, const RooflineCard& card,
                            const std::vector<MeasuredTime>& measured = {});

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_DEVICES_TWO_TIMELINES_H_
