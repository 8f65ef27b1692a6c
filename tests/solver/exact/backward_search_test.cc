#include "solver/exact/backward_search.h"

#include <functional>
#include <optional>

#include "gtest/gtest.h"
#include "solver/exact/preceding_cost.h"
#include "solver/problem/simulate.h"
#include "tests/solver/brute_force.h"
#include "tests/solver/random_graph.h"

namespace onnx_mem {
namespace {

StepGraph RandomGraph(uint64_t seed) { return seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed); }

TEST(BackwardSearchTest, FindsTheOptimumOfRandomGraphsOrThatThereIsNone) {
  int feasible = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const StepGraph graph = RandomGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const std::optional<int64_t> best = BestCostByBruteForce(graph, budget);
    const ExactSearchResult result = SearchBackward(BuildStages(graph), budget, {});
    ASSERT_TRUE(result.finished) << "seed " << seed;
    ASSERT_EQ(result.found, best.has_value()) << "seed " << seed;
    EXPECT_EQ(result.lower_bound, best.value_or(kImpossible)) << "seed " << seed;
    if (!best) continue;
    ++feasible;
    EXPECT_EQ(result.cost, *best) << "seed " << seed;
    const std::optional<Schedule> schedule = ScheduleOf(graph, result.runs);
    ASSERT_TRUE(schedule.has_value());
    const auto measure = Simulate(graph, *schedule);
    ASSERT_TRUE(measure.ok());
    EXPECT_EQ(measure->cost, *best);
    EXPECT_LE(measure->peak_bytes, budget);
  }
  EXPECT_GT(feasible, 1000);
}

TEST(BackwardSearchTest, StopsAtItsLimitWithABoundThatHolds) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const StepGraph graph = RandomGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const std::optional<int64_t> best = BestCostByBruteForce(graph, budget);
    ExactSearchLimits limits;
    limits.state_limit = 12;
    const ExactSearchResult result = SearchBackward(BuildStages(graph), budget, limits);
    if (best) {
      EXPECT_LE(result.lower_bound, *best) << "seed " << seed;
    }
  }
}

TEST(PrecedingCostTest, ChargesWhatDoesNotFitAtTheAnchorBefore) {
  StepGraph graph;
  const StepTensorId a = graph.tensors.Add({"a", 10, StepTensorKind::kActivation});
  const StepTensorId b = graph.tensors.Add({"b", 10, StepTensorKind::kActivation});
  const StepTensorId c = graph.tensors.Add({"c", 25, StepTensorKind::kActivation});
  graph.ops.Add({"Fa", StepOpKind::kForward, 3, 0, {}, {a}, ""});
  graph.ops.Add({"Fb", StepOpKind::kForward, 4, 0, {{a}}, {b}, ""});
  graph.ops.Add({"Fc", StepOpKind::kForward, 5, 0, {{b}}, {c}, ""});
  graph.ops.Add({"Bc", StepOpKind::kBackward, 1, 0, {{c}}, {}, ""});
  graph.ops.Add({"Bab", StepOpKind::kBackward, 1, 0, {{a}, {b}}, {}, ""});
  const StageProblem problem = BuildStages(graph);
  const std::function<bool()> never = [] { return false; };
  const Word a_and_b[] = {3};
  EXPECT_EQ(PrecedingCost(problem, 45, {}, never).Bound(1, a_and_b), 12);  // all three fit beside each other
  EXPECT_EQ(PrecedingCost(problem, 35, {}, never).Bound(1, a_and_b), 15);  // one of the two is made behind Bc: a
  EXPECT_EQ(PrecedingCost(problem, 25, {}, never).Bound(1, a_and_b), 19);  // both are
  EXPECT_EQ(PrecedingCost(problem, 20, {}, never).Bound(1, a_and_b), kImpossible);
}

}  // namespace
}  // namespace onnx_mem
