// Plans per operator call of real models: what they promise is what the analysis measures, and they cost no more than
// plans of whole modules, nor less than what is proven.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

void ExpectAsMeasured(const TrainedModel& model, const ModulePlan& plan) {
  Workload workload = model.workload;
  for (const PlannedSegment& segment : plan.segments) workload.run.segments.push_back(segment.segment);
  const auto analysis = Study(model.imported).Ask(workload);
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_EQ(plan.measured.peak_bytes, analysis->training()->peak_bytes) << plan.label;
  EXPECT_EQ(plan.measured.recompute_flops, analysis->recompute_flops) << plan.label;
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

// What the plan for each of a row of budgets costs; nullopt: there is none.
std::vector<std::optional<int64_t>> CostsFor(const TrainedModel& model, Granularity granularity, BudgetLine line) {
  std::vector<std::optional<int64_t>> costs;
  Study study(model.imported);
  PlanRequest request;
  request.budget_line = line;
  request.granularity = granularity;
  request.plans_alone = true;
  const Result whole = PlanModel(study, model.workload, request);
  if (!whole.ok()) ADD_FAILURE() << whole.status();
  const int64_t most = line == BudgetLine::kLive ? whole->baseline.peak_bytes : whole->baseline.device_bytes;
  for (int64_t share = 40; share <= 98; share += 2) {
    request.budget_bytes = most * share / 100;
    const Result answer = PlanModel(study, model.workload, request);
    if (!answer.ok()) ADD_FAILURE() << answer.status();
    const ModulePlan* chosen = Chosen(*answer);
    costs.push_back(chosen == nullptr ? std::nullopt : std::optional(chosen->measured.recompute_ns));
  }
  return costs;
}

TEST(CallPlans, MoreOfABudgetCostsNoMoreAndNoOtherKindCostsLess) {
  for (const auto& [name, batch] : {std::pair("../records/gpt2.eager", 512), std::pair("../records/llama.eager", 256),
                                    std::pair("resnet18.train.ts.op17.onnx", 64)}) {
    const TrainedModel model = LoadTrained(name, batch);
    for (const BudgetLine line : {BudgetLine::kLive, BudgetLine::kDevice}) {
      SCOPED_TRACE(absl::StrCat(name, line == BudgetLine::kLive ? " alive" : " on the device"));
      const auto calls = CostsFor(model, Granularity::kCall, line);
      const auto modules = CostsFor(model, Granularity::kModule, line), ops = CostsFor(model, Granularity::kOp, line);
      for (size_t i = 0; i < calls.size(); ++i) {
        const int64_t share = 40 + 2 * static_cast<int64_t>(i);
        if (i > 0 && calls[i - 1]) {
          ASSERT_TRUE(calls[i]) << share;
          EXPECT_LE(*calls[i], *calls[i - 1]) << share;
        }
        for (const auto& other : {modules[i], ops[i]}) {
          if (!other) continue;
          ASSERT_TRUE(calls[i]) << share;
          EXPECT_LE(*calls[i], *other) << share;
        }
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
