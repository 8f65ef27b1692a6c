#include "solver/methods/dag_search.h"

#include <filesystem>
#include <fstream>
#include <random>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "solver/edit/plan_editor.h"
#include "solver/methods/plan_repair.h"
#include "solver/methods/solve.h"
#include "solver/problem/instance.h"
#include "solver/problem/no_recompute.h"
#include "solver/problem/simulate.h"
#include "tests/solver/chain_graph.h"

namespace onnx_mem {
namespace {

// Whatever is changed, bytes and cost stay an upper bound of what the simulator says of the same runs, and what is
// taken back leaves no trace.
TEST(RunTimelineTest, FollowsTheSimulatorThroughRandomChanges) {
  std::mt19937 random(23);
  int compared = 0;
  int merged = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const StepGraph graph = GraphOfChain(RandomChain(3 + trial, random));
    const StageProblem problem = BuildStages(graph);
    const Schedule start = *ScheduleOf(graph, RunOnce(problem));
    RunTimeline timeline(problem, start);
    ASSERT_EQ(timeline.PeakBytes(), Simulate(graph, start)->peak_bytes);
    ASSERT_EQ(timeline.cost(), Simulate(graph, start)->cost);
    PlanEditor editor(timeline, timeline.PeakBytes() * 8 / 10);
    for (int i = 0; i < 300; ++i) {
      const size_t mark = timeline.Mark();
      const int64_t cost = timeline.cost();
      const int64_t peak_bytes = timeline.PeakBytes();
      bool done = false;
      const auto kind = random() % 6;
      if (kind < 3) {
        const auto item = static_cast<int>(random() % problem.items.size());
        const auto& list = timeline.accesses(item);
        if (list.empty()) continue;
        const auto drop = editor.FindDrop(item, list[random() % list.size()].key + 1, PlanEditor::kNever);
        if (drop.cost >= PlanEditor::kNever) continue;
        done = editor.Apply(drop);
      } else if (kind == 3) {
        done = editor.ShrinkSomething(timeline.run(timeline.RunsIn(timeline.PeakSlot()).front()).key);
      } else if (!timeline.reruns().empty()) {
        const int run = timeline.reruns()[random() % timeline.reruns().size()];
        done = kind == 4 ? editor.Merge(run) : editor.Remove(run);
        merged += done && kind == 4 ? 1 : 0;
      }
      if (!done || random() % 4 == 0) {
        timeline.TakeBack(mark);
        ASSERT_EQ(timeline.cost(), cost);
        ASSERT_EQ(timeline.PeakBytes(), peak_bytes);
        continue;
      }
      const auto schedule = ScheduleOf(graph, timeline.Runs());
      ASSERT_TRUE(schedule.has_value());
      const auto measure = Simulate(graph, *schedule);
      ASSERT_TRUE(measure.ok()) << measure.status();
      EXPECT_LE(measure->cost, timeline.cost());
      ++compared;
      if (random() % 5 == 0) timeline.Commit();
    }
  }
  EXPECT_GT(compared, 1000);
  EXPECT_GT(merged, 50);
}

TEST(DagSearchTest, TheSameIterationLimitGivesTheSamePlan) {
  std::mt19937 random(29);
  const ChainArrays arrays = RandomChain(12, random);
  const StepGraph graph = GraphOfChain(arrays);
  const int64_t full = Simulate(graph, *ScheduleOf(graph, RunOnce(BuildStages(graph))))->peak_bytes;
  SolveOptions options;
  options.time_limit_s = 0;
  options.iteration_limit = 500;
  const auto first = Solve(graph, full * 7 / 10, options);
  const auto second = Solve(graph, full * 7 / 10, options);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->status, SolveStatus::kFeasible);
  EXPECT_EQ(first->schedule, second->schedule);
}

// No plan is cheaper than a proven bound, none exceeds its budget, and most are as cheap as the best known.
TEST(DagSearchTest, RecordedInstances) {
  const std::filesystem::path folder = ONNX_MEM_UNPACKED_DIR "/step_graphs/instances";
  SolveOptions options;
  options.time_limit_s = 0;
  options.iteration_limit = 600;
  int plans = 0;
  int within = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto graph = ReadInstance(entry.path().string());
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::ifstream file(entry.path());
    const nlohmann::json json = nlohmann::json::parse(file);
    for (const auto& known : json["solutions"]) {
      const auto budget = known["budget"].get<int64_t>();
      const auto solution = Solve(*graph, budget, options);
      ASSERT_TRUE(solution.ok()) << solution.status();
      ++plans;
      if (solution->status != SolveStatus::kFeasible) continue;
      EXPECT_LE(solution->peak_bytes, budget);
      EXPECT_GE(solution->cost, known["lower_bound_proven"].get<int64_t>()) << entry.path() << " " << budget;
      within += solution->cost * 1000 <= known["best_cost"].get<int64_t>() * 1005 ? 1 : 0;
    }
  }
  EXPECT_GE(within * 10, plans * 6) << within << " of " << plans;
}

// Of a large graph a pass takes seconds: it ends with the time, and what it leaves is a plan within the limit.
TEST(PlanRepairTest, LeavesWhatItHasWhenTimeIsUp) {
  std::mt19937 random(7);
  const StepGraph graph = GraphOfChain(RandomChain(24, random));
  const StageProblem problem = BuildStages(graph);
  const Schedule start = *ScheduleOf(graph, RunOnce(problem));
  SolveLimits limits;
  const PlanningTask task{graph, problem, Simulate(graph, start)->peak_bytes, limits};
  PlanRepair repair(task, start);
  repair.editor().set_limit_bytes(task.budget_bytes * 8 / 10);
  ASSERT_TRUE(repair.Repair(/*noise=*/0));
  repair.timeline().Commit();
  const size_t again = repair.timeline().reruns().size();
  ASSERT_GT(again, 0U);
  repair.editor().set_limit_bytes(task.budget_bytes);
  limits.deadline = SolveLimits::Clock::now();
  repair.Tidy();
  EXPECT_EQ(repair.timeline().reruns().size(), again);
  limits.deadline.reset();
  repair.Tidy();
  EXPECT_TRUE(repair.timeline().reruns().empty());
}

}  // namespace
}  // namespace onnx_mem
