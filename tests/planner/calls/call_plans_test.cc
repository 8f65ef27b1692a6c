// Plans per operator call of real models: what they promise is what the analysis measures, and they cost no more than
// plans of whole modules, nor less than what is proven.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

using Result = absl::StatusOr<PlanAnswer>;

PlanAnswer AnswerFor(const TrainedModel& model, Granularity granularity, std::optional<int64_t> live_budget) {
  PlanRequest request;
  request.budget_line = BudgetLine::kLive;
  request.budget_bytes = live_budget;
  request.iteration_limit = 120;
  request.granularity = granularity;
  Study study(model.imported);
  absl::StatusOr<PlanAnswer> answer = PlanModel(study, model.workload, request);
  if (!answer.ok()) ADD_FAILURE() << answer.status();
  return *std::move(answer);
}

TEST(CallPlans, CostNoMoreThanModulesAndAsMuchAsIsProven) {
  for (const auto& [name, batch] :
       {std::pair("resnet18.train.ts.op17.onnx", 32), std::pair("mobilenet_v2.train.ts.op17.onnx", 32)}) {
    const TrainedModel model = LoadTrained(name, batch);
    const int64_t most = AnswerFor(model, Granularity::kModule, std::nullopt).baseline.peak_bytes;
    int cheaper = 0;
    for (const int64_t share : {80, 90}) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(share));
      const PlanAnswer modules = AnswerFor(model, Granularity::kModule, most * share / 100);
      const PlanAnswer calls = AnswerFor(model, Granularity::kCall, most * share / 100);
      ASSERT_NE(Chosen(modules), nullptr);
      ASSERT_NE(Chosen(calls), nullptr);
      const Measured& chosen = Chosen(calls)->measured;
      EXPECT_LE(chosen.peak_bytes, most * share / 100);
      EXPECT_LE(chosen.recompute_ns, Chosen(modules)->measured.recompute_ns);
      EXPECT_GE(chosen.recompute_ns, calls.lower_bound_recompute_ns);
      ASSERT_TRUE(calls.class_bound.has_value());
      EXPECT_LE(calls.class_bound->cost.value_or(0), chosen.recompute_ns);
      ExpectAsMeasured(model, *Chosen(calls));
      cheaper += chosen.recompute_ns < Chosen(modules)->measured.recompute_ns ? 1 : 0;
    }
    EXPECT_EQ(cheaper, 2) << name;
  }
}

// Shares of what the step needs without a plan.
constexpr auto kShares = std::to_array<int64_t>({66, 78, 90});

// What the plan for each of the budgets costs; nullopt: there is none.
std::vector<std::optional<int64_t>> CostsFor(const TrainedModel& model, Granularity granularity) {
  std::vector<std::optional<int64_t>> costs;
  Study study(model.imported);
  PlanRequest request;
  request.budget_line = BudgetLine::kDevice;
  request.granularity = granularity;
  request.plans_alone = true;
  const Result whole = PlanModel(study, model.workload, request);
  if (!whole.ok()) ADD_FAILURE() << whole.status();
  for (const int64_t share : kShares) {
    request.budget_bytes = whole->baseline.device_bytes * share / 100;
    const Result answer = PlanModel(study, model.workload, request);
    if (!answer.ok()) ADD_FAILURE() << answer.status();
    const ModulePlan* chosen = Chosen(*answer);
    costs.push_back(chosen == nullptr ? std::nullopt : std::optional(chosen->measured.recompute_ns));
  }
  return costs;
}

TEST(CallPlans, MoreOfABudgetCostsNoMoreAndNoOtherKindCostsLess) {
  for (const auto& [name, batch] :
       {std::pair("../records/gpt2.eager", 512), std::pair("resnet18.train.ts.op17.onnx", 64)}) {
    SCOPED_TRACE(name);
    const TrainedModel model = LoadTrained(name, batch);
    const auto calls = CostsFor(model, Granularity::kCall);
    const auto modules = CostsFor(model, Granularity::kModule), ops = CostsFor(model, Granularity::kOp);
    for (size_t i = 0; i < kShares.size(); ++i) {
      if (i > 0 && calls[i - 1]) {
        ASSERT_TRUE(calls[i]) << kShares[i];
        EXPECT_LE(*calls[i], *calls[i - 1]) << kShares[i];
      }
      for (const auto& other : {modules[i], ops[i]}) {
        if (!other) continue;
        ASSERT_TRUE(calls[i]) << kShares[i];
        EXPECT_LE(*calls[i], *other) << kShares[i];
      }
    }
  }
}

TEST(CallPlans, HaveTheirWaysAndWholeModulesTheirs) {
  const TrainedModel model = LoadTrained("../records/gpt2.eager", 64);
  for (const std::string method : {"none", "sqrt", "chen", "chain", "dag", "auto"}) {
    PlanRequest request;
    request.granularity = Granularity::kCall;
    request.budget_line = BudgetLine::kLive;
    request.method = method;
    request.iteration_limit = 60;
    Study study(model.imported);
    const Result answer = PlanModel(study, model.workload, request);
    ASSERT_TRUE(answer.ok()) << answer.status();
    const bool by_call = std::any_of(answer->plans.begin(), answer->plans.end(), [](const ModulePlan& plan) {
      return std::any_of(plan.segments.begin(), plan.segments.end(),
                         [](const PlannedSegment& planned) { return planned.segment.by_call(); });
    });
    EXPECT_EQ(by_call, method == "chain" || method == "dag" || method == "auto") << method;
  }
}

}  // namespace
}  // namespace onnx_mem
