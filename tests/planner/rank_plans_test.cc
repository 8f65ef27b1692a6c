// Plans for ranks: what is promised is what the analysis of that rank measures with the plan's segments.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analyzer/parallel/unit_borders.h"
#include "planner/measure/plan.h"
#include "tests/planner/advice/testdata_model.h"

namespace onnx_mem {
namespace {

// `plan` of `workload`, with a tenth of the step's bytes to be saved.
void ExpectPromiseHolds(const std::string& model, Workload workload, Granularity granularity = Granularity::kModule) {
  SCOPED_TRACE(model);
  const ModelFile file = OpenModel(model);
  Study study(file);
  const absl::StatusOr<int64_t> now = study.PeakBytes(workload);
  ASSERT_TRUE(now.ok()) << now.status();
  PlanRequest request;
  request.budget_bytes = *now * 9 / 10;
  request.budget_line = BudgetLine::kLive;
  request.granularity = granularity;
  const absl::StatusOr<PlanAnswer> answer = PlanModel(study, workload, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->baseline.peak_bytes, *now);
  const ModulePlan* const chosen = Chosen(*answer);
  ASSERT_NE(chosen, nullptr);
  ASSERT_FALSE(chosen->segments.empty());
  const std::vector<std::string> split = PathsOf(answer->spread->split);
  for (const PlannedSegment& planned : chosen->segments) {
    EXPECT_TRUE(KeepsHooks(planned.segment, split));
    EXPECT_TRUE(KeepsUnits(planned.segment, answer->spread->units));
    EXPECT_EQ(planned.segment.keep_calls.empty(), granularity == Granularity::kModule);
    workload.run.segments.push_back(planned.segment);
  }
  const absl::StatusOr<Shared<RunFigures>> figures = study.Figures(workload);
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_EQ(chosen->measured.peak_bytes, (*figures)->peak_bytes);
  EXPECT_EQ(chosen->measured.device_bytes, (*figures)->device_bytes);
}

TEST(PlanRanks, OfSplitTensorsHoldForTheRank) {
  Workload workload = TrainingAt(8);
  workload.bindings.dims["seq"] = 128;
  workload.layout.tensor.ranks = 2;
  ExpectPromiseHolds("gpt2_sdpa", workload);
}

// Runs of blocks would be cheaper, and cross units: blocks, each with the calls that it keeps, are what there is.
TEST(PlanRanks, OfKeptCallsLieInsideUnits) {
  Workload workload = TrainingAt(8);
  workload.bindings.dims["seq"] = 128;
  workload.layout.data = DataParallel::kFsdp;
  workload.layout.ranks = 4;
  ExpectPromiseHolds("gpt2_sdpa", workload, Granularity::kCall);
}

// A second run sums up once more what lies inside its segment; under FSDP it finds its unit gathered.
TEST(PlanRanks, SecondRunsExchangeWhatTheirSegmentHasInside) {
  Workload workload = TrainingAt(8);
  workload.bindings.dims["seq"] = 128;
  const ModelFile file = OpenModel("gpt2_sdpa");
  PlanRequest request;
  request.given = {{.modules = {"m.transformer.h.1"}, .nodes = {}}};
  const auto received = [&]() -> std::pair<int64_t, int64_t> {
    Study study(file);
    const absl::StatusOr<PlanAnswer> answer = PlanModel(study, workload, request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(Chosen(*answer)->method, "given");
    return {answer->spread->received->without.peer_bytes, answer->spread->received->with.peer_bytes};
  };
  workload.layout.data = DataParallel::kFsdp;
  workload.layout.ranks = 4;
  const auto [sharded, sharded_with] = received();
  EXPECT_GT(sharded, 0);
  EXPECT_EQ(sharded, sharded_with);
  workload.layout = {};
  workload.layout.tensor.ranks = 2;
  const auto [split, split_with] = received();
  // The block has two sums, each before a dropout whose mask its backward reads. Of two ranks each receives a half
  // twice.
  constexpr int64_t kSum = int64_t{8} * 128 * 768 * 4;
  EXPECT_EQ(split_with - split, 2 * kSum);
}

TEST(PlanRanks, OfSplitTensorsThatAreShardedToo) {
  Workload workload = TrainingAt(8);
  workload.bindings.dims["seq"] = 128;
  workload.layout.tensor.ranks = 2;
  workload.layout.data = DataParallel::kFsdp;
  workload.layout.ranks = 4;
  ExpectPromiseHolds("gpt2_sdpa", workload);
}

TEST(PlanPipeline, OfTheWorstRankHoldsWhicheverSchedule) {
  Workload workload = TrainingAt(64);
  workload.bindings.dims["seq"] = 128;
  workload.layout.pipeline.ranks = 4;
  for (const PipelineSchedule schedule : {PipelineSchedule::k1F1B, PipelineSchedule::kGpipe}) {
    workload.layout.pipeline.schedule = schedule;
    ExpectPromiseHolds("bert_base", workload);
  }
}

// What may move to the host makes no answer worse.
TEST(PlanRanks, WithMovesToTheHostAreNoWorse) {
  Workload workload = TrainingAt(8);
  workload.bindings.dims["seq"] = 128;
  workload.layout.data = DataParallel::kFsdp;
  workload.layout.ranks = 8;
  const ModelFile file = OpenModel("gpt2_sdpa");
  Study study(file);
  const int64_t now = (*study.Figures(workload))->device_bytes;
  bool moved = false;
  for (const int percent : {90, 82, 80}) {
    PlanRequest request;
    request.budget_bytes = now / 100 * percent;
    const absl::StatusOr<PlanAnswer> without = PlanModel(study, workload, request);
    request.offload = true;
    const absl::StatusOr<PlanAnswer> with = PlanModel(study, workload, request);
    ASSERT_TRUE(without.ok() && with.ok()) << without.status() << with.status();
    ASSERT_NE(Chosen(*without), nullptr) << percent;
    ASSERT_NE(Chosen(*with), nullptr) << percent;
    EXPECT_LE(Chosen(*with)->measured.device_bytes, *request.budget_bytes);
    EXPECT_LE(Chosen(*with)->measured.time_slowdown, Chosen(*without)->measured.time_slowdown) << percent;
    for (const ModulePlan& plan : with->plans) moved = moved || plan.measured.host_bytes > 0;
  }
  EXPECT_TRUE(moved);
}

// Ranks differ: what each takes with its part of the plan is what the analysis of that rank says.
TEST(PlanPipeline, OfEachRankHolds) {
  Workload workload = TrainingAt(32);
  workload.bindings.dims["seq"] = 128;
  workload.layout.pipeline.ranks = 4;
  const ModelFile file = OpenModel("gpt2_sdpa");
  Study study(file);
  PlanRequest request;
  request.given = {{.modules = {"m.transformer.h.0"}, .nodes = {}}, {.modules = {"m.transformer.h.5"}, .nodes = {}}};
  const absl::StatusOr<PlanAnswer> answer = PlanModel(study, workload, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(Chosen(*answer)->method, "given");
  ASSERT_EQ(answer->spread->stages.size(), 4U);
  workload.run.segments = request.given;
  for (const StageNeed& stage : answer->spread->stages) {
    workload.layout.rank = stage.rank;
    const absl::StatusOr<Shared<RunFigures>> figures = study.Figures(workload);
    ASSERT_TRUE(figures.ok()) << figures.status();
    EXPECT_EQ(stage.with.peak_bytes, (*figures)->peak_bytes);
    EXPECT_EQ(stage.with.device_bytes, (*figures)->device_bytes);
    if (stage.rank != 0) continue;
    EXPECT_LT(stage.with.peak_bytes, stage.without.peak_bytes);
  }
}

// A rank with several stages: a plan in some of them, and one that is found.
TEST(PlanPipeline, OfSeveralStagesPerRankHolds) {
  Workload workload = TrainingAt(16);
  workload.bindings.dims["seq"] = 128;
  workload.layout.pipeline.ranks = 2;
  workload.layout.pipeline.stages_per_rank = 3;
  workload.layout.pipeline.micro_batches = 4;
  workload.layout.pipeline.schedule = PipelineSchedule::kInterleaved1F1B;
  workload.layout.pipeline.return_outputs = false;
  const ModelFile file = OpenModel("gpt2_sdpa");
  Study study(file);
  const int64_t now = (*study.Figures(workload))->peak_bytes;
  PlanRequest given, found;
  given.given = {{.modules = {"m.transformer.h.0"}, .nodes = {}}, {.modules = {"m.transformer.h.2"}, .nodes = {}}};
  found.budget_line = BudgetLine::kLive;
  found.budget_bytes = now * 24 / 25;
  for (const PlanRequest& request : {given, found}) {
    const absl::StatusOr<PlanAnswer> answer = PlanModel(study, workload, request);
    ASSERT_TRUE(answer.ok()) << answer.status();
    const ModulePlan* chosen = Chosen(*answer);
    ASSERT_NE(chosen, nullptr);
    EXPECT_GT(chosen->segments.size(), 1U);
    Workload planned = workload;
    for (const PlannedSegment& segment : chosen->segments) planned.run.segments.push_back(segment.segment);
    ASSERT_EQ(answer->spread->stages.size(), 2U);
    for (const StageNeed& stage : answer->spread->stages) {
      planned.layout.rank = stage.rank;
      const absl::StatusOr<Shared<RunFigures>> figures = study.Figures(planned);
      ASSERT_TRUE(figures.ok()) << figures.status();
      EXPECT_EQ(stage.with.peak_bytes, (*figures)->peak_bytes);
    }
    EXPECT_LE(chosen->measured.peak_bytes, now);
  }
}

TEST(PlanPipeline, ASegmentOverABorderIsRefused) {
  Workload workload = TrainingAt(8);
  workload.bindings.dims["seq"] = 128;
  workload.layout.pipeline.ranks = 2;
  workload.run.segments = {{.modules = {"m.transformer"}, .nodes = {}}};
  const ModelFile file = OpenModel("gpt2_sdpa");
  Study study(file);
  const std::string why(study.Figures(workload).status().message());
  EXPECT_NE(why.find("begins in one stage"), std::string::npos) << why;
}

}  // namespace
}  // namespace onnx_mem
