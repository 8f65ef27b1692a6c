#include "solver/methods/chain_dp.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "solver/problem/instance.h"
#include "solver/problem/simulate.h"
#include "tests/solver/chain_graph.h"
#include "tests/solver/persistent_search.h"

namespace onnx_mem {
namespace {

constexpr int64_t kAnyBytes = int64_t{1} << 50;

TEST(ChainDpTest, EqualsTheCheapestOfAllPersistentSchedules) {
  std::mt19937 random(7);
  int feasible = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const ChainArrays arrays = RandomChain(1 + trial % 7, random);
    const Chain chain = ChainOf(arrays);
    const ChainSolution solution = SolveChain(chain, kAnyBytes);
    ASSERT_TRUE(solution.exact());
    for (const auto& [budget, cost] : solution.Curve()) {
      EXPECT_EQ(CheapestPersistent(arrays, budget), cost) << "chain " << trial << ", budget " << budget;
      EXPECT_EQ(CheapestPersistent(arrays, budget - 1), solution.CostWithin(budget - 1));
      ++feasible;
    }
  }
  EXPECT_GT(feasible, 4000);
}

TEST(ChainDpTest, SchedulesCostAndNeedWhatTheFunctionSays) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const ChainArrays arrays = RandomChain(2 + trial % 12, random);
    const StepGraph graph = GraphOfChain(arrays);
    ASSERT_TRUE(VerifyStepGraph(graph).ok());
    const auto chain = ExtractChain(graph, BuildStages(graph));
    ASSERT_TRUE(chain.has_value());
    const ChainSolution solution = SolveChain(*chain, kAnyBytes);
    const Chain same = ChainOf(arrays);
    EXPECT_EQ(solution.Curve(), SolveChain(same, kAnyBytes).Curve());
    for (const auto& [budget, cost] : solution.Curve()) {
      const auto schedule = ScheduleOf(graph, *solution.RunsWithin(budget));
      ASSERT_TRUE(schedule.has_value());
      const auto measure = Simulate(graph, *schedule);
      ASSERT_TRUE(measure.ok()) << measure.status();
      EXPECT_EQ(measure->cost, cost + BackwardCost(arrays));
      EXPECT_LE(measure->peak_bytes, budget);
    }
  }
}

TEST(ChainDpTest, ThinnedFunctionsNeverExceedTheBudget) {
  std::mt19937 random(13);
  const StepGraph graph = GraphOfChain(RandomChain(40, random));
  const auto chain = ExtractChain(graph, BuildStages(graph));
  ASSERT_TRUE(chain.has_value());
  const ChainSolution exact = SolveChain(*chain, kAnyBytes);
  const ChainSolution thinned = SolveChain(*chain, kAnyBytes, /*most_work=*/400'000);
  EXPECT_TRUE(exact.exact());
  EXPECT_FALSE(thinned.exact());
  for (const auto& [budget, cost] : thinned.Curve()) {
    EXPECT_GE(cost, *exact.CostWithin(budget));
    const auto measure = Simulate(graph, *ScheduleOf(graph, *thinned.RunsWithin(budget)));
    ASSERT_TRUE(measure.ok()) << measure.status();
    EXPECT_LE(measure->peak_bytes, budget);
  }
}

TEST(ChainDpTest, FindsRecordedPersistentOptima) {
  const std::filesystem::path folder = ONNX_MEM_UNPACKED_DIR "/step_graphs/instances";
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    const nlohmann::json json = nlohmann::json::parse(file);
    if (!json["meta"].contains("chain")) continue;
    const auto graph = ReadInstance(entry.path().string());
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto chain = ExtractChain(*graph, BuildStages(*graph));
    ASSERT_TRUE(chain.has_value());
    const ChainSolution solution = SolveChain(*chain, kAnyBytes);
    int64_t backward_cost = 0;
    for (int64_t cost : json["meta"]["chain"]["b"]) backward_cost += cost;
    for (const auto& known : json["solutions"]) {
      EXPECT_EQ(*solution.CostWithin(known["budget"].get<int64_t>()) + backward_cost,
                known["persistent_optimum"].get<int64_t>())
          << entry.path() << " " << known["budget"];
      ++checked;
    }
  }
  EXPECT_GT(checked, 20);
}

}  // namespace
}  // namespace onnx_mem
