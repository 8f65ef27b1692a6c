// Options of the ranges of real models: what the engine's own rule makes of each, and that plans of them are as said.
#include "planner/calls/call_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/run/host_calls.h"
#include "analyzer/run/second_run.h"
#include "planner/calls/block_runs.h"
#include "planner/measure/accountant.h"
#include "planner/measure/region_calls.h"
#include "tests/planner/calls/trained_model.h"

namespace onnx_mem {
namespace {

// The option's kept calls, by the engine's rule, run again what the cut says, and nothing reads what is not there.
TEST(OptionsOf, RunAgainWhatTheEngineRunsAgain) {
  for (const auto& [name, batch] :
       {std::pair("resnet18.train.ts.op17.onnx", 8), std::pair("mobilenet_v2.train.ts.op17.onnx", 8)}) {
    SCOPED_TRACE(name);
    const TrainedModel model = LoadTrained(name, batch);
    Study study(model.imported);
    const auto accountant = Accountant::Create(study, model.workload, PlanRequest().clock, CostLine::kTime);
    ASSERT_TRUE(accountant.ok()) << accountant.status();
    const auto trace = TraceStep(accountant->lowered(), accountant->workload().run);
    ASSERT_TRUE(trace.ok()) << trace.status();
    RegionCalls calls = trace->calls;
    SetCosts(trace->enacted.program, accountant->clock(), calls);
    const std::vector<Candidate> ranges = RunsOf(accountant->lowered(), BlocksOf(accountant->lowered()), 3);
    SegmentLimits base;
    for (const Candidate& range : ranges) base.ranges.push_back({range.first, range.last, int64_t{1} << 60});
    const CallOptions moving =
        OptionsOf(calls, ranges, base, CostLine::kTime, /*call_cost=*/0, {.corners = 8}, LinkPrice{0.01, 100});
    int moved = 0;
    for (const Candidate& option : moving.candidates) {
      const RegionCalls region = PartOf(calls, option.first, option.last);
      std::vector<KeptCall> held = option.segment.keep_calls;
      held.insert(held.end(), option.segment.host_calls.begin(), option.segment.host_calls.end());
      const KeptInRegion kept = KeptIn(region, held);
      ASSERT_EQ(kept.error, "") << option.label;
      EXPECT_EQ(WrongReadIn(region, kept.outputs, StatesOf(region, kept.outputs)), "") << option.label;
      EXPECT_EQ(WhyNotMoved(region, KeptIn(region, option.segment.keep_calls).outputs,
                            KeptIn(region, option.segment.host_calls).outputs),
                "");
      moved += option.segment.host_calls.empty() ? 0 : 1;
    }
    EXPECT_GT(moved, 20);
    const CallOptions options = OptionsOf(calls, ranges, base, CostLine::kTime, /*call_cost=*/0);
    for (size_t i = 0; i < options.candidates.size(); ++i) {
      const Candidate& option = options.candidates[i];
      const RegionCalls region = PartOf(calls, option.first, option.last);
      const KeptInRegion kept = KeptIn(region, option.segment.keep_calls);
      ASSERT_EQ(kept.error, "") << option.label;
      const std::vector<CallState> states = StatesOf(region, kept.outputs);
      EXPECT_EQ(WrongReadIn(region, kept.outputs, states), "") << option.label;
      int64_t cost = 0;
      for (size_t c = 0; c < states.size(); ++c) cost += states[c] == CallState::kAgain ? region.calls[c].ns : 0;
      EXPECT_EQ(cost, options.figures[i].cost) << option.label;
    }
    EXPECT_GT(options.candidates.size(), 100U);
  }
}

TEST(RunsOf, BlocksAreNeighboursAcrossContainers) {
  const TrainedModel model = LoadTrained("resnet18.train.ts.op17.onnx", 2);
  Study study(model.imported);
  const auto lowered = study.Lower(model.workload.bindings, model.workload.run);
  ASSERT_TRUE(lowered.ok());
  const std::vector<Candidate> blocks = BlocksOf(**lowered);
  const std::vector<Candidate> runs = RunsOf(**lowered, blocks, 8);
  const auto has = [&](const std::vector<std::string>& modules) {
    return std::any_of(runs.begin(), runs.end(), [&](const Candidate& run) { return run.segment.modules == modules; });
  };
  EXPECT_TRUE(has({"layer1.1", "layer2.0", "layer2.1"}));
  EXPECT_TRUE(has({"conv1", "bn1", "relu", "maxpool", "layer1.0"}));
  EXPECT_FALSE(has({"layer1.0", "layer2.0"}));
}

}  // namespace
}  // namespace onnx_mem
