#include "planner/advice/fewest_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/graph/diagnostic.h"
#include "planner/advice/fit.h"
#include "planner/measure/plan.h"
#include "tests/planner/advice/testdata_model.h"

namespace onnx_mem {
namespace {

Workload Sharded(int64_t ranks) {
  Workload workload = TrainingAt(8);
  workload.layout.data = DataParallel::kFsdp;
  workload.layout.ranks = ranks;
  return workload;
}

int64_t BytesOver(const ModelFile& file, int64_t ranks) { return DeviceBytes(file, Sharded(ranks)); }

TEST(FindFewestRanks, ThatManyFitAndOneLessDoesNot) {
  const ModelFile file = OpenModel("resnet18");
  Study study(file);
  const int64_t limit_bytes = BytesOver(file, 5);
  RankNeeds needs(study, Sharded(1), RankAxis::kData);
  const absl::StatusOr<FewestRanks> fewest = FindFewestRanks(needs, limit_bytes);
  ASSERT_TRUE(fewest.ok()) << fewest.status();
  ASSERT_TRUE(fewest->expected);
  EXPECT_LE(*fewest->expected, 5);
  EXPECT_LE(BytesOver(file, *fewest->expected), limit_bytes);
  EXPECT_GT(BytesOver(file, *fewest->expected - 1), limit_bytes);
}

TEST(FindFewestRanks, AreOfTheRange) {
  const ModelFile file = OpenModel("resnet18");
  Study study(file);
  RankNeeds needs(study, Sharded(1), RankAxis::kData);
  const int64_t limit_bytes = BytesOver(file, 3);
  EXPECT_EQ(FindFewestRanks(needs, limit_bytes, {6, 9})->expected, 6);  // as less is not asked about
  EXPECT_EQ(FindFewestRanks(needs, 0, {2, 7})->expected, std::nullopt);
}

// The way has the very plan that onnx-mem plan has, and its bytes are those of the rank that needs most.
TEST(WaysToFit, OfRanksHaveThePlanThatThePlannerHas) {
  const ModelFile file = OpenModel("resnet18");
  Study study(file);
  const Workload workload = Sharded(4);
  const int64_t limit_bytes = BytesOver(file, 4) * 19 / 20;
  const absl::StatusOr<std::vector<FitWay>> ways = WaysToFit(study, workload, limit_bytes, {nullptr, 1});
  ASSERT_TRUE(ways.ok()) << ways.status();
  const auto way =
      std::find_if(ways->begin(), ways->end(), [](const FitWay& each) { return each.saving.change.planned_for_ranks; });
  ASSERT_NE(way, ways->end());
  PlanRequest request;
  request.budget_bytes = limit_bytes;
  const absl::StatusOr<PlanAnswer> plans = PlanModel(study, workload, request);
  ASSERT_TRUE(plans.ok()) << plans.status();
  ASSERT_NE(Chosen(*plans), nullptr);
  EXPECT_EQ(way->saving.footprint.device_bytes, Chosen(*plans)->measured.device_bytes);
  EXPECT_EQ(way->saving.footprint.peak_bytes, Chosen(*plans)->measured.peak_bytes);
  EXPECT_EQ(way->saving.change.extra_time, Chosen(*plans)->measured.time_slowdown);
}

// 7 ranks that fit may stand between numbers that do not: padded shards make the buffers of an all-gather uneven.
TEST(FewestThatFit, OfFewNumbersEachIsTried) {
  const auto fits = [](int64_t ranks) -> absl::StatusOr<bool> { return ranks == 7 || ranks >= 12; };
  EXPECT_EQ(FewestThatFit({2, 16}, 16, fits)->value(), 7);
  EXPECT_EQ(FewestThatFit({8, 16}, 16, fits)->value(), 12);
  EXPECT_EQ(*FewestThatFit({2, 6}, 16, fits), std::nullopt);
  int64_t tried = 0;
  const auto counted = [&](int64_t ranks) -> absl::StatusOr<bool> { return ++tried, ranks >= 1000; };
  EXPECT_EQ(FewestThatFit({2, 4096}, 16, counted)->value(), 1000);
  EXPECT_LT(tried, 24);
}

TEST(FewestRanksWithPlan, AreFewerThanWithout) {
  const ModelFile file = OpenModel("resnet18");
  Study study(file);
  const int64_t limit_bytes = BytesOver(file, 64);
  const Workload workload = Sharded(1);
  RankNeeds needs(study, workload, RankAxis::kData);
  const int64_t without = FindFewestRanks(needs, limit_bytes)->expected.value();
  ASSERT_GT(without, 2);
  const auto with = FewestRanksWithPlan(study, workload, RankAxis::kData, nullptr, limit_bytes, {1, without - 1});
  ASSERT_TRUE(with);
  EXPECT_LT(with->ranks, without);
  EXPECT_FALSE(with->plans.empty());
  const auto none = FewestRanksWithPlan(study, workload, RankAxis::kData, nullptr, /*limit_bytes=*/0, {1, 4});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->plans.empty());
}

// What was searched for the number of ranks is not searched again for the way.
TEST(WaysToFit, TakeTheCheckpointsThatAreKnown) {
  const ModelFile file = OpenModel("resnet18");
  Study study(file);
  const Workload workload = Sharded(4);
  const int64_t limit_bytes = BytesOver(file, 4) * 19 / 20;
  const std::vector<Proposal> known;
  const auto ways = WaysToFit(study, workload, limit_bytes, {nullptr, 1, 0, &known});
  ASSERT_TRUE(ways.ok()) << ways.status();
  for (const FitWay& way : *ways) EXPECT_FALSE(way.saving.change.planned_for_ranks);
}

// Six blocks with twelve heads: neither 5 stages nor 5 ranks share them, and 12 samples are no multiple of 5.
Workload Decoder() {
  Workload workload = TrainingAt(12);
  workload.bindings.dims["seq"] = 64;
  return workload;
}

TEST(FindFewestRanks, OfStagesPassesOverNumbersThatTheModelDoesNotTake) {
  const ModelFile file = OpenModel("gpt2_sdpa");
  Study study(file);
  RankNeeds needs(study, Decoder(), RankAxis::kPipeline);
  EXPECT_EQ(*needs.At(5), std::nullopt);
  const int64_t limit_bytes = (*needs.At(3))->expected_bytes;
  const absl::StatusOr<FewestRanks> fewest = FindFewestRanks(needs, limit_bytes, {2, 9});
  ASSERT_TRUE(fewest.ok()) << fewest.status();
  EXPECT_EQ(fewest->expected, (*needs.At(2))->expected_bytes <= limit_bytes ? 2 : 3);
  const absl::StatusOr<FewestRanks> none = FindFewestRanks(needs, 0, {2, 9});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->expected, std::nullopt);
  EXPECT_EQ(none->among.most, 6);
  EXPECT_EQ(none->tried, (std::vector<int64_t>{2, 3, 4, 6}));
  EXPECT_TRUE(none->each_tried);
  EXPECT_EQ(DiagnosticOf(FindFewestRanks(needs, limit_bytes, {7, 9}).status()).code, Code::kUsage);
}

TEST(FindFewestRanks, OfRanksThatSplitTensorsToo) {
  const ModelFile file = OpenModel("gpt2_sdpa");
  Study study(file);
  RankNeeds needs(study, Decoder(), RankAxis::kTensor);
  const absl::StatusOr<FewestRanks> none = FindFewestRanks(needs, 0, {2, 6});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->tried, (std::vector<int64_t>{2, 3, 4, 6}));
}

// A batch of a pipeline is one of all its micro-batches.
TEST(BatchNeeds, OfAPipelineAreMultiplesOfItsMicroBatches) {
  const ModelFile file = OpenModel("gpt2_sdpa");
  Study study(file);
  Workload workload = Decoder();
  workload.layout.pipeline.ranks = 2;
  workload.layout.pipeline.micro_batches = 4;
  absl::StatusOr<BatchNeeds> needs = BatchNeeds::Create(study, workload);
  ASSERT_TRUE(needs.ok()) << needs.status();
  const absl::StatusOr<BatchEdges> edges = FindBatchEdges(*needs, needs->At(20)->expected_bytes);
  ASSERT_TRUE(edges.ok()) << edges.status();
  EXPECT_EQ(edges->expected.batch % 4, 0);
  EXPECT_GE(edges->expected.batch, 20);
  EXPECT_EQ(edges->expected.next, edges->expected.batch + 4);
}

std::vector<std::string> FlagsOf(const absl::StatusOr<std::vector<FitWay>>& ways) {
  std::vector<std::string> flags;
  if (!ways.ok()) return {ways.status().ToString()};
  for (const FitWay& way : *ways) flags.push_back(way.saving.change.flags.front());
  return flags;
}

TEST(WaysToFit, OfAPipelineAreThoseOfItsSchedule) {
  const ModelFile file = OpenModel("gpt2_sdpa");
  Study study(file);
  Workload workload = Decoder();
  workload.bindings.batch = 48;
  workload.layout.pipeline.ranks = 2;
  workload.layout.pipeline.micro_batches = 4;
  workload.layout.pipeline.schedule = PipelineSchedule::kGpipe;
  const auto flags_of = [&] {
    return FlagsOf(WaysToFit(study, workload, DeviceBytes(file, workload) - 1, {nullptr, 1}));
  };
  const auto has = [](const std::vector<std::string>& flags, const char* flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  const std::vector<std::string> of_gpipe = flags_of();
  EXPECT_TRUE(has(of_gpipe, "--no-return-outputs"));
  EXPECT_TRUE(has(of_gpipe, "--schedule"));
  EXPECT_FALSE(has(of_gpipe, "--accumulate"));
  workload.layout.pipeline.schedule = PipelineSchedule::k1F1B;
  workload.layout.pipeline.return_outputs = false;
  const std::vector<std::string> of_1f1b = flags_of();
  EXPECT_TRUE(has(of_1f1b, "--micro-batches"));
  EXPECT_FALSE(has(of_1f1b, "--schedule"));
}

}  // namespace
}  // namespace onnx_mem
