#include "planner/model/minimum.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

void Add(MemoryProgram& program, Category category, int64_t bytes, int begin, int end) {
  Buffer buffer;
  buffer.category = category;
  buffer.bytes = bytes;
  buffer.begin = StepId(begin);
  buffer.end = StepId(end);
  program.buffers.Add(buffer);
}

// What is saved may be dropped and made again; what runs, and what no plan moves, stays.
TEST(ProvenMinimum, IsTheDearestStepWithoutWhatPlansMove) {
  MemoryProgram program;
  for (const char* op : {"conv", "relu", "relu_backward", "conv_backward"}) {
    program.steps.Add({.op = op, .node = "", .module = "m"});
  }
  program.steps[StepId(2)].phase = program.steps[StepId(3)].phase = Phase::kBackward;
  Add(program, Category::kParameters, 100, 0, 4);
  Add(program, Category::kSavedActivations, 50, 0, 4);
  Add(program, Category::kSavedActivations, 50, 1, 3);
  Add(program, Category::kActivationGradients, 30, 2, 4);
  Add(program, Category::kWorkspace, 25, 3, 4);
  const Minimum minimum = ProvenMinimum(program);
  EXPECT_EQ(minimum.bytes, 155);
  EXPECT_EQ(minimum.why, "conv_backward of m (backward)");
}

}  // namespace
}  // namespace onnx_mem
