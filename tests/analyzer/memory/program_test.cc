#include "analyzer/memory/program.h"

#include <limits>

#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

Buffer MakeBuffer(const char* name, Category category, int64_t bytes, int begin, int end) {
  Buffer buffer;
  buffer.name = name;
  buffer.category = category;
  buffer.bytes = bytes;
  buffer.begin = StepId(begin);
  buffer.end = StepId(end);
  return buffer;
}

MemoryProgram TwoSteps() {
  MemoryProgram program;
  Step convolution;
  convolution.op = "convolution";
  convolution.node = "/conv";
  Step relu_backward;
  relu_backward.op = "relu_backward";
  relu_backward.phase = Phase::kBackward;
  program.steps.Add(convolution);
  program.steps.Add(relu_backward);
  return program;
}

TEST(VerifyProgram, AcceptsLivesInsideTheSteps) {
  MemoryProgram program = TwoSteps();
  program.buffers.Add(MakeBuffer("w", Category::kParameters, 8, 0, 2));
  EXPECT_TRUE(VerifyProgram(program).ok());
}

TEST(VerifyProgram, RefusesBrokenLivesAndSizes) {
  const struct {
    int64_t bytes;
    int begin;
    int end;
  } kCases[] = {{-1, 0, 1}, {1, -1, 1}, {1, 1, 1}, {1, 1, 0}, {1, 0, 3}, {1, 2, 3}};
  for (const auto& c : kCases) {
    MemoryProgram program = TwoSteps();
    program.buffers.Add(MakeBuffer("x", Category::kInputs, c.bytes, c.begin, c.end));
    EXPECT_FALSE(VerifyProgram(program).ok()) << c.bytes << " [" << c.begin << ", " << c.end << ")";
  }
}

TEST(VerifyProgram, RefusesASumBeyond64Bits) {
  MemoryProgram program = TwoSteps();
  program.buffers.Add(MakeBuffer("x", Category::kInputs, std::numeric_limits<int64_t>::max(), 0, 1));
  EXPECT_TRUE(VerifyProgram(program).ok());
  program.buffers.Add(MakeBuffer("y", Category::kInputs, 1, 0, 1));
  EXPECT_EQ(VerifyProgram(program).code(), absl::StatusCode::kOutOfRange);
}

TEST(DumpProgram, ShowsStepsAndBuffers) {
  MemoryProgram program = TwoSteps();
  program.buffers.Add(MakeBuffer("w", Category::kParameters, 8, 0, 2));
  program.buffers.Add(MakeBuffer("y", Category::kSavedActivations, 4, 0, 1));
  program.buffers[BufferId(1)].kept_by = "saved by relu";
  EXPECT_EQ(DumpProgram(program),
            "0 forward convolution /conv 12\n"
            "1 backward relu_backward 8\n"
            "w parameters 8 [0, 2)\n"
            "y saved_activations 4 [0, 1) saved by relu\n");
}

}  // namespace
}  // namespace onnx_mem
