// The forwards and backwards of micro-batches in the order of a schedule.
#include "analyzer/eager/engine/micro_batches.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onnx_mem {
namespace {

// Two steps of forward, two of backward: a weight, what forward saved, an output, and a gradient where it is the first.
MemoryProgram MicroBatch(bool first) {
  MemoryProgram program;
  for (int i = 0; i < 4; ++i) {
    Step step;
    step.op = i < 2 ? "f" : "b";
    step.phase = i < 2 ? Phase::kForward : Phase::kBackward;
    program.steps.Add(step);
  }
  program.steps[StepId(3)].waits_for = StepId(1);
  const auto add = [&](const char* name, Category category, int begin, int end) {
    Buffer buffer;
    buffer.name = name;
    buffer.category = category;
    buffer.bytes = 8;
    buffer.begin = StepId(begin);
    buffer.end = StepId(end);
    program.buffers.Add(buffer);
  };
  add("weight", Category::kParameters, 0, 4);
  if (!first) add("gradient", Category::kGradients, 0, 4);
  add("passing", Category::kTransientActivations, 0, 2);
  add("saved", Category::kSavedActivations, 0, 3);
  add("output", Category::kTransientActivations, 1, 4);
  if (first) add("gradient", Category::kGradients, 2, 4);
  return program;
}

std::string LivesOf(const MemoryProgram& program) {
  std::string text;
  for (const Buffer& buffer : program.buffers) {
    text += std::string(buffer.name) + " " + std::to_string(buffer.begin.value()) + "-" +
            std::to_string(buffer.end.value()) + "\n";
  }
  return text;
}

std::string OpsOf(const MemoryProgram& program) {
  std::string text;
  for (const Step& step : program.steps) text += step.op.str();
  return text;
}

TEST(MicroBatchesTest, OneAfterAnother) {
  const MemoryProgram step = RunInOrder(MicroBatch(true), MicroBatch(false), OneAfterAnother(2));
  EXPECT_EQ(OpsOf(step), "ffbbffbb");
  EXPECT_EQ(LivesOf(step),
            "weight 0-8\npassing 0-2\nsaved 0-3\noutput 1-4\ngradient 2-8\n"
            "passing 4-6\nsaved 4-7\noutput 5-8\n");
  EXPECT_EQ(step.steps[StepId(7)].waits_for, StepId(5));
}

TEST(MicroBatchesTest, APipelineHoldsWhatSeveralForwardsSaved) {
  using Kind = StepPart::Kind;
  const std::vector<StepPart> order = {
      {Kind::kForward, 0}, {Kind::kForward, 1}, {Kind::kBackward, 0}, {Kind::kBackward, 1}};
  const MemoryProgram step = RunInOrder(MicroBatch(true), MicroBatch(false), order);
  EXPECT_EQ(OpsOf(step), "ffffbbbb");
  EXPECT_EQ(LivesOf(step),
            "weight 0-8\npassing 0-2\nsaved 0-5\noutput 1-6\ngradient 4-8\n"
            "passing 2-4\nsaved 2-7\noutput 3-8\n");
}

}  // namespace
}  // namespace onnx_mem
