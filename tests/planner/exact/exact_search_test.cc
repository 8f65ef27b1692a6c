#include "planner/exact/exact_search.h"

#include <optional>

#include "gtest/gtest.h"
#include "planner/exact/cut_choice.h"
#include "planner/schedule/simulate.h"
#include "planner/solve.h"
#include "tests/planner/brute_force.h"
#include "tests/planner/random_graph.h"

namespace onnx_mem {
namespace {

constexpr uint64_t kGraphs = 3000;

StepGraph RandomGraph(uint64_t seed) { return seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed); }

TEST(CutChoiceTest, NeverBoundsAboveTheOptimum) {
  int feasible = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const StepGraph graph = RandomGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const std::optional<int64_t> best = BestCostByBruteForce(graph, budget);
    if (!best) continue;
    ++feasible;
    EXPECT_LE(ChooseCuts(BuildStages(graph), budget, 3).lower_bound, *best) << "seed " << seed;
  }
  EXPECT_GT(feasible, 500);
}

TEST(ExactSearchTest, FindsTheOptimumOrThatThereIsNone) {
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const StepGraph graph = RandomGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const std::optional<int64_t> best = BestCostByBruteForce(graph, budget);
    const auto solution = Solve(graph, budget, {"auto", 0, 0});
    ASSERT_TRUE(solution.ok());
    ASSERT_EQ(solution->status, best ? SolveStatus::kFeasible : SolveStatus::kInfeasible) << "seed " << seed;
    if (!best) continue;
    EXPECT_EQ(solution->cost, *best) << "seed " << seed;
    EXPECT_TRUE(solution->optimal) << "seed " << seed;
    const auto measure = Simulate(graph, solution->schedule);
    ASSERT_TRUE(measure.ok());
    EXPECT_LE(measure->peak_bytes, budget);
  }
}

TEST(ExactSearchTest, StopsAtItsLimitWithABoundThatHolds) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const StepGraph graph = RandomGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const std::optional<int64_t> best = BestCostByBruteForce(graph, budget);
    ExactSearchLimits limits;
    limits.state_limit = 8;
    const ExactSearchResult result = SearchExactly(BuildStages(graph), budget, {}, limits);
    if (best) {
      EXPECT_LE(result.lower_bound, *best) << "seed " << seed;
    }
    if (result.finished && result.found) {
      EXPECT_EQ(result.cost, best.value_or(-1));
    }
  }
}

}  // namespace
}  // namespace onnx_mem
