#include "analyzer/memory/timeline.h"

#include <numeric>
#include <random>

#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

MemoryProgram RandomProgram(uint32_t seed, int steps, int buffers) {
  std::mt19937 random(seed);
  MemoryProgram program;
  for (int i = 0; i < steps; ++i) program.steps.Add({});
  for (int i = 0; i < buffers; ++i) {
    Buffer buffer;
    buffer.bytes = random() % 1000;
    buffer.category = static_cast<Category>(random() % kNumCategories);
    const int begin = static_cast<int>(random() % static_cast<uint32_t>(steps));
    buffer.begin = StepId(begin);
    buffer.end = StepId(begin + 1 + static_cast<int>(random() % static_cast<uint32_t>(steps - begin)));
    program.buffers.Add(buffer);
  }
  return program;
}

TEST(ComputeTimeline, OfNothingIsNothing) {
  EXPECT_EQ(ComputeTimeline({}), Timeline{});
}

TEST(ComputeTimeline, SumsTheBuffersOfEachStep) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const MemoryProgram program = RandomProgram(seed, 17, 60);
    const Timeline timeline = ComputeTimeline(program);
    const std::vector<BytesByCategory> by_category = BytesPerStep(program);
    for (size_t i = 0; i < program.steps.size(); ++i) {
      int64_t live = 0;
      for (BufferId id : LiveAt(program, StepId(static_cast<int32_t>(i)))) live += program.buffers[id].bytes;
      EXPECT_EQ(timeline.live_bytes[i], live);
      EXPECT_EQ(std::accumulate(by_category[i].begin(), by_category[i].end(), int64_t{0}), live);
      EXPECT_LE(live, timeline.peak_bytes);
    }
    const auto peak = static_cast<size_t>(timeline.peak_step.value());
    EXPECT_EQ(timeline.live_bytes[peak], timeline.peak_bytes);
    EXPECT_EQ(timeline.at_peak, by_category[peak]);
    for (size_t i = 0; i < peak; ++i) EXPECT_LT(timeline.live_bytes[i], timeline.peak_bytes);
  }
}

TEST(LiveAt, ListsLargestFirst) {
  const MemoryProgram program = RandomProgram(7, 9, 40);
  const std::vector<BufferId> live = LiveAt(program, StepId(4));
  ASSERT_GT(live.size(), 3u);
  for (size_t i = 1; i < live.size(); ++i) {
    const int64_t before = program.buffers[live[i - 1]].bytes;
    const int64_t here = program.buffers[live[i]].bytes;
    EXPECT_TRUE(before > here || (before == here && live[i - 1] < live[i]));
  }
}

}  // namespace
}  // namespace onnx_mem
