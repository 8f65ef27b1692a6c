// Plans of real models, judged once more by the analysis that knows nothing of planning.
#include "planner/measure/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "analyzer/analysis/enact.h"

namespace onnx_mem {
namespace {

struct Loaded {
  ImportedModel model;
  Workload workload;
};

Loaded Load(const std::string& name, int64_t batch) {
  const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + name);
  if (!file.ok()) ADD_FAILURE() << file.status();
  Loaded loaded;
  loaded.workload.mode = Mode::kTraining;
  loaded.workload.bindings.batch = batch;
  auto model = file->Import(loaded.workload.bindings);
  if (!model.ok()) ADD_FAILURE() << model.status();
  loaded.model = *std::move(model);
  return loaded;
}

#ifdef __SANITIZE_ADDRESS__
constexpr double kProofSeconds = 8;
#else
constexpr double kProofSeconds = 0.6;
#endif

PlanRequest Request(int64_t iterations = 80) {
  PlanRequest request;
  request.time_limit_s = kProofSeconds;  // ends the proof; the plans end with the iterations long before
  request.iteration_limit = iterations;
  return request;
}

PlanAnswer Answer(const Loaded& loaded, const PlanRequest& request) {
  Study study(loaded.model);
  absl::StatusOr<PlanAnswer> answer = PlanModel(study, loaded.workload, request);
  if (!answer.ok()) ADD_FAILURE() << answer.status();
  return *std::move(answer);
}

TEST(PlanModel, EveryPlanTakesWhatTheAnalysisMeasures) {
  for (const auto& [name, batch] :
       {std::pair("resnet18.train.ts.op17.onnx", 8), std::pair("unet_seg.train.ts.op17.onnx", 2),
        std::pair("mobilenet_v2.train.ts.op17.onnx", 8)}) {
    SCOPED_TRACE(name);
    const Loaded loaded = Load(name, batch);
    const PlanAnswer answer = Answer(loaded, Request(40));
    ASSERT_GT(answer.plans.size(), size_t{1});
    for (size_t i = 0; i < answer.plans.size(); i += 3) {
      const ModulePlan& plan = answer.plans[i];
      Workload workload = loaded.workload;
      for (const PlannedSegment& segment : plan.segments) workload.run.segments.push_back(segment.segment);
      const auto analysis = Study(loaded.model).Ask(workload);
      ASSERT_TRUE(analysis.ok()) << analysis.status();
      EXPECT_EQ(plan.measured.peak_bytes, analysis->training()->peak_bytes) << plan.label;
      EXPECT_EQ(plan.measured.device_bytes, analysis->training()->device_bytes) << plan.label;
      EXPECT_EQ(plan.measured.recompute_flops, analysis->recompute_flops) << plan.label;
    }
  }
}

// The command asks the study about the step before it plans; the course that it draws is that of an analysis, too.
TEST(PlanModel, WhatAStudyHasKeptChangesNoPlan) {
  const Loaded loaded = Load("resnet18.train.ts.op17.onnx", 8);
  PlanRequest request = Request(40);
  request.budget_bytes = Answer(loaded, request).plans.back().measured.device_bytes;
  const PlanAnswer alone = Answer(loaded, request);
  Workload workload = loaded.workload;
  Study study(loaded.model);
  ASSERT_TRUE(study.AskWithRange(workload).ok());
  const auto reported = PlanModel(study, loaded.workload, request);
  ASSERT_TRUE(reported.ok()) << reported.status();
  ASSERT_TRUE(alone.chosen.has_value());
  EXPECT_EQ(reported->chosen, alone.chosen);
  ASSERT_EQ(reported->plans.size(), alone.plans.size());
  for (size_t i = 0; i < alone.plans.size(); ++i) {
    EXPECT_EQ(reported->plans[i].label, alone.plans[i].label);
    EXPECT_EQ(reported->plans[i].measured.device_bytes, alone.plans[i].measured.device_bytes);
    EXPECT_EQ(reported->plans[i].measured.time_slowdown, alone.plans[i].measured.time_slowdown);
  }
  const ModulePlan& chosen = alone.plans[*alone.chosen];
  for (const PlannedSegment& segment : chosen.segments) workload.run.segments.push_back(segment.segment);
  const auto with = study.Ask(workload);
  ASSERT_TRUE(with.ok()) << with.status();
  const auto lowered = study.Lower(workload.bindings, workload.run);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  absl::StatusOr<Enacted> enacted = EnactLowered(**lowered, workload.run);
  ASSERT_TRUE(enacted.ok()) << enacted.status();
  EXPECT_EQ(*TrainingCourse(*enacted, workload), with->training()->timeline.live_bytes);
}

TEST(PlanModel, NeverOverTheBudgetAndMoreBudgetCostsNoMore) {
  for (const BudgetLine line : {BudgetLine::kDevice, BudgetLine::kLive}) {
    const Loaded loaded = Load("resnet18.train.ts.op17.onnx", 32);
    PlanRequest request = Request();
    request.budget_line = line;
    const PlanAnswer curve = Answer(loaded, request);
    const auto bytes = [&](const Measured& m) { return line == BudgetLine::kDevice ? m.device_bytes : m.peak_bytes; };
    const int64_t most = bytes(curve.baseline), least = curve.minimum_bytes;
    int64_t before = 0;
    for (int i = 0; i <= 4; ++i) {
      request.budget_bytes = most - (most - least) * i / 4;
      const PlanAnswer answer = Answer(loaded, request);
      if (!answer.chosen) {
        before = INT64_MAX;
        continue;
      }
      const Measured& chosen = answer.plans[*answer.chosen].measured;
      EXPECT_LE(bytes(chosen), *request.budget_bytes);
      EXPECT_GE(chosen.recompute_flops, before) << "with less memory";
      before = chosen.recompute_flops;
    }
  }
}

TEST(PlanModel, TheSameLimitGivesTheSamePlans) {
  const Loaded loaded = Load("resnet18.train.ts.op17.onnx", 32);
  const PlanAnswer a = Answer(loaded, Request()), b = Answer(loaded, Request());
  ASSERT_EQ(a.plans.size(), b.plans.size());
  for (size_t i = 0; i < a.plans.size(); ++i) {
    EXPECT_EQ(a.plans[i].label, b.plans[i].label);
    EXPECT_EQ(a.plans[i].measured.device_bytes, b.plans[i].measured.device_bytes);
  }
}

// Hand-made choices for ResNet-50, batch 64, Adam: 3,829 MiB of live bytes for 5.5 % more compute (layer1 as one),
// 2,403 MiB for 33 % (all blocks).
TEST(PlanModel, BeatsTheChoicesByHandOfResNet50) {
  const Loaded loaded = Load("resnet50.train.ts.op17.onnx", 64);
  PlanRequest request = Request(120);
  request.time_limit_s = 20;  // unoptimised, the iterations take seconds
  request.cost_line = CostLine::kFlops;
  request.budget_line = BudgetLine::kLive;
  const auto chosen = [&](int64_t budget) {
    request.budget_bytes = budget;
    const PlanAnswer answer = Answer(loaded, request);
    EXPECT_TRUE(answer.chosen.has_value());
    return answer.plans[answer.chosen.value_or(0)].measured;
  };
  EXPECT_LE(chosen(int64_t{3829} << 20).slowdown, 0.0551);
  EXPECT_LE(chosen(int64_t{2403} << 20).slowdown, 0.327);
}

// As for a model that is so large that there is no effort for a search.
TEST(PlanModel, WithoutEffortConventionsAreMeasuredAndTheRestIsReported) {
  const Loaded loaded = Load("resnet50.train.ts.op17.onnx", 16);
  PlanRequest request = Request(1);
  request.budget_line = BudgetLine::kLive;
  const PlanAnswer whole = Answer(loaded, request);
  EXPECT_FALSE(whole.not_searched.empty());
  const auto labelled = [&](const PlanAnswer& answer, std::string_view label) {
    return std::any_of(answer.plans.begin(), answer.plans.end(),
                       [&](const ModulePlan& plan) { return plan.label == label; });
  };
  EXPECT_TRUE(labelled(whole, "all stages") && labelled(whole, "each block"));
  EXPECT_GT(whole.plans.size(), size_t{3});
  request.budget_bytes = whole.baseline.peak_bytes / 4 * 3;
  const PlanAnswer answer = Answer(loaded, request);
  ASSERT_TRUE(answer.chosen.has_value());
  EXPECT_FALSE(answer.plans[*answer.chosen].segments.empty());
}

TEST(PlanModel, ABudgetBelowTheProvenMinimumIsInfeasible) {
  const Loaded loaded = Load("resnet18.train.ts.op17.onnx", 8);
  PlanRequest request = Request(10);
  request.budget_bytes = 1 << 20;
  const PlanAnswer answer = Answer(loaded, request);
  EXPECT_EQ(answer.status, PlanStatus::kInfeasible);
  EXPECT_FALSE(answer.chosen.has_value());
  EXPECT_GT(answer.minimum_bytes, 1 << 20);
  EXPECT_FALSE(answer.minimum_why.empty());
}

// On live bytes what sets of segments can do is known: every plan of the class is within the bound, and the best is
// found.
TEST(PlanModel, IsProvenOptimalAmongModuleLevelSegments) {
  for (const auto& [name, batch] : {std::pair("resnet18.train.ts.op17.onnx", 64)}) {
    SCOPED_TRACE(name);
    const Loaded loaded = Load(name, batch);
    PlanRequest request = Request(200);
    request.budget_line = BudgetLine::kLive;
    request.cost_line = CostLine::kFlops;
    const PlanAnswer whole = Answer(loaded, request);
    ASSERT_TRUE(whole.class_bound.has_value());
    const int64_t floor = whole.class_bound->floor_bytes;
    EXPECT_EQ(whole.plans.back().measured.peak_bytes, floor);
    for (int part = 0; part < 2; ++part) {
      request.budget_bytes = floor + (whole.baseline.peak_bytes - floor) * part / 2;
      const PlanAnswer answer = Answer(loaded, request);
      ASSERT_TRUE(answer.chosen.has_value());
      EXPECT_TRUE(answer.optimal);
      EXPECT_EQ(answer.class_bound->gap, 0);
      EXPECT_EQ(answer.class_bound->cost, answer.plans[*answer.chosen].measured.recompute_flops);
    }
    request.budget_bytes = floor - 1;
    const PlanAnswer below = Answer(loaded, request);
    EXPECT_FALSE(below.chosen.has_value());
    EXPECT_EQ(below.status, PlanStatus::kInfeasible);
    EXPECT_FALSE(below.infeasible_class.empty());
    ASSERT_TRUE(below.with_op.has_value());
  }
}

TEST(PlanModel, SelectiveCheckpointingIsNoWorseThanWholeModules) {
  const Loaded loaded = Load("mobilenet_v2.train.ts.op17.onnx", 16);
  PlanRequest request = Request();  // of single operators there are twice as many candidates: 40 enactments are too few
  const PlanAnswer modules = Answer(loaded, request);
  request.granularity = Granularity::kOp;
  const PlanAnswer op = Answer(loaded, request);
  for (const ModulePlan& plan : modules.plans) {
    if (plan.dominated) continue;  // a convention
    const bool matched = std::any_of(op.plans.begin(), op.plans.end(), [&](const ModulePlan& other) {
      return other.measured.device_bytes <= plan.measured.device_bytes &&
             other.measured.recompute_flops <= plan.measured.recompute_flops;
    });
    EXPECT_TRUE(matched) << plan.label;
  }
}

TEST(PlanModel, AnUnknownMethodIsAnError) {
  PlanRequest request = Request(10);
  request.method = "magic";
  const Loaded loaded = Load("lenet5.train.ts.op17.onnx", 8);
  Study study(loaded.model);
  EXPECT_FALSE(PlanModel(study, loaded.workload, request).ok());
}

// A card of the budget's size: the allocator gives back its cache, so more fits than stays below the budget by itself.
// What the screen offers, "Try --allocator pytorch-expandable", is what that option chooses, or dearer.
TEST(PlanModel, TheOptionOfAnOfferChoosesNoDearerPlan) {
  int offers = 0;
  for (const auto& [name, batch] :
       {std::pair("resnet50.train.ts.op17.onnx", 64), std::pair("unet_seg.train.ts.op17.onnx", 8)}) {
    SCOPED_TRACE(name);
    Loaded loaded = Load(name, batch);
    PlanRequest request = Request();
    const PlanAnswer curve = Answer(loaded, request);
    const int64_t most = curve.baseline.device_bytes, least = curve.plans.back().measured.device_bytes;
    for (int64_t share : {6, 4, 2}) {
      request.budget_bytes = least + (most - least) * share / 10;
      loaded.workload.allocator = "pytorch";
      const PlanAnswer answer = Answer(loaded, request);
      ASSERT_NE(Chosen(answer), nullptr);
      EXPECT_EQ(Chosen(answer)->settings, Settings());
      if (!answer.with_expandable_segments) continue;
      ++offers;
      const ModulePlan& offer = *answer.with_expandable_segments;
      loaded.workload.allocator = *AllocatorWith(offer.settings);
      const PlanAnswer chosen = Answer(loaded, request);
      ASSERT_NE(Chosen(chosen), nullptr);
      EXPECT_LE(Chosen(chosen)->measured.slowdown, offer.measured.slowdown);
      EXPECT_EQ(Chosen(chosen)->settings, offer.settings);
      EXPECT_FALSE(chosen.with_expandable_segments.has_value());
    }
  }
  EXPECT_GT(offers, 2);
}

// A plan that the user names is the one that is meant, unless it does not keep the limits, which is reported.
TEST(PlanModel, AGivenPlanIsChosenWithinTheLimits) {
  const Loaded loaded = Load("resnet18.train.ts.op17.onnx", 32);
  PlanRequest request = Request(20);
  request.given = {{.modules = {"layer1"}, .nodes = {}}, {.modules = {"layer2"}, .nodes = {}}};
  const PlanAnswer free = Answer(loaded, request);
  ASSERT_NE(Chosen(free), nullptr);
  EXPECT_EQ(Chosen(free)->method, "given");
  const auto reported = [](const PlanAnswer& answer) {
    return std::any_of(answer.diagnostics.begin(), answer.diagnostics.end(),
                       [](const Diagnostic& note) { return note.code == Code::kPlanOverLimit; });
  };
  EXPECT_FALSE(reported(free));
  request.budget_bytes = Chosen(free)->measured.device_bytes;
  EXPECT_EQ(Chosen(Answer(loaded, request))->method, "given");
  --*request.budget_bytes;
  const PlanAnswer below = Answer(loaded, request);
  EXPECT_TRUE(reported(below));
  ASSERT_NE(Chosen(below), nullptr);
  EXPECT_NE(Chosen(below)->method, "given");
  EXPECT_LE(Chosen(below)->measured.device_bytes, *request.budget_bytes);
}

TEST(PlanModel, ACardOfTheBudgetsSizeHoldsMoreThanTheAllocatorKeeps) {
  const Loaded loaded = Load("resnet18.train.ts.op17.onnx", 8);
  const PlanAnswer all = Answer(loaded, Request());
  PlanRequest request = Request();
  request.budget_bytes = all.plans.back().measured.device_bytes - (int64_t{20} << 20);
  const PlanAnswer answer = Answer(loaded, request);
  ASSERT_FALSE(answer.chosen.has_value());
  EXPECT_EQ(answer.status, PlanStatus::kNotFound);
  ASSERT_TRUE(answer.fits_but_fragments.has_value());
  const Measured& near = answer.fits_but_fragments->measured;
  EXPECT_LE(near.allocated_peak_bytes + answer.context_bytes, *request.budget_bytes);
  EXPECT_GT(near.device_bytes, *request.budget_bytes);
  ASSERT_TRUE(answer.on_such_a_card.has_value());
  const LimitedRun& run = answer.on_such_a_card->run;
  EXPECT_LE(run.device_bytes, *request.budget_bytes);
  EXPECT_GE(run.device_bytes, answer.context_bytes + answer.on_such_a_card->plan.measured.allocated_peak_bytes);
  EXPECT_GT(run.first_retries + run.retries_per_step, 0);
}

}  // namespace
}  // namespace onnx_mem
