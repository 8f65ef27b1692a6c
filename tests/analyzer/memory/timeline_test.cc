#include "analyzer/memory/timeline.h"

#include <numeric>
#include <random>

#include "analyzer/memory/verify_program.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

MemoryProgram Steps(int count) {
  MemoryProgram program;
  for (int i = 0; i < count; ++i) program.steps.Add(Step());
  return program;
}

BufferId AddBuffer(MemoryProgram& program, Category category, int64_t bytes, int begin, int end) {
  Buffer buffer;
  buffer.category = category;
  buffer.bytes = bytes;
  buffer.begin = StepId(begin);
  buffer.end = StepId(end);
  return program.buffers.Add(buffer);
}

int64_t At(const BytesByCategory& bytes, Category category) { return bytes[static_cast<size_t>(category)]; }

// The picture at the head of analyzer/memory/program.h.
MemoryProgram ConvReluStep() {
  MemoryProgram program = Steps(4);
  AddBuffer(program, Category::kParameters, 10, 0, 4);            // w
  AddBuffer(program, Category::kTransientActivations, 64, 0, 1);  // y
  AddBuffer(program, Category::kSavedActivations, 64, 1, 3);      // z
  AddBuffer(program, Category::kActivationGradients, 64, 2, 4);   // dy
  return program;
}

TEST(TimelineTest, BufferIsGoneAtItsEndStep) {
  const Timeline timeline = ComputeTimeline(ConvReluStep());
  EXPECT_EQ(timeline.live_bytes, (std::vector<int64_t>{74, 74, 138, 74}));
  EXPECT_EQ(timeline.peak_step, StepId(2));
  EXPECT_EQ(timeline.peak_bytes, 138);
  EXPECT_EQ(At(timeline.at_peak, Category::kParameters), 10);
  EXPECT_EQ(At(timeline.at_peak, Category::kTransientActivations), 0);
  EXPECT_EQ(At(timeline.at_peak, Category::kSavedActivations), 64);
  EXPECT_EQ(At(timeline.at_peak, Category::kActivationGradients), 64);
}

TEST(TimelineTest, FirstOfEqualPeaksWins) {
  MemoryProgram program = Steps(3);
  AddBuffer(program, Category::kInputs, 5, 0, 1);
  AddBuffer(program, Category::kGradients, 9, 1, 3);
  const Timeline timeline = ComputeTimeline(program);
  EXPECT_EQ(timeline.peak_step, StepId(1));
}

TEST(TimelineTest, EmptyProgramHasNoPeakStep) {
  const Timeline timeline = ComputeTimeline(MemoryProgram());
  EXPECT_FALSE(timeline.peak_step.valid());
  EXPECT_EQ(timeline.peak_bytes, 0);
  EXPECT_TRUE(timeline.live_bytes.empty());
}

TEST(TimelineTest, StepsWithoutBuffersPeakAtZero) {
  const Timeline timeline = ComputeTimeline(Steps(2));
  EXPECT_EQ(timeline.live_bytes, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(timeline.peak_step, StepId(0));
}

TEST(LiveAtTest, LargestFirstAndEqualSizesInOrderOfAllocation) {
  MemoryProgram program = Steps(2);
  const BufferId small = AddBuffer(program, Category::kInputs, 1, 0, 2);
  const BufferId first = AddBuffer(program, Category::kInputs, 8, 0, 2);
  AddBuffer(program, Category::kInputs, 99, 0, 1);  // dead at step 1
  const BufferId second = AddBuffer(program, Category::kInputs, 8, 1, 2);
  EXPECT_EQ(LiveAt(program, StepId(1)), (std::vector<BufferId>{first, second, small}));
}

// Against the definition, buffer by buffer and step by step.
TEST(TimelineTest, AgreesWithBruteForceOnRandomPrograms) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 200; ++round) {
    const int steps = std::uniform_int_distribution<int>(1, 12)(random);
    MemoryProgram program = Steps(steps);
    const int buffers = std::uniform_int_distribution<int>(0, 20)(random);
    for (int i = 0; i < buffers; ++i) {
      const int begin = std::uniform_int_distribution<int>(0, steps - 1)(random);
      const int end = std::uniform_int_distribution<int>(begin + 1, steps)(random);
      const auto category = static_cast<Category>(std::uniform_int_distribution<int>(0, kNumCategories - 1)(random));
      AddBuffer(program, category, std::uniform_int_distribution<int>(0, 1000)(random), begin, end);
    }
    ASSERT_TRUE(VerifyProgram(program).ok());

    const Timeline timeline = ComputeTimeline(program);
    const std::vector<BytesByCategory> bytes = BytesPerStep(program);
    ASSERT_EQ(bytes.size(), static_cast<size_t>(steps));
    int64_t peak_bytes = 0;
    for (int s = 0; s < steps; ++s) {
      BytesByCategory expected = {};
      for (const Buffer& buffer : program.buffers) {
        if (buffer.begin.value() <= s && s < buffer.end.value()) {
          expected[static_cast<size_t>(buffer.category)] += buffer.bytes;
        }
      }
      const int64_t sum = std::accumulate(expected.begin(), expected.end(), int64_t{0});
      EXPECT_EQ(bytes[static_cast<size_t>(s)], expected);
      EXPECT_EQ(timeline.live_bytes[static_cast<size_t>(s)], sum);
      peak_bytes = std::max(peak_bytes, sum);
    }
    EXPECT_EQ(timeline.peak_bytes, peak_bytes);
    EXPECT_EQ(timeline.at_peak, bytes[static_cast<size_t>(timeline.peak_step.value())]);
  }
}

}  // namespace
}  // namespace onnx_mem
