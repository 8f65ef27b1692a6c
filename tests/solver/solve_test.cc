#include "solver/methods/solve.h"

#include <filesystem>
#include <fstream>
#include <optional>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "solver/problem/instance.h"
#include "solver/problem/simulate.h"
#include "tests/solver/brute_force.h"
#include "tests/solver/random_graph.h"

namespace onnx_mem {
namespace {

TEST(SolveTest, KeepsEverythingWhereItFits) {
  const std::filesystem::path folder = ONNX_MEM_UNPACKED_DIR "/step_graphs/instances";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto graph = ReadInstance(entry.path().string());
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::ifstream file(entry.path());
    const nlohmann::json json = nlohmann::json::parse(file);
    const auto solution = Solve(*graph, json["full_peak"].get<int64_t>(), {});
    ASSERT_TRUE(solution.ok()) << solution.status();
    EXPECT_EQ(solution->status, SolveStatus::kFeasible) << entry.path();
    EXPECT_EQ(solution->cost, json["once_cost"].get<int64_t>()) << entry.path();
    EXPECT_EQ(solution->peak_bytes, json["full_peak"].get<int64_t>()) << entry.path();
    EXPECT_TRUE(solution->optimal);
  }
}

TEST(SolveTest, FindsTheOptimumOfRandomGraphsOrThatThereIsNone) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const StepGraph graph = seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed);
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

TEST(SolveTest, RefusesAMethodThatHasNoRow) {
  const auto solution = Solve(RandomTrainingGraph(1), 100, {"chain", 0, 0});
  EXPECT_EQ(solution.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace onnx_mem
