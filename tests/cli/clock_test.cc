#include "cli/answers/clock.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

TEST(ClockTest, ReadsNodesAndModules) {
  const auto nodes =
      ParseCosts("node,phase,microseconds\n/conv1/Conv, forward ,812.5\n\"/a,b\",backward,0\r\n\n", "t.csv");
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[0].place, "/conv1/Conv");
  EXPECT_FALSE((*nodes)[0].is_module);
  EXPECT_EQ((*nodes)[0].nanoseconds, 812'500);
  EXPECT_EQ((*nodes)[1].place, "/a,b");
  EXPECT_EQ((*nodes)[1].phase, Phase::kBackward);
  const auto modules = ParseCosts("module,phase,microseconds\n,optimizer,3\n", "t.csv");
  ASSERT_TRUE(modules.ok()) << modules.status();
  EXPECT_TRUE(modules->front().is_module);
  EXPECT_EQ(modules->front().place, "");
}

TEST(ClockTest, BadFilesNameTheLine) {
  const auto error = [](std::string_view text) {
    const auto times = ParseCosts(text, "t.csv");
    EXPECT_FALSE(times.ok());
    const Diagnostic diagnostic = DiagnosticOf(times.status());
    EXPECT_EQ(diagnostic.code, Code::kBadCost);
    return diagnostic.message;
  };
  EXPECT_EQ(error(""), "'t.csv' line 1: the file is empty");
  EXPECT_EQ(error("layer,ms\n"), "'t.csv' line 1: not the header of a file of times");
  EXPECT_EQ(error("node,phase,microseconds\n\na,sideways,3\n"), "'t.csv' line 3: 'sideways' is not a phase");
  EXPECT_EQ(error("node,phase,microseconds\na,forward,-3\n"), "'t.csv' line 2: '-3' is not a number of microseconds");
  EXPECT_EQ(error("node,phase,microseconds\na,forward,nan\n"), "'t.csv' line 2: 'nan' is not a number of microseconds");
  EXPECT_EQ(error("node,phase,microseconds\na,forward,1e99\n"),
            "'t.csv' line 2: '1e99' is not a number of microseconds");
  EXPECT_EQ(error("node,phase,microseconds\na,forward\n"), "'t.csv' line 2: not three fields");
}

TEST(ClockTest, ACardWithoutRatesSaysWhyItTellsNoTimes) {
  Options options;
  EXPECT_FALSE(ClockOf(options)->named);
  options.gpu = "RTX 5060 Laptop";
  const absl::StatusOr<Clock> clock = ClockOf(options);
  ASSERT_TRUE(clock.ok()) << clock.status();
  EXPECT_TRUE(clock->named);
  EXPECT_NE(clock->unknown, "");
  options.gpu = "RTX 4090";
  EXPECT_EQ(ClockOf(options)->unknown, "");
}

TEST(ClockTest, TimesOfWhatDoesNotRunAreReported) {
  MemoryProgram program;
  Step step;
  step.node = "a";
  program.steps.Add(step);
  Clock clock;
  clock.measured = {{"a", false, Phase::kForward, 5}};
  EXPECT_TRUE(UnmatchedTimes(clock, program).empty());
  clock.measured.push_back({"b", false, Phase::kForward, 5});
  clock.measured.push_back({"a", false, Phase::kBackward, 5});
  const std::vector<Diagnostic> warnings = UnmatchedTimes(clock, program);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings.front().code, Code::kNoMatch);
  EXPECT_EQ(warnings.front().count, 2);
}

}  // namespace
}  // namespace onnx_mem
