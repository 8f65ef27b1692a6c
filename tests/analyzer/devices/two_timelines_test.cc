// Sums that a person can check by hand: 10 us to dispatch, 3 us for the shortest kernel, 1 TFLOPS, 1 TB/s.
#include "analyzer/devices/two_timelines.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

RooflineCard CardOfRoundNumbers() {
  RooflineCard card;
  card.bandwidth = card.fp32_flops = 1e12;
  card.launch_ns = 10'000;
  card.checkpoint_call_ns = 220'000;
  return card;
}

Step Computes(int64_t flops, bool recompute = false) {
  Step step;
  step.flops = flops;
  step.dtype = DType::kFloat32;
  step.recompute = recompute;
  step.phase = recompute ? Phase::kBackward : Phase::kForward;
  return step;
}

MemoryProgram ProgramOf(const std::vector<Step>& steps) {
  MemoryProgram program;
  for (const Step& step : steps) program.steps.Add(step);
  return program;
}

TEST(TwoTimelinesTest, SmallKernelsWaitForTheCpuAndLargeOnesHideIt) {
  const TwoTimelines small = OnTwoTimelines(ProgramOf({Computes(1), Computes(1), Computes(0)}), CardOfRoundNumbers());
  EXPECT_EQ(small.cpu_ns, 20'000);  // a step that computes nothing is no call
  EXPECT_EQ(small.gpu_ns, 6'000);
  EXPECT_EQ(small.wall_ns(), 20'000);
  const TwoTimelines large = OnTwoTimelines(ProgramOf({Computes(50'000'000), Computes(1)}), CardOfRoundNumbers());
  EXPECT_EQ(large.cpu_ns, 20'000);
  EXPECT_EQ(large.gpu_ns, 53'000);
  EXPECT_EQ(large.wall_ns(), 53'000);
}

TEST(TwoTimelinesTest, ACallOfCheckpointAndKeptCallsAreWorkOfTheCpu) {
  Step first = Computes(1), second = Computes(1, /*recompute=*/true);
  first.first_mode_calls = 3;
  second.second_mode_calls = 3;
  const TwoTimelines plain =
      OnTwoTimelines(ProgramOf({Computes(1), Computes(1, true), Computes(1, true)}), CardOfRoundNumbers());
  EXPECT_EQ(plain.cpu_ns, 3 * 10'000 + 220'000);
  EXPECT_EQ(plain.gpu_ns, 9'000);
  const TwoTimelines keeps = OnTwoTimelines(ProgramOf({first, second, Computes(1, true)}), CardOfRoundNumbers());
  EXPECT_EQ(keeps.cpu_ns, plain.cpu_ns + 3 * kFirstModeCallNs + 3 * kSecondModeCallNs);
  EXPECT_EQ(keeps.gpu_ns, plain.gpu_ns);
}

TEST(TwoTimelinesTest, WhatWasMeasuredIsTimeOfTheCard) {
  const std::vector<MeasuredTime> measured = {{.place = "", .is_module = true, .nanoseconds = 70'000}};
  const TwoTimelines both = OnTwoTimelines(ProgramOf({Computes(1), Computes(1)}), CardOfRoundNumbers(), measured);
  EXPECT_EQ(both.cpu_ns, 20'000);
  EXPECT_EQ(both.gpu_ns, 70'000);
}

}  // namespace
}  // namespace onnx_mem
