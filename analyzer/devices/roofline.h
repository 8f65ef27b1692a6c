// FLOPs and bytes of each step of a MemoryProgram -> how long a card takes for it, and what bounds it.
//
// The roofline model (Williams, Waterman, Patterson, CACM 52/4, 2009): a step takes as long as the slower of its
// arithmetic and its memory traffic, and never less than the framework needs to start it. The rates are the card's
// peaks times the shares of them that programs reach. An estimate, not a measurement: it knows nothing of kernels,
// clocks, caches and overlap. Measured times replace it (MeasuredTime).
//
//   3x3 convolution of 64x64x56x56 to as much, fp32 on an A100 (156 TFLOPS of TF32, 1555 GB/s):
//     arithmetic 14.8 GFLOP at 109 TFLOPS = 135 us; traffic 98 MiB at 1.24 TB/s = 83 us -> 135 us, bound by compute
#ifndef ONNX_MEM_ANALYZER_DEVICES_ROOFLINE_H_
#define ONNX_MEM_ANALYZER_DEVICES_ROOFLINE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// Shares of the peak rates that are reached. Matrix products reach 78 to 86 % on NVIDIA's cards (A100 86, H100 80,
// B200 78: the table of maximum achievable matmul FLOPS in stas00/ml-engineering); convolutions and small products
// less. Streams reach 80 to 93 % of the bandwidth. Before a kernel starts, eager PyTorch works 5 to 25 us per
// operator on the CPU. Held against NVIDIA's figures for ResNet-50 (DeepLearningExamples, resnet50v1.5/README.md), none
// of which was used to choose these: inference in fp32 on a T4, batch 64, 152 ms for 152.7; training on a V100 with
// AMP, batch 128, 92 ms for 107; on an A100 80 GB, batch 256, with AMP 78 ms for 104, with TF32 153 ms for 273.
inline constexpr double kReachedCompute = 0.7;
inline constexpr double kReachedBandwidth = 0.8;
inline constexpr int64_t kLaunchNs = 10'000;
// What a call of torch.utils.checkpoint takes on the CPU beside its second run: frame, hooks on tensors, contexts.
// Measured: 50 calls of a one-element nn.Linear in a step with and without, torch 2.15 on an AMD EPYC, processor time,
// least of 300 steps: 212 us, with the generator's state 223 to 246 us.
inline constexpr int64_t kCheckpointCallNs = 220'000;

// What a card's link to the host reaches: PCI Express at 16 lanes (PCI-SIG's rates: 15.75 GB/s of generation 3, 31.5 of
// 4, 63 of 5) for pinned memory. NVIDIA's bandwidthTest shows 12 to 13 GB/s on generation 3 and 24 to 26 on 4.
inline constexpr double kReachedLink = 0.8;

// The card that times are reported for where none is named.
inline constexpr char kDefaultCard[] = "A100 SXM4 40GB";

// Rates as reached, per second.
struct RooflineCard {
  std::string name;
  double bandwidth = 0;  // bytes
  double fp64_flops = 0;
  double fp32_flops = 0;
  double tf32_flops = 0;
  double fp16_flops = 0;
  double bf16_flops = 0;
  double link_bandwidth = 0;  // to and from host memory, bytes; 0: there is no link to speak of
  int64_t launch_ns = kLaunchNs;
  int64_t checkpoint_call_ns = kCheckpointCallNs;
  // What stands in for rates that the table lacks, reported for programs that use them.
  struct StandIn {
    DType dtype;
    bool tf32;
    std::string text;
  };
  std::vector<StandIn> stand_ins;
};

// Error (no-rates) where the table has neither bandwidth nor any rate of the card.
absl::StatusOr<RooflineCard> RooflineOf(const Gpu& gpu);
RooflineCard DefaultRoofline();

enum class Bound : uint8_t { kNothing, kCompute, kBandwidth, kLaunch };
std::string_view NameOf(Bound bound);  // "compute"

struct StepTime {
  int64_t nanoseconds = 0;
  Bound bound = Bound::kNothing;
  bool measured = false;
  int64_t call_ns = 0;  // of it, for the checkpoint call that the step begins
  bool link = false;    // for moves between device and host: starting one, or waiting for it
};

// A step that computes and moves nothing (a marker) takes no time.
StepTime TimeOf(const Step& step, const RooflineCard& card);
inline int64_t StepTimeNs(const Step& step, const RooflineCard& card) { return TimeOf(step, card).nanoseconds; }

// Measured time of a node, or of a module with all that is in it, in one phase of one run.
struct MeasuredTime {
  std::string place;
  bool is_module = false;
  Phase phase = Phase::kForward;
  int64_t nanoseconds = 0;
};

// What times are known by: a card, and what was measured on it.
struct Clock {
  RooflineCard card;
  bool named = false;   // by the user, rather than kDefaultCard
  std::string unknown;  // why there is no card to tell times by; "" where there is one
  std::vector<MeasuredTime> measured;
  int64_t micro_steps = 1;  // forward and backward runs per optimizer step
};

// Where gradients are accumulated a program has the first micro-step and one of the later ones, which are all alike.
// The steps of that one; where there is none, begin and end are one past the last step.
struct StepSpan {
  StepId begin;
  StepId end;
};
StepSpan LaterMicroSteps(const MemoryProgram& program);

// Moves between device and host run beside the rest, one after another; a step that waits for one takes what is left of
// it. One entry per step. A measured time is dealt out to its steps in proportion to their estimates; where a node and
// modules around it are all measured, the innermost counts. A recomputed step takes what it took the first time; the
// first one of each second run takes a checkpoint call as well.
// Measured times are those of one micro-step; an entry of LaterMicroSteps is of all `micro_steps` - 1 of them.
// `unmatched`, if given, gets the indices of measured times that no step answers to.
std::vector<StepTime> StepTimes(const MemoryProgram& program, const RooflineCard& card,
                                const std::vector<MeasuredTime>& measured = {},
                                std::vector<size_t>* unmatched = nullptr, int64_t micro_steps = 1);

struct TimeEstimate {
  std::string card;
  int64_t forward_ns = 0;
  int64_t loss_ns = 0;
  int64_t backward_ns = 0;  // without recompute
  int64_t recompute_ns = 0;
  int64_t offload_ns = 0;  // starting moves between device and host, and waiting for those that compute does not hide
  int64_t optimizer_ns = 0;
  int64_t step_ns = 0;                      // all of them
  std::array<int64_t, 4> by_bound_ns = {};  // by Bound; sums to step_ns
  Bound bound = Bound::kNothing;            // what bounds most of the time
  int64_t measured_ns = 0;                  // of step_ns, not estimated
  std::vector<std::string> assumptions;
};

TimeEstimate EstimateTime(const MemoryProgram& program, const RooflineCard& card,
                          const std::vector<MeasuredTime>& measured = {}, int64_t micro_steps = 1);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_DEVICES_ROOFLINE_H_
