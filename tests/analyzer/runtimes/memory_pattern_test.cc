#include "analyzer/runtimes/memory_pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "analyzer/memory/verify_program.h"

namespace onnx_mem {
namespace {

MemoryProgram PatternProgram(int steps, const std::vector<Buffer>& buffers) {
  MemoryProgram program;
  for (int i = 0; i < steps; ++i) program.steps.Add({});
  for (const Buffer& buffer : buffers) program.buffers.Add(buffer);
  return program;
}

Buffer Activation(const std::string& name, int64_t bytes, int begin, int end) {
  Buffer buffer;
  buffer.name = name;
  buffer.bytes = bytes;
  buffer.begin = StepId(begin);
  buffer.end = StepId(end);
  return buffer;
}

bool All(const Buffer&) { return true; }

TEST(TracePattern, PutsLaterTensorsIntoGaps) {
  // b lies behind a; c fits where a was, d does not and is placed behind.
  const MemoryProgram program = PatternProgram(5, {Activation("a", 1024, 0, 2), Activation("b", 512, 1, 5 - 1),
                                                   Activation("c", 768, 2, 4), Activation("d", 512, 3, 5)});
  EXPECT_EQ(TracePattern(program, All).block_bytes, 1024 + 512 + 512);
}

TEST(TracePattern, TakesTheSmallestGapThatFits) {
  // Gaps of 1024 (a) and 512 (c) when e comes: e takes the smaller one, so that f still finds the larger.
  const MemoryProgram program =
      PatternProgram(4, {Activation("a", 1024, 0, 1), Activation("b", 256, 0, 4 - 1), Activation("c", 512, 0, 1),
                         Activation("d", 256, 0, 3), Activation("e", 512, 1, 3), Activation("f", 1024, 2, 4)});
  EXPECT_EQ(TracePattern(program, All).block_bytes, 1024 + 256 + 512 + 256);
}

TEST(TracePattern, TakesWhatIsLeftBelowTheHeightForAGap) {
  // a [0, 1024)  b [1024, 1280)  c [1280, 2048): when a and c are dead, d of 768 bytes is placed where c was, the
  // smaller of two gaps, and e of 1024 bytes still finds a's.
  const MemoryProgram program =
      PatternProgram(4, {Activation("a", 1024, 0, 1), Activation("b", 256, 0, 4 - 1), Activation("c", 768, 0, 1),
                         Activation("d", 768, 1, 4), Activation("e", 1024, 2, 4)});
  EXPECT_EQ(TracePattern(program, All).block_bytes, 1024 + 256 + 768);
}

TEST(TracePattern, RoundsEachTensor) {
  EXPECT_EQ(TracePattern(PatternProgram(3, {Activation("a", 1, 0, 2), Activation("b", 257, 1, 2)}), All).block_bytes,
            256 + 512);
}

TEST(TracePattern, LeavesTheRestAlone) {
  Buffer output = Activation("y", 64, 2, 3);
  Buffer weight = Activation("w", 128, 0, 3);
  weight.category = Category::kParameters;
  const MemoryProgram program = PatternProgram(3, {weight, Activation("a", 256, 0, 2), output});
  const MemoryPattern pattern = TracePattern(program, [](const Buffer& b) { return b.name != "y"; });
  ASSERT_EQ(pattern.program.buffers.size(), 3u);
  EXPECT_EQ(pattern.program.buffers[BufferId(0)], weight);
  EXPECT_EQ(pattern.program.buffers[BufferId(1)], output);
  EXPECT_EQ(pattern.program.buffers[BufferId(2)].bytes, 256);
  EXPECT_TRUE(VerifyProgram(pattern.program).ok());
}

}  // namespace
}  // namespace onnx_mem
