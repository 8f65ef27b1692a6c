#include "solver/bound/cut_bound.h"

#include <optional>

#include "gtest/gtest.h"
#include "tests/solver/brute_force.h"
#include "tests/solver/graph_builder.h"
#include "tests/solver/random_graph.h"

namespace onnx_mem {
namespace {

// The bench bound_check runs the same over 100,000 graphs.
constexpr uint64_t kGraphs = 4000;

TEST(CutBoundTest, NeverAboveTheOptimum) {
  int feasible = 0;
  int tight = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const StepGraph graph = seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const std::optional<int64_t> best = BestCostByBruteForce(graph, budget);
    const CutBound bound = BoundByCuts(BuildStages(graph), budget, {});
    if (!best) continue;
    ++feasible;
    ASSERT_LT(bound.impossible_at, 0) << "seed " << seed;
    ASSERT_LE(bound.lower_bound, *best) << "seed " << seed;
    tight += bound.lower_bound == *best ? 1 : 0;
  }
  EXPECT_GT(feasible, 700);
  EXPECT_GT(tight * 10, feasible * 8);
}

// x -> F1 -> F2 -> F3, each 10 bytes; all outputs are read by the backward. With room for two of them while the last
// backward operator but one runs, the cheapest is made again.
TEST(CutBoundTest, ChargesTheCheapestToMakeAgain) {
  GraphBuilder b;
  const StepTensorId x = b.Input();
  const StepTensorId a1 = b.Activation(10);
  const StepTensorId a2 = b.Activation(10);
  const StepTensorId a3 = b.Activation(10);
  b.Forward(5, {{x}}, {a1});
  b.Forward(3, {{a1}}, {a2});
  b.Forward(7, {{a2}}, {a3});
  b.Backward(1, {{a3}}, {});
  b.Backward(1, {{a2}}, {});
  b.Backward(1, {{a1}}, {});
  EXPECT_EQ(BoundByCuts(BuildStages(b.graph), 30, {}).lower_bound, 18);
  EXPECT_EQ(BoundByCuts(BuildStages(b.graph), 20, {}).lower_bound, 18 + 3);
  EXPECT_GE(BoundByCuts(BuildStages(b.graph), 9, {}).impossible_at, 0);
}

// In a larger unit of cost the bound is as many times larger. Sanitizers see what overflows on the way.
TEST(CutBoundTest, ScalesWithTheCosts) {
  constexpr int64_t kScale = 4096;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    StepGraph graph = seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const CutBound bound = BoundByCuts(BuildStages(graph), budget, {});
    for (StepOp& op : graph.ops) op.cost *= kScale;
    const CutBound scaled = BoundByCuts(BuildStages(graph), budget, {});
    ASSERT_EQ(scaled.impossible_at, bound.impossible_at) << "seed " << seed;
    ASSERT_EQ(scaled.lower_bound, kScale * bound.lower_bound) << "seed " << seed;
  }
}

// The same work limit gives the same bound, and a smaller one a bound that holds as well.
TEST(CutBoundTest, KeepsToItsWorkLimit) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const StepGraph graph = seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed);
    const StageProblem problem = BuildStages(graph);
    const int64_t budget = RandomBudget(graph, seed);
    CutBoundLimits limits;
    limits.work_limit = 200;
    const CutBound some = BoundByCuts(problem, budget, limits);
    const CutBound all = BoundByCuts(problem, budget, {});
    if (all.impossible_at < 0) {
      EXPECT_LE(some.lower_bound, all.lower_bound);
    }
  }
}

}  // namespace
}  // namespace onnx_mem
