// Plans per operator call of real models in which tensors wait on the host: they cost no more than those without, reach
// lower, and promise what the analysis measures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/study/study.h"
#include "planner/measure/plan.h"
#include "tests/planner/calls/trained_model.h"

namespace onnx_mem {
namespace {

PlanAnswer AnswerFor(const TrainedModel& model, std::optional<int64_t> live_budget, bool offload) {
  PlanRequest request;
  request.budget_line = BudgetLine::kLive;
  request.budget_bytes = live_budget;
  request.iteration_limit = 60;
  request.granularity = Granularity::kCall;
  request.plans_alone = true;
  request.offload = offload;
  Study study(model.imported);
  absl::StatusOr<PlanAnswer> answer = PlanModel(study, model.workload, request);
  if (!answer.ok()) ADD_FAILURE() << answer.status();
  return *std::move(answer);
}

bool MovesTensors(const ModulePlan& plan) {
  return std::any_of(plan.segments.begin(), plan.segments.end(),
                     [](const PlannedSegment& planned) { return planned.segment.moves_some(); });
}

class HostPlans : public testing::TestWithParam<std::pair<std::string, int>> {
 protected:
  HostPlans() : model_(LoadTrained(GetParam().first, GetParam().second)) {}
  TrainedModel model_;
};

TEST_P(HostPlans, CostNoMoreThanThoseWithout) {
  const int64_t most = AnswerFor(model_, std::nullopt, false).baseline.peak_bytes;
  for (const int64_t share : {70, 85}) {
    SCOPED_TRACE(share);
    const PlanAnswer without = AnswerFor(model_, most * share / 100, false);
    const PlanAnswer with = AnswerFor(model_, most * share / 100, true);
    if (!without.chosen) continue;
    ASSERT_TRUE(with.chosen);
    EXPECT_LE(Chosen(with)->measured.slowdown, Chosen(without)->measured.slowdown);
    EXPECT_LE(Chosen(with)->measured.peak_bytes, most * share / 100);
    ExpectAsMeasured(model_, *Chosen(with));
  }
}

TEST_P(HostPlans, ReachWhatThoseWithoutDoNot) {
  const PlanAnswer all = AnswerFor(model_, std::nullopt, false);
  int64_t least = all.baseline.peak_bytes;
  for (const ModulePlan& plan : all.plans) least = std::min(least, plan.measured.peak_bytes);
  const int64_t budget = least - (all.baseline.peak_bytes - least) / 50;
  EXPECT_FALSE(AnswerFor(model_, budget, false).chosen);
  const PlanAnswer with = AnswerFor(model_, budget, true);
  ASSERT_TRUE(with.chosen);
  EXPECT_TRUE(MovesTensors(*Chosen(with)));
  EXPECT_GT(Chosen(with)->measured.host_bytes, 0);
  ExpectAsMeasured(model_, *Chosen(with));
}

INSTANTIATE_TEST_SUITE_P(All, HostPlans,
                         testing::Values(std::pair("../measured/host/blocks.eager", 512),
                                         std::pair("../records/t5.eager", 256),
                                         std::pair("../records/bert.eager", 256)),
                         [](const auto& info) { return "network" + std::to_string(info.index); });

}  // namespace
}  // namespace onnx_mem
