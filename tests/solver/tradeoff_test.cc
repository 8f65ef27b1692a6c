#include "solver/methods/tradeoff.h"

#include <random>

#include "gtest/gtest.h"
#include "solver/problem/simulate.h"
#include "tests/solver/chain_graph.h"
#include "tests/solver/random_graph.h"

namespace onnx_mem {
namespace {

void ExpectMonotone(const StepGraph& graph, const std::vector<TradeoffPoint>& curve) {
  for (size_t i = 0; i < curve.size(); ++i) {
    const Solution& point = curve[i].solution;
    if (point.status == SolveStatus::kFeasible) {
      const auto measure = Simulate(graph, point.schedule);
      ASSERT_TRUE(measure.ok());
      EXPECT_EQ(measure->cost, point.cost);
      EXPECT_LE(measure->peak_bytes, curve[i].budget_bytes);
      EXPECT_LE(point.lower_bound, point.cost);
    }
    if (i == 0) continue;
    const Solution& larger = curve[i - 1].solution;
    EXPECT_LE(curve[i].budget_bytes, curve[i - 1].budget_bytes);
    EXPECT_GE(point.lower_bound, larger.lower_bound);
    if (point.status != SolveStatus::kFeasible) continue;
    ASSERT_EQ(larger.status, SolveStatus::kFeasible);
    EXPECT_GE(point.cost, larger.cost);
  }
}

TEST(TradeoffTest, MoreBytesNeverCostMore) {
  SolveOptions options;
  options.time_limit_s = 0;
  options.iteration_limit = 400;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const StepGraph graph = seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed);
    const auto curve = Tradeoff(graph, 8, options);
    ASSERT_TRUE(curve.ok());
    ASSERT_EQ(curve->size(), 8u);
    EXPECT_EQ(curve->front().solution.status, SolveStatus::kFeasible) << seed;
    EXPECT_TRUE(curve->front().solution.optimal) << seed;
    ExpectMonotone(graph, *curve);
  }
}

TEST(TradeoffTest, OfAChainDownToItsLeast) {
  std::mt19937 random(31);
  const StepGraph graph = GraphOfChain(RandomChain(10, random));
  SolveOptions options;
  options.time_limit_s = 0;
  options.iteration_limit = 800;
  const auto curve = Tradeoff(graph, 12, options);
  ASSERT_TRUE(curve.ok());
  ExpectMonotone(graph, *curve);
  EXPECT_GE(curve->back().budget_bytes, LeastBudget(graph));
  EXPECT_GT(curve->at(6).solution.cost, curve->front().solution.cost);
}

}  // namespace
}  // namespace onnx_mem
