#include "analyzer/memory/program.h"

#include <limits>
#include <set>

#include "analyzer/memory/verify_program.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

Step MakeStep(std::string op, Phase phase = Phase::kForward, std::string node = "") {
  Step step;
  step.op = op;
  step.phase = phase;
  step.node = std::move(node);
  return step;
}

Buffer MakeBuffer(std::string name, Category category, int64_t bytes, int begin, int end) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.category = category;
  buffer.bytes = bytes;
  buffer.begin = StepId(begin);
  buffer.end = StepId(end);
  return buffer;
}

MemoryProgram TwoSteps(Buffer buffer) {
  MemoryProgram program;
  program.steps.Add(MakeStep("a"));
  program.steps.Add(MakeStep("b"));
  program.buffers.Add(std::move(buffer));
  return program;
}

TEST(DumpProgramTest, StepsWithLiveBytesThenBuffers) {
  MemoryProgram program;
  program.steps.Add(MakeStep("convolution", Phase::kForward, "conv1"));
  program.steps.Add(MakeStep("relu", Phase::kForward, "relu1"));
  program.steps.Add(MakeStep("mean", Phase::kLoss));
  Step again = MakeStep("relu", Phase::kBackward, "relu1");
  again.recompute = true;
  program.steps.Add(again);
  program.buffers.Add(MakeBuffer("w", Category::kParameters, 100, 0, 4));
  program.buffers.Add(MakeBuffer("y", Category::kTransientActivations, 30, 0, 2));
  Buffer saved = MakeBuffer("z", Category::kSavedActivations, 7, 1, 4);
  saved.kept_by = "saved by conv2 for its weight gradient";
  program.buffers.Add(saved);
  ASSERT_TRUE(VerifyProgram(program).ok());
  EXPECT_EQ(DumpProgram(program),
            "0 forward convolution conv1 130\n"
            "1 forward relu relu1 137\n"
            "2 loss mean 107\n"
            "3 backward relu relu1 again 107\n"
            "w parameters 100 [0, 4)\n"
            "y transient_activations 30 [0, 2)\n"
            "z saved_activations 7 [1, 4) saved by conv2 for its weight gradient\n");
}

TEST(DumpProgramTest, EmptyProgramIsEmptyText) { EXPECT_EQ(DumpProgram(MemoryProgram()), ""); }

TEST(VerifyProgramTest, AcceptsEmptyProgramAndZeroBytes) {
  EXPECT_TRUE(VerifyProgram(MemoryProgram()).ok());
  EXPECT_TRUE(VerifyProgram(TwoSteps(MakeBuffer("empty", Category::kInputs, 0, 0, 2))).ok());
}

TEST(VerifyProgramTest, RefusesNegativeSize) {
  const absl::Status status = VerifyProgram(TwoSteps(MakeBuffer("b", Category::kInputs, -1, 0, 1)));
  EXPECT_EQ(std::string(status.message()), "buffer 'b' has a negative size");
}

TEST(VerifyProgramTest, RefusesLivesThatAreEmptyBackwardsOrOutside) {
  for (const auto& [begin, end] : {std::pair{1, 1}, {1, 0}, {0, 3}, {2, 3}, {-1, 1}}) {
    const absl::Status status = VerifyProgram(TwoSteps(MakeBuffer("b", Category::kInputs, 8, begin, end)));
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << begin << ", " << end;
  }
}

TEST(VerifyProgramTest, RefusesASumThatOverflowsThoughLivesAreApart) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  MemoryProgram program = TwoSteps(MakeBuffer("a", Category::kInputs, kMax, 0, 1));
  program.buffers.Add(MakeBuffer("b", Category::kInputs, 1, 1, 2));
  EXPECT_EQ(VerifyProgram(program).code(), absl::StatusCode::kOutOfRange);
}

TEST(CategoryTest, EveryCategoryHasItsOwnName) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kNumCategories; ++i) names.insert(NameOf(static_cast<Category>(i)));
  EXPECT_EQ(names.size(), kNumCategories);
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(NameOf(Category::kWorkspace), "workspace");
  EXPECT_EQ(NameOf(Category::kSavedActivations), "saved_activations");
}

}  // namespace
}  // namespace onnx_mem
