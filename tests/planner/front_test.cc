#include "planner/search/front.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/measure/candidates.h"
#include "planner/measure/plan.h"
#include "planner/measure/profile.h"

namespace onnx_mem {
namespace {

class FrontTest : public testing::TestWithParam<BudgetLine> {
 protected:
  void SetUp() override {
    const auto file =
        ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/resnet18.train.ts.op17.onnx");
    ASSERT_TRUE(file.ok()) << file.status();
    study_.emplace(*file);
    Workload workload;
    workload.mode = Mode::kTraining;
    workload.bindings.batch = 16;
    auto accountant = Accountant::Create(*study_, workload, PlanRequest().clock, CostLine::kTime);
    ASSERT_TRUE(accountant.ok()) << accountant.status();
    accountant_.emplace(*std::move(accountant));
    const CandidateSet candidates = FindCandidates(accountant_->lowered(), Granularity::kModule);
    auto profile = MakeProfile(*accountant_, candidates, [] { return true; }, /*negligible=*/true);
    ASSERT_TRUE(profile.ok()) << profile.status();
    profile_ = *std::move(profile);
    Front front = NewFront();
    for (int32_t c = 0; c < static_cast<int32_t>(profile_.candidates.size()); ++c) {
      const std::vector<JudgedPlan>& plans = front.plans(GetParam());
      ASSERT_TRUE(front.Try({c}, "chain").ok());
      if (!plans.empty() && plans.back().choice == Choice{c}) plan_ = {c};
      if (plan_ != Choice{c}) other_ = {c};
    }
    ASSERT_FALSE(plan_.empty() || other_.empty());
  }

  Front NewFront() { return Front(*accountant_, profile_, GetParam()); }

  // The one plan of `finer`.
  Score FinerPlan(Front& finer) const {
    EXPECT_TRUE(finer.Try(plan_, "chain").ok());
    return finer.ScoreOf(plan_);
  }

  // Whether a choice that takes `more` than that plan at least is not enacted.
  bool IsSkipped(Score more) {
    Front finer = NewFront(), coarser = NewFront();
    Score least = FinerPlan(finer);
    least.peak_bytes = least.peak_bytes + more.peak_bytes;
    least.cost += more.cost;
    if (GetParam() == BudgetLine::kDevice) {  // what is proven on the device has no gaps between blocks
      while (accountant_->LeastDeviceBytes(least.peak_bytes) < finer.ScoreOf(plan_).device_bytes + more.peak_bytes)
        least.peak_bytes += kPageBytes;
    }
    coarser.SkipBeatenBy(finer, [&](const Choice&) { return least; });
    const int64_t before = accountant_->work();
    EXPECT_TRUE(coarser.Try(other_, "chain").ok());
    EXPECT_GT(accountant_->work(), before);
    const bool skipped = coarser.IsBeaten(other_);
    EXPECT_EQ(coarser.plans(BudgetLine::kLive).front().beaten, skipped);
    EXPECT_EQ(skipped,
              coarser.ScoreOf(other_).cost == least.cost && coarser.ScoreOf(other_).peak_bytes == least.peak_bytes);
    EXPECT_FALSE(skipped && coarser.MeasuredOf(other_).has_value());
    return skipped;
  }

  std::optional<Study> study_;
  std::optional<Accountant> accountant_;
  Profile profile_;
  Choice plan_;   // the segment that takes least
  Choice other_;  // another one
};

TEST_P(FrontTest, WhatAFinerPlanBeatsIsNotEnacted) {
  EXPECT_TRUE(IsSkipped({.peak_bytes = 4 * kPageBytes, .cost = 5'000'000}));
  EXPECT_TRUE(IsSkipped({.peak_bytes = 0, .cost = 5'000'000}));
}

TEST_P(FrontTest, WhatMightBeCheaperIsEnacted) { EXPECT_FALSE(IsSkipped({.peak_bytes = 4 * kPageBytes, .cost = -1})); }

// A choice that may have the same figures stays: of plans as good as each other the coarser one answers.
TEST_P(FrontTest, WhatMightBeAsGoodIsEnacted) {
  if (GetParam() == BudgetLine::kDevice) GTEST_SKIP() << "whole pages are seldom the same";
  EXPECT_FALSE(IsSkipped({.peak_bytes = 0, .cost = 0}));
}

// For a budget that the finer plan keeps, what costs less but takes more is no answer; nor is what costs more.
TEST_P(FrontTest, WhatIsNoAnswerIsNotEnacted) {
  Front finer = NewFront(), coarser = NewFront();
  const Score plan = FinerPlan(finer);
  const int64_t budget = BytesOn(GetParam(), plan);
  coarser.SkipBeatenBy(finer, [&](const Choice& choice) {
    return Score{.peak_bytes = choice == other_ ? 2 * budget : 0, .cost = choice == other_ ? 0 : plan.cost + 1};
  });
  coarser.AnswerOnly(budget);
  EXPECT_TRUE(coarser.Try(other_, "chain").ok());
  EXPECT_TRUE(coarser.IsBeaten(other_));
  EXPECT_TRUE(coarser.Try(plan_, "chain").ok());
  EXPECT_TRUE(coarser.IsBeaten(plan_));
}

// The step without a plan is on every front.
TEST_P(FrontTest, NoPlanIsNeverSkipped) {
  Front finer = NewFront(), coarser = NewFront();
  FinerPlan(finer);
  coarser.SkipBeatenBy(finer, [](const Choice&) { return Score{.peak_bytes = int64_t{1} << 50, .cost = 1 << 30}; });
  EXPECT_TRUE(coarser.Try({}, "none").ok());
  EXPECT_FALSE(coarser.IsBeaten({}));
}

INSTANTIATE_TEST_SUITE_P(Lines, FrontTest, testing::Values(BudgetLine::kDevice, BudgetLine::kLive));

}  // namespace
}  // namespace onnx_mem
