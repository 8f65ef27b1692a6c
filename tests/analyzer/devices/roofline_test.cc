// Times that a person can check by hand, on a card with round numbers.
#include "analyzer/devices/roofline.h"

#include <gtest/gtest.h>

#include <numeric>

#include "analyzer/devices/communicators.h"

namespace onnx_mem {
namespace {

// 1 TFLOPS, 2 with TF32, 4 in fp16; 1 TB/s; 10 us to start a step.
RooflineCard RoundCard() {
  RooflineCard card;
  card.name = "round";
  card.bandwidth = 1e12;
  card.fp32_flops = 1e12;
  card.tf32_flops = 2e12;
  card.fp16_flops = card.bf16_flops = 4e12;
  card.fp64_flops = 0.5e12;
  card.launch_ns = 10'000;
  return card;
}

Step Work(int64_t flops, int64_t moved_bytes, DType dtype = DType::kFloat32) {
  Step step;
  step.flops = flops;
  step.moved_bytes = moved_bytes;
  step.dtype = dtype;
  return step;
}

TEST(RooflineTest, TheSlowerOfArithmeticAndTrafficButNoLessThanALaunch) {
  const RooflineCard card = RoundCard();
  const auto is = [&](const Step& step, int64_t nanoseconds, Bound bound) {
    const StepTime time = TimeOf(step, card);
    EXPECT_EQ(time.nanoseconds, nanoseconds);
    EXPECT_EQ(time.bound, bound) << NameOf(time.bound);
  };
  is(Work(50'000'000, 20'000'000), 50'000, Bound::kCompute);
  is(Work(50'000'000, 80'000'000), 80'000, Bound::kBandwidth);
  is(Work(50, 80), 10'000, Bound::kLaunch);
  is(Work(0, 0), 0, Bound::kNothing);
}

TEST(RooflineTest, TheRateFollowsTheElementType) {
  const RooflineCard card = RoundCard();
  EXPECT_EQ(StepTimeNs(Work(400'000'000, 0), card), 400'000);
  EXPECT_EQ(StepTimeNs(Work(400'000'000, 0, DType::kFloat16), card), 100'000);
  EXPECT_EQ(StepTimeNs(Work(400'000'000, 0, DType::kFloat64), card), 800'000);
  Step convolution = Work(400'000'000, 0);
  convolution.tf32 = true;
  EXPECT_EQ(StepTimeNs(convolution, card), 200'000);
  convolution.dtype = DType::kFloat16;
  EXPECT_EQ(StepTimeNs(convolution, card), 100'000);
}

TEST(RooflineTest, TheWorkedExampleOfTheHeader) {
  Step step = Work(int64_t{2} * 64 * 64 * 9 * 64 * 56 * 56, int64_t{2} * 64 * 64 * 56 * 56 * 4 + 64 * 64 * 9 * 4);
  step.tf32 = true;
  const StepTime time = TimeOf(step, DefaultRoofline());
  EXPECT_NEAR(static_cast<double>(time.nanoseconds), 135e3, 1e3);
  EXPECT_EQ(time.bound, Bound::kCompute);
}

TEST(RooflineTest, WhatTheTableLacksIsSaidOrRefused) {
  Gpu gpu;
  gpu.name = "GTX";
  EXPECT_FALSE(RooflineOf(gpu).ok());
  gpu.bandwidth_gbps = 100;
  EXPECT_FALSE(RooflineOf(gpu).ok());
  gpu.fp32_tflops = 10;
  const absl::StatusOr<RooflineCard> old = RooflineOf(gpu);
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(old->fp16_flops, old->fp32_flops);
  EXPECT_EQ(old->stand_ins.size(), 2u);  // fp16, bf16: a card without tensor cores has no TF32
  EXPECT_EQ(DefaultRoofline().name, kDefaultCard);
  EXPECT_TRUE(DefaultRoofline().stand_ins.empty());
  // Reported only of programs that use such a rate.
  MemoryProgram program;
  program.steps.Add(Work(100, 0));
  EXPECT_TRUE(EstimateTime(program, *old).assumptions.empty());
  program.steps.Add(Work(100, 0, DType::kFloat16));
  EXPECT_EQ(EstimateTime(program, *old).assumptions, std::vector<std::string>{"fp16 at the fp32 rate"});
}

TEST(RooflineTest, EveryCardOfTheTableHasATimeOrAReason) {
  int64_t estimated = 0;
  for (const Gpu& gpu : Gpus()) {
    const absl::StatusOr<RooflineCard> card = RooflineOf(gpu);
    if (!card.ok()) continue;
    ++estimated;
    EXPECT_GT(card->bandwidth, 0) << gpu.name;
    for (double rate : {card->fp64_flops, card->fp32_flops, card->tf32_flops, card->fp16_flops, card->bf16_flops}) {
      EXPECT_GT(rate, 0) << gpu.name;
    }
    EXPECT_GE(card->fp16_flops, card->fp32_flops) << gpu.name;
  }
  EXPECT_GT(estimated, static_cast<int64_t>(Gpus().size()) / 2);
}

MemoryProgram TwoLayers() {
  MemoryProgram program;
  const auto add = [&](const char* node, const char* module, Phase phase, int64_t bytes, bool recompute = false) {
    Step step = Work(0, bytes);
    step.node = node;
    step.module = module;
    step.phase = phase;
    step.recompute = recompute;
    program.steps.Add(step);
  };
  add("a", "one.a", Phase::kForward, 100'000'000);
  add("b", "one.b", Phase::kForward, 300'000'000);
  add("c", "two", Phase::kForward, 200'000'000);
  add("", "", Phase::kLoss, 20'000'000);
  add("c", "two", Phase::kBackward, 400'000'000);
  add("a", "one.a", Phase::kBackward, 100'000'000, true);
  add("a", "one.a", Phase::kBackward, 150'000'000);
  add("", "", Phase::kOptimizer, 50'000'000);
  return program;
}

TEST(RooflineTest, PhasesAndBoundsSumToTheStep) {
  const TimeEstimate e = EstimateTime(TwoLayers(), RoundCard());
  EXPECT_EQ(e.forward_ns, 600'000);
  EXPECT_EQ(e.loss_ns, 20'000);
  EXPECT_EQ(e.backward_ns, 550'000);
  EXPECT_EQ(e.recompute_ns, 100'000 + kCheckpointCallNs);
  EXPECT_EQ(e.optimizer_ns, 50'000);
  EXPECT_EQ(e.step_ns, 1'320'000 + kCheckpointCallNs);
  EXPECT_EQ(std::accumulate(e.by_bound_ns.begin(), e.by_bound_ns.end(), int64_t{0}), e.step_ns);
  EXPECT_EQ(e.bound, Bound::kBandwidth);
  EXPECT_EQ(e.measured_ns, 0);
}

TEST(RooflineTest, MeasuredTimesReplaceEstimates) {
  const std::vector<MeasuredTime> measured = {{"a", false, Phase::kForward, 7'000},
                                              {"one", true, Phase::kForward, 80'000},
                                              {"nowhere", true, Phase::kForward, 5}};
  std::vector<size_t> unmatched;
  const std::vector<StepTime> times = StepTimes(TwoLayers(), RoundCard(), measured, &unmatched);
  EXPECT_EQ(times[0].nanoseconds, 7'000);   // the node's own, not the module's 20,000
  EXPECT_EQ(times[1].nanoseconds, 60'000);  // 3/4 of the module
  EXPECT_EQ(times[2].nanoseconds, 200'000);
  EXPECT_FALSE(times[2].measured);
  EXPECT_EQ(times[5].nanoseconds, 7'000 + kCheckpointCallNs);  // a second run takes what the first took, and the call
  EXPECT_EQ(unmatched, std::vector<size_t>{2});
  EXPECT_EQ(EstimateTime(TwoLayers(), RoundCard(), measured).measured_ns, 74'000);
}

// A connection: LL 512 KiB, LL128 4,915,200 bytes and 4 MiB, in pieces of 2 MiB. A ring has one for each channel.
TEST(Communicators, HaveBuffersForEachChannelAndNeighbour) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  const Overhead gathers = BuffersOf({});
  EXPECT_EQ(gathers.low_bytes, 2 * 10 * kMiB);
  EXPECT_EQ(gathers.high_bytes, 32 * 10 * kMiB);
  EXPECT_EQ(BuffersOf({.all_reduces = true}).high_bytes, 32 * 3 * 10 * kMiB);
  EXPECT_EQ(BuffersOf({.all_reduces = false, .neighbours = 2}).low_bytes, 2 * 2 * 10 * kMiB);
}

}  // namespace
}  // namespace onnx_mem
