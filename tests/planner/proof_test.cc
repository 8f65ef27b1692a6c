// The step graph of real models against the accountant: what is proven there must hold for every plan that was enacted.
#include "planner/search/proof.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "planner/measure/plan.h"
#include "planner/measure/step_graph.h"
#include "solver/methods/solve.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

struct ProofCase {
  const char* name;
  int64_t batch;
};
constexpr ProofCase kProofCases[] = {{"resnet18.train.ts.op17.onnx", 16},
                                     {"unet_seg.train.ts.op17.onnx", 2},
                                     {"resnet50.train.dynamo.op18.noopt.onnx", 4},
                                     {"vit_b_16.train.ts.op17.onnx", 2}};

Study StudyOf(const ProofCase& c, Workload& workload) {
  workload.mode = Mode::kTraining;
  workload.bindings.batch = c.batch;
  workload.optimizer = *ParseOptimizer("momentum");
  const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + c.name);
  if (!file.ok()) ADD_FAILURE() << file.status();
  auto model = file->Import(workload.bindings);
  if (!model.ok()) ADD_FAILURE() << model.status();
  return Study(*std::move(model));
}

TEST(StepGraphOf, KeepsAllThatTheEnactedStepKeepsForBackward) {
  for (const ProofCase& c : kProofCases) {
    SCOPED_TRACE(c.name);
    Workload workload;
    Study study = StudyOf(c, workload);
    const auto accountant = Accountant::Create(study, workload, PlanRequest().clock, CostLine::kFlops);
    ASSERT_TRUE(accountant.ok()) << accountant.status();
    auto prover = Prover::Create(*accountant, CostLine::kFlops, BudgetLine::kLive);
    ASSERT_TRUE(prover.ok()) << prover.status();
    const auto all = Solve(prover->graph(), int64_t{1} << 60, {.method = "none", .time_limit_s = 0});
    ASSERT_TRUE(all.ok());
    const int64_t peak = accountant->baseline_figures().peak_bytes;
    EXPECT_LE(all->peak_bytes, peak);
    EXPECT_GE(static_cast<double>(all->peak_bytes), 0.9 * static_cast<double>(peak));
    EXPECT_LE(prover->minimum().bytes, peak);
    EXPECT_GT(prover->minimum().bytes, prover->graph().base_bytes);
  }
}

// Nothing reads the counters of BatchNorms: a schedule that does not count them has not recomputed less.
TEST(Prover, CountersAreNoPartOfAStepThatRecomputesNothing) {
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.bindings.batch = 4;
  const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/records/resnet18.eager");
  ASSERT_TRUE(file.ok()) << file.status();
  Study study(*file);
  const auto accountant = Accountant::Create(study, workload, PlanRequest().clock, CostLine::kTime);
  ASSERT_TRUE(accountant.ok()) << accountant.status();
  auto prover = Prover::Create(*accountant, CostLine::kTime, BudgetLine::kLive);
  ASSERT_TRUE(prover.ok()) << prover.status();
  const auto all = Solve(prover->graph(), int64_t{1} << 60, {.method = "auto", .time_limit_s = 0});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->lower_bound, NeededOnceCost(prover->graph()));
  EXPECT_EQ(OnceCost(prover->graph()) - NeededOnceCost(prover->graph()), 20 * 10'000);  // 20 norms, a kernel each
}

TEST(Prover, NoEnactedPlanBeatsTheBound) {
  int positive = 0, plans = 0;
  for (const ProofCase& c : kProofCases) {
    SCOPED_TRACE(c.name);
    Workload workload;
    Study study = StudyOf(c, workload);
    for (const CostLine line : {CostLine::kFlops, CostLine::kTime}) {
      PlanRequest request;
      request.budget_line = BudgetLine::kLive;
      request.cost_line = line;
      request.iteration_limit = 25;
      request.time_limit_s = 0.2;
      const auto answer = PlanModel(study, workload, request);
      ASSERT_TRUE(answer.ok()) << answer.status();
      const auto accountant = Accountant::Create(study, workload, request.clock, line);
      ASSERT_TRUE(accountant.ok());
      auto prover = Prover::Create(*accountant, line, BudgetLine::kLive);
      ASSERT_TRUE(prover.ok()) << prover.status();
      for (size_t i = 0; i < answer->plans.size(); i += 1 + answer->plans.size() / 3) {
        const Measured& measured = answer->plans[i].measured;
        EXPECT_GE(measured.peak_bytes, prover->minimum().bytes);
        const auto bound = prover->BoundFor({measured.peak_bytes, /*schedules=*/false, 0.05, 0});
        ASSERT_TRUE(bound.ok()) << bound.status();
        EXPECT_FALSE(bound->infeasible) << answer->plans[i].label;
        const int64_t cost = line == CostLine::kTime ? measured.recompute_ns : measured.recompute_flops;
        EXPECT_LE(bound->cost, cost) << answer->plans[i].label;
        positive += bound->cost > 0;
        ++plans;
      }
    }
  }
  EXPECT_GE(plans, 12);
  EXPECT_GE(positive, 1);
}

// With gradients of an earlier micro-step there, and with checkpoints in the code itself, bounds stay below what is
// measured.
TEST(Prover, HoldsForMicroStepsAndForCodeThatCheckpoints) {
  for (const bool own : {false, true}) {
    Workload workload;
    Study study = StudyOf({"resnet18.train.ts.op17.onnx", 16}, workload);
    if (own) {
      workload.run.checkpointed = {"layer1"};
    } else {
      workload.run.accumulate = 4;
    }
    PlanRequest request;
    request.budget_line = BudgetLine::kLive;
    request.iteration_limit = 40;
    request.time_limit_s = 0.2;
    const auto answer = PlanModel(study, workload, request);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->class_bound.has_value(), !own);
    const auto accountant = Accountant::Create(study, workload, request.clock, CostLine::kFlops);
    ASSERT_TRUE(accountant.ok());
    auto prover = Prover::Create(*accountant, CostLine::kFlops, BudgetLine::kLive);
    ASSERT_TRUE(prover.ok()) << prover.status();
    for (const ModulePlan& plan : answer->plans) {
      EXPECT_GE(plan.measured.peak_bytes, prover->minimum().bytes);
      const auto bound = prover->BoundFor({plan.measured.peak_bytes, /*schedules=*/false, 0.05, 0});
      ASSERT_TRUE(bound.ok()) << bound.status();
      EXPECT_FALSE(bound->infeasible) << plan.label;
      EXPECT_LE(bound->cost, plan.measured.recompute_flops) << plan.label;
      if (answer->class_bound) {
        EXPECT_GE(plan.measured.peak_bytes, answer->class_bound->floor_bytes);
      }
    }
  }
}

// Two layers: the second's gradient needs what the first made, so half the bytes of the pair cannot be spared.
TEST(Prover, BelowTheNeediestOperatorNothingFits) {
  const auto imported = ImportText(R"(m (float[64,256] x) => (float[64,256] y)
    <float[256,256] w0 = ["location": "none"], float[256,256] w1 = ["location": "none"]>
    { a = MatMul (x, w0)   b = Sigmoid (a)   c = MatMul (b, w1)   y = Sigmoid (c) })");
  ASSERT_TRUE(imported.ok()) << imported.status();
  Workload workload;
  workload.mode = Mode::kTraining;
  Study study(*imported);
  const auto accountant = Accountant::Create(study, workload, PlanRequest().clock, CostLine::kFlops);
  ASSERT_TRUE(accountant.ok()) << accountant.status();
  auto prover = Prover::Create(*accountant, CostLine::kFlops, BudgetLine::kLive);
  ASSERT_TRUE(prover.ok()) << prover.status();
  EXPECT_FALSE(prover->minimum().why.empty());
  const auto below = prover->BoundFor({prover->minimum().bytes - 1, false, 0, 0});
  ASSERT_TRUE(below.ok());
  EXPECT_TRUE(below->infeasible);
  EXPECT_EQ(below->why, prover->minimum().why);
  const auto above = prover->BoundFor({int64_t{1} << 40, false, 0, 0});  // what was solved is not the answer to this
  ASSERT_TRUE(above.ok());
  EXPECT_FALSE(above->infeasible);
}

}  // namespace
}  // namespace onnx_mem
