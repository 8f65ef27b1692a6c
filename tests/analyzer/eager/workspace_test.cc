#include "analyzer/eager/engine/workspace.h"

#include "analyzer/allocators/replay.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/memory/verify_program.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

BufferId Add(MemoryProgram& program, std::string op, Dims dims, int64_t bytes, Phase phase = Phase::kForward,
             int64_t flops = 0) {
  Step step;
  step.op = std::move(op);
  step.phase = phase;
  step.flops = flops;
  Buffer buffer;
  buffer.begin = program.steps.Add(std::move(step));
  buffer.end = program.steps.next_id();
  buffer.bytes = bytes;
  buffer.dims = std::move(dims);
  buffer.dtype = DType::kFloat32;
  return program.buffers.Add(std::move(buffer));
}

TEST(Workspace, LivesWhileItsMatrixProductRuns) {
  MemoryProgram program;
  Add(program, "addmm", {4, 4}, 10 * kMiB);
  Add(program, "relu", {4, 4}, 12 * kMiB);
  Add(program, "bmm", {1, 4, 4}, 3 * kMiB);
  const MemoryProgram with = WithMatmulWorkspace(program, 8 * kMiB);
  ASSERT_TRUE(VerifyProgram(with).ok());
  EXPECT_EQ(ComputeTimeline(with).live_bytes, (std::vector<int64_t>{18 * kMiB, 12 * kMiB, 11 * kMiB}));
  EXPECT_EQ(ComputeTimeline(with).at_peak[static_cast<size_t>(Category::kWorkspace)], 8 * kMiB);
  EXPECT_EQ(ComputeTimeline(program).peak_bytes, 12 * kMiB) << "exact figures stay without it";
}

TEST(Workspace, CountsInWhatTheAllocatorHasGivenOut) {
  MemoryProgram program;
  Add(program, "mm", {4, 4}, 40 * kMiB);
  const absl::StatusOr<AllocatorUsage> without = Replay(program);
  const absl::StatusOr<AllocatorUsage> with = Replay(WithMatmulWorkspace(program, 8519680));
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_EQ(without->peak_allocated_bytes, 40 * kMiB);
  EXPECT_EQ(with->peak_allocated_bytes, 40 * kMiB + 8519680);
}

TEST(Workspace, ForwardAndBackwardHaveAHandleEach) {
  MemoryProgram program;
  EXPECT_EQ(MatmulHandles(program), 0);
  Add(program, "addmm", {4, 4}, 1);
  Add(program, "addmm", {4, 4}, 1);
  EXPECT_EQ(MatmulHandles(program), 1);
  Add(program, "mm", {4, 4}, 1, Phase::kBackward);
  EXPECT_EQ(MatmulHandles(program), 2);
}

TEST(Workspace, PatchesOfOneImage) {  // 64 channels, 3x3 kernel, 56x56 positions, fp32
  MemoryProgram program;
  const int64_t patches = int64_t{64} * 9 * 56 * 56;
  Add(program, "convolution", {8, 128, 56, 56}, 1, Phase::kForward, 2 * 8 * 128 * patches);
  EXPECT_EQ(LargestPatchBytes(program), patches * 4);
}

// A token that is trained stands in memory when the first convolution runs; its single row is not that one's result.
TEST(Workspace, PatchesAreThoseOfWhatAConvolutionMakes) {
  MemoryProgram program;
  const int64_t patches = int64_t{3} * 16 * 16 * 14 * 14;
  Add(program, "convolution", {256, 768, 14, 14}, 1, Phase::kForward, 2 * 256 * 768 * patches);
  Buffer token;
  token.category = Category::kParameters;
  token.begin = StepId(0);
  token.end = program.steps.next_id();
  token.dims = {1, 1, 768};
  token.dtype = DType::kFloat32;
  program.buffers.Add(token);
  EXPECT_EQ(LargestPatchBytes(program), patches * 4);
}

}  // namespace
}  // namespace onnx_mem
