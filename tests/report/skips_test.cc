#include "report/parts/skips.h"

#include <gtest/gtest.h>

#include <string>

#include "analyzer/study/study.h"

namespace onnx_mem {
namespace {

MemoryProgram InferenceOf(const std::string& name) {
  const absl::StatusOr<ModelFile> file =
      ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + name + ".train.ts.op17.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  Workload workload;
  workload.mode = Mode::kInference;
  workload.bindings.batch = 4;
  const absl::StatusOr<Analysis> analysis = Analyze(*file, workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return *analysis->inference()->program;
}

std::vector<Skip> SkipsOf(const std::string& name) { return FindSkips(InferenceOf(name)); }

// The outermost skip of an encoder that halves its images holds most, and longest.
TEST(FindSkips, AnEncodersOutputsThatItsDecoderReads) {
  const std::vector<Skip> skips = SkipsOf("unet_seg");
  ASSERT_GE(skips.size(), 3u);
  EXPECT_GT(skips[0].bytes, skips[2].bytes);
  EXPECT_GT(skips[0].held_steps, skips[2].held_steps);
}

TEST(FindSkips, NoneInAChain) { EXPECT_TRUE(SkipsOf("lenet5").empty()); }

// What is left are arguments of calls: a stage's input lives until the stage returns.
TEST(FindSkips, ShortcutsOfResidualBlocksAreNone) {
  const MemoryProgram program = InferenceOf("resnet50");
  for (const Skip& skip : FindSkips(program)) {
    EXPECT_NE(program.buffers[skip.buffer].kept_by, "") << program.buffers[skip.buffer].name.str();
  }
}

// a lives over all steps but the last; without it the peak is that of step 1, where it has just been made.
TEST(FindSkips, ThePeakWithoutItIsThatOfTheOtherSteps) {
  MemoryProgram program;
  for (int i = 0; i < 20; ++i) program.steps.Add({.op = "op", .node = "", .module = "", .kernel_takes = {}});
  program.buffers.Add(
      {.name = "a", .bytes = 100, .begin = StepId(0), .end = StepId(19), .kept_by = "", .dims = {}, .module = ""});
  program.buffers.Add(
      {.name = "b", .bytes = 50, .begin = StepId(8), .end = StepId(9), .kept_by = "", .dims = {}, .module = ""});
  program.buffers.Add(
      {.name = "c", .bytes = 20, .begin = StepId(1), .end = StepId(2), .kept_by = "", .dims = {}, .module = ""});
  const std::vector<Skip> skips = FindSkips(program);
  ASSERT_EQ(skips.size(), 1u);
  EXPECT_EQ(skips[0].held_steps, 19);
  EXPECT_EQ(skips[0].saves_bytes, 150 - 120);
}

}  // namespace
}  // namespace onnx_mem
