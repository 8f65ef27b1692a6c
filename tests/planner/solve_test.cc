#include "planner/solve.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "planner/schedule/instance.h"

namespace onnx_mem {
namespace {

TEST(SolveTest, KeepsEverythingWhereItFits) {
  const std::filesystem::path folder = std::filesystem::path(ONNX_MEM_SOURCE_DIR) / "../shared/planner/instances";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recorded instances beside the project";
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

}  // namespace
}  // namespace onnx_mem
