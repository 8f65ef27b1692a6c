#include "solver/methods/demand_plan.h"

#include <optional>

#include "gtest/gtest.h"
#include "solver/edit/run_thinning.h"
#include "solver/problem/simulate.h"
#include "tests/solver/brute_force.h"
#include "tests/solver/random_graph.h"

namespace onnx_mem {
namespace {

std::optional<ScheduleMeasure> Measure(const StepGraph& graph, const OpSequence& runs) {
  const std::optional<Schedule> schedule = ScheduleOf(graph, runs);
  if (!schedule) return std::nullopt;
  const auto measure = Simulate(graph, *schedule);
  if (!measure.ok()) return std::nullopt;
  return *measure;
}

OpSequence UsedRuns(const StepGraph& graph, const OpSequence& runs) {
  OpSequence used;
  const std::optional<Schedule> schedule = ScheduleOf(graph, runs);
  if (!schedule) return used;
  for (const ScheduleStep& step : *schedule) {
    if (step.kind == ScheduleStep::Kind::kCompute) used.push_back(step.op());
  }
  return used;
}

TEST(DemandPlanTest, FindsAPlanWhereverThereIsOneWithoutABackward) {
  int found = 0;
  for (uint64_t seed = 1; seed < 2000; seed += 2) {
    const StepGraph graph = RandomOrderedGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const std::optional<int64_t> best = BestCostByBruteForce(graph, budget);
    ProvisionsFromNothing from_nothing;
    const OpSequence runs = RunOnDemand(BuildStages(graph), budget, {}, {.state_limit = 100000}, from_nothing);
    ASSERT_EQ(runs.empty(), !best) << "seed " << seed;
    if (!best) continue;
    ++found;
    const auto measure = Measure(graph, runs);
    ASSERT_TRUE(measure) << "seed " << seed;
    EXPECT_LE(measure->peak_bytes, budget) << "seed " << seed;
  }
  EXPECT_GT(found, 150);
}

TEST(DemandPlanTest, PlansOfTrainingStepsFit) {
  int found = 0;
  for (uint64_t seed = 0; seed < 2000; seed += 2) {
    const StepGraph graph = RandomTrainingGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    ProvisionsFromNothing from_nothing;
    const OpSequence runs = RunOnDemand(BuildStages(graph), budget, {}, {.state_limit = 100000}, from_nothing);
    if (runs.empty()) continue;
    ++found;
    const auto measure = Measure(graph, runs);
    ASSERT_TRUE(measure) << "seed " << seed;
    EXPECT_LE(measure->peak_bytes, budget) << "seed " << seed;
  }
  EXPECT_GT(found, 300);
}

TEST(RunThinningTest, CostsLessAndStillFits) {
  int thinner = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const StepGraph graph = seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const StageProblem problem = BuildStages(graph);
    ProvisionsFromNothing from_nothing;
    const OpSequence runs = RunOnDemand(problem, budget, {}, {.state_limit = 100000}, from_nothing);
    if (runs.empty()) continue;
    const OpSequence used = UsedRuns(graph, runs);
    const auto before = Measure(graph, used);
    const auto after = Measure(graph, ThinOut(problem, used, budget, [] { return false; }));
    ASSERT_TRUE(before && after) << "seed " << seed;
    EXPECT_LE(after->peak_bytes, budget) << "seed " << seed;
    EXPECT_LE(after->cost, before->cost) << "seed " << seed;
    thinner += after->cost < before->cost ? 1 : 0;
  }
  EXPECT_GT(thinner, 50);
}

}  // namespace
}  // namespace onnx_mem
