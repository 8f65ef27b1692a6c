#include "solver/exact/backward_beam.h"

#include <optional>
#include <random>

#include "gtest/gtest.h"
#include "solver/exact/backward_search.h"
#include "solver/problem/no_recompute.h"
#include "solver/problem/simulate.h"
#include "tests/solver/brute_force.h"
#include "tests/solver/chain_graph.h"
#include "tests/solver/random_graph.h"

namespace onnx_mem {
namespace {

TEST(BackwardBeamTest, PlansFitAndNeverBeatTheOptimum) {
  int feasible = 0;
  int planned = 0;
  int optimal = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const StepGraph graph = seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const std::optional<int64_t> best = BestCostByBruteForce(graph, budget);
    BeamLimits limits;
    limits.width = 5;
    const OpSequence runs = PlanByBeam(BuildStages(graph), budget, limits);
    feasible += best ? 1 : 0;
    if (runs.empty()) continue;
    ++planned;
    const std::optional<Schedule> schedule = ScheduleOf(graph, runs);
    ASSERT_TRUE(schedule.has_value()) << "seed " << seed;
    const auto measure = Simulate(graph, *schedule);
    ASSERT_TRUE(measure.ok()) << "seed " << seed;
    EXPECT_LE(measure->peak_bytes, budget) << "seed " << seed;
    ASSERT_TRUE(best.has_value()) << "seed " << seed;
    EXPECT_GE(measure->cost, *best) << "seed " << seed;
    optimal += measure->cost == *best ? 1 : 0;
  }
  EXPECT_GT(planned * 100, feasible * 95) << planned << " of " << feasible;
  EXPECT_GT(optimal * 100, feasible * 90) << optimal << " of " << feasible;
}

// Where results have to go several times: a chain of 16 blocks in a third of what it takes to keep everything.
TEST(BackwardBeamTest, FindsPlansWhereLittleFits) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 5; ++trial) {
    const StepGraph graph = GraphOfChain(RandomChain(16, random));
    const StageProblem problem = BuildStages(graph);
    const auto all = ScheduleOf(graph, RunOnce(problem));
    ASSERT_TRUE(all.has_value());
    const int64_t budget = Simulate(graph, *all)->peak_bytes / 3;
    const ExactSearchResult best = SearchBackward(problem, budget, {});
    ASSERT_TRUE(best.found);
    const OpSequence runs = PlanByBeam(problem, budget, {});
    ASSERT_FALSE(runs.empty()) << "trial " << trial;
    const auto measure = Simulate(graph, *ScheduleOf(graph, runs));
    ASSERT_TRUE(measure.ok());
    EXPECT_LE(measure->peak_bytes, budget);
    EXPECT_GE(measure->cost, best.cost);
    EXPECT_LE(measure->cost * 100, best.cost * 102);
  }
}

}  // namespace
}  // namespace onnx_mem
