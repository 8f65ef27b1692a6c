// Plans in which modules also go to the host, held against the accountant by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analyzer/devices/gpus.h"
#include "planner/measure/plan.h"
#include "tests/planner/advice/testdata_model.h"

namespace onnx_mem {
namespace {

struct Requested {
  ImportedModel model;
  Workload workload;
  PlanRequest request;
};

// On live bytes.
Requested Of(const std::string& name, const Workload& workload) {
  Requested requested;
  requested.workload = workload;
  requested.model = *OpenModel(name).Import(workload.bindings);
  requested.request.budget_line = BudgetLine::kLive;
  return requested;
}

// GPT-2 of six layers, 256 tokens, live bytes, on a card with 16 lanes of PCI Express 4.
Requested Transformer() {
  Workload workload = TrainingAt(8);
  workload.bindings.dims["seq"] = 256;
  Requested requested = Of("gpt2_sdpa", workload);
  requested.request.clock.card = *RooflineOf(*FindGpu("A100 PCIe 40GB"));
  requested.request.iteration_limit = 120;
  requested.request.plans_alone = true;
  return requested;
}

PlanAnswer AnswerTo(const Requested& requested) {
  Study study(requested.model);
  absl::StatusOr<PlanAnswer> answer = PlanModel(study, requested.workload, requested.request);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return *std::move(answer);
}

TEST(FindMixed, IsFasterThanSecondRunsAloneAndTakesWhatTheAnalysisMeasures) {
  Requested requested = Transformer();
  const int64_t most = AnswerTo(requested).baseline.peak_bytes;
  requested.request.budget_bytes = most / 100 * 86;
  const PlanAnswer again = AnswerTo(requested);
  requested.request.offload = true;
  const PlanAnswer mixed = AnswerTo(requested);
  ASSERT_TRUE(again.chosen && mixed.chosen);
  const ModulePlan& plan = mixed.plans[*mixed.chosen];
  EXPECT_LT(plan.measured.slowdown, again.plans[*again.chosen].measured.slowdown);
  EXPECT_GT(plan.measured.host_bytes, 0);
  EXPECT_LE(plan.measured.peak_bytes, *requested.request.budget_bytes);

  Workload workload = requested.workload;
  for (const PlannedSegment& segment : plan.segments) workload.run.segments.push_back(segment.segment);
  const absl::StatusOr<Analysis> analysis = Study(requested.model).Ask(workload);
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_EQ(plan.measured.peak_bytes, analysis->training()->peak_bytes);
  EXPECT_EQ(plan.measured.device_bytes, analysis->training()->device_bytes);
  EXPECT_EQ(plan.measured.recompute_flops, analysis->recompute_flops);
}

// Its late modules are large: a module that waits for its own moves waits long, a gate does not.
TEST(FindMixed, KeepsModulesOfAUNetUntilAGate) {
  Requested requested = Of("unet_seg", TrainingAt(16));
  requested.request.clock.card = *RooflineOf(*FindGpu("RTX 4090"));
  requested.request.plans_alone = true;
  requested.request.budget_bytes = AnswerTo(requested).baseline.peak_bytes / 100 * 90;
  const PlanAnswer again = AnswerTo(requested);
  requested.request.offload = true;
  const PlanAnswer mixed = AnswerTo(requested);
  ASSERT_TRUE(again.chosen && mixed.chosen);
  const ModulePlan& plan = mixed.plans[*mixed.chosen];
  EXPECT_LT(plan.measured.slowdown, again.plans[*again.chosen].measured.slowdown * 0.75);
  EXPECT_EQ(plan.segments.back().segment.offload, Offload::kGate);
}

// The first two blocks leave when the fifth has run: one after another they wait for each other's moves.
TEST(Offload, HeldModulesHaveUntilTheGateToMove) {
  const Requested requested = Transformer();
  const auto with = [&](Offload first, Offload last) {
    Workload workload = requested.workload;
    workload.run.segments = {{.modules = {"m.transformer.h.0"}, .nodes = {}, .offload = first},
                             {.modules = {"m.transformer.h.1"}, .nodes = {}, .offload = first},
                             {.modules = {"m.transformer.h.4.mlp"}, .nodes = {}, .offload = last}};
    return *Study(requested.model).Ask(workload);
  };
  const Analysis gated = with(Offload::kHeld, Offload::kGate), chained = with(Offload::kOverlapped, Offload::kWaiting);
  const auto waits = [&](const Analysis& analysis) {
    return EstimateTime(*analysis.training()->program, requested.request.clock.card).offload_ns;
  };
  EXPECT_LT(waits(gated), waits(chained) / 2);
  EXPECT_LT(gated.training()->peak_bytes, AnswerTo(requested).baseline.peak_bytes);
  EXPECT_GT(gated.training()->peak_bytes, chained.training()->peak_bytes);  // the fifth block's stay
}

// What is proven of second runs says nothing of moves, but for what any step must have at hand.
TEST(FindMixed, IsProvenImpossibleBelowTheNeediestStepAlone) {
  Requested requested = Of("resnet18", TrainingAt(8));
  requested.request.iteration_limit = 40;
  requested.request.budget_bytes = 1;
  const PlanAnswer again = AnswerTo(requested);
  ASSERT_TRUE(again.class_bound.has_value());
  ASSERT_LT(again.minimum_bytes, again.class_bound->floor_bytes);
  requested.request.budget_bytes = again.class_bound->floor_bytes - 1;
  EXPECT_EQ(AnswerTo(requested).status, PlanStatus::kInfeasible);
  requested.request.offload = true;
  requested.request.host_bytes = 0;  // so that no move answers
  EXPECT_EQ(AnswerTo(requested).status, PlanStatus::kNotFound);
  requested.request.budget_bytes = again.minimum_bytes - 1;
  EXPECT_EQ(AnswerTo(requested).status, PlanStatus::kInfeasible);
}

TEST(FindMixed, KeepsToTheHostsMemory) {
  Requested requested = Transformer();
  requested.request.budget_bytes = AnswerTo(requested).baseline.peak_bytes / 100 * 86;
  requested.request.offload = true;
  requested.request.host_bytes = int64_t{100} << 20;
  for (const ModulePlan& plan : AnswerTo(requested).plans)
    EXPECT_LE(plan.measured.host_bytes, *requested.request.host_bytes);
}

}  // namespace
}  // namespace onnx_mem
