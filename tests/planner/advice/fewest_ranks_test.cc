#include "planner/advice/fewest_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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
  RankNeeds needs(study, Sharded(1));
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
  RankNeeds needs(study, Sharded(1));
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
  EXPECT_EQ(FewestThatFit({2, 16}, kFewNumbers, fits)->value(), 7);
  EXPECT_EQ(FewestThatFit({8, 16}, kFewNumbers, fits)->value(), 12);
  EXPECT_EQ(*FewestThatFit({2, 6}, kFewNumbers, fits), std::nullopt);
  int64_t tried = 0;
  const auto counted = [&](int64_t ranks) -> absl::StatusOr<bool> { return ++tried, ranks >= 1000; };
  EXPECT_EQ(FewestThatFit({2, 4096}, kFewNumbers, counted)->value(), 1000);
  EXPECT_LT(tried, 24);
}

TEST(FewestRanksWithPlan, AreFewerThanWithout) {
  const ModelFile file = OpenModel("resnet18");
  Study study(file);
  const int64_t limit_bytes = BytesOver(file, 64);
  const Workload workload = Sharded(1);
  RankNeeds needs(study, workload);
  const int64_t without = FindFewestRanks(needs, limit_bytes)->expected.value();
  ASSERT_GT(without, 2);
  const std::optional<int64_t> with = FewestRanksWithPlan(study, workload, nullptr, limit_bytes, {1, without - 1});
  ASSERT_TRUE(with);
  EXPECT_LT(*with, without);
  EXPECT_EQ(FewestRanksWithPlan(study, workload, nullptr, /*limit_bytes=*/0, {1, 4}), std::nullopt);
}

}  // namespace
}  // namespace onnx_mem
