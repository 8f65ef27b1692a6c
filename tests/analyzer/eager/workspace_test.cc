#include "analyzer/eager/engine/workspace.h"

#include <vector>

#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

BufferId Add(MemoryProgram& program, std::string op, Dims dims, int64_t bytes, Phase phase = Phase::kForward,
             int64_t flops = 0) {
  Step step;
  step.op = op;
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

// A 3x3 convolution of a segmentation head, 2048 -> 512 channels at 64x128, two images, fp32.
constexpr int64_t kPositions = 64 * 128;
ConvolutionSizes Head() {
  return {.large = {2, 2048, 64, 128}, .small = {2, 512, 64, 128}, .weight = {512, 2048, 3, 3}};
}

TEST(ConvolutionWorkspace, IsThatOfTheLargestKindOfEngine) {
  const int64_t copies = (2 * 2048 * kPositions + 2 * 512 * kPositions + 512 * 2048 * 9) * int64_t{4};
  const int64_t patches = int64_t{2048} * 9 * kPositions * 4;
  const int64_t winograd = (2 * 2048 * kPositions / 16 + 2 * 512 * kPositions / 16 + 512 * 2048) * int64_t{36} * 4;
  EXPECT_GT(patches, copies);
  EXPECT_GT(patches, winograd);
  EXPECT_EQ(ConvolutionWorkspace(Head()).chosen_bytes, patches);
}

TEST(ConvolutionWorkspace, BenchmarkTriesSpectraToo) {
  const int64_t tiles = 3 * 5;  // of 32x32, which make 30x30 results each
  const int64_t spectra = (2 * 2048 * tiles + 2 * 512 * tiles + 512 * 2048) * int64_t{32} * 17 * 8;
  EXPECT_EQ(ConvolutionWorkspace(Head()).tried_bytes, spectra);
}

TEST(ConvolutionWorkspace, ChannelsLastNeedsNoCopies) {
  ConvolutionSizes pointwise{.large = {8, 256, 56, 56}, .small = {8, 64, 56, 56}, .weight = {64, 256, 1, 1}};
  const int64_t patches = int64_t{256} * 56 * 56 * 4;
  EXPECT_GT(ConvolutionWorkspace(pointwise).chosen_bytes, patches);
  pointwise.channels_last = true;
  EXPECT_EQ(ConvolutionWorkspace(pointwise).chosen_bytes, patches);
}

TEST(ConvolutionWorkspace, StridesAndGroupsLeaveNoTransforms) {
  ConvolutionSizes strided = Head();
  strided.dense = false;
  EXPECT_EQ(ConvolutionWorkspace(strided).tried_bytes, ConvolutionWorkspace(strided).chosen_bytes);
}

// group_norm_kernel.cu: what lives beside its results while it runs.
TEST(GroupNormKernel, MakesCoefficientsOfChannelsAndGroups) {
  GroupNormKernel norm{.dims = {128, 2048, 512}, .groups = 512, .weight = true, .bias = true};
  const int64_t channels = 128 * 2048 * 4, groups = 128 * 512 * 4;
  using Takes = std::vector<int64_t>;
  EXPECT_EQ(ForwardTakes(norm), (Takes{channels, channels}));
  EXPECT_EQ(BackwardTakes(norm, true), (Takes{channels, channels, groups, groups, channels}));
  EXPECT_EQ(BackwardTakes(norm, false), (Takes{channels, channels}));
  norm.dtype = DType::kBFloat16;  // sums in float32
  EXPECT_EQ(ForwardTakes(norm), (Takes{groups, groups, channels, channels}));
  norm = {.dims = {128, 2048, 512}, .groups = 512};
  EXPECT_EQ(ForwardTakes(norm), Takes());
  EXPECT_EQ(BackwardTakes(norm, true), (Takes{channels, channels, groups, groups}));
  norm = {.dims = {128, 2048}, .groups = 512, .weight = true, .bias = true};
  EXPECT_EQ(ForwardTakes(norm), Takes());
  EXPECT_EQ(BackwardTakes(norm, true), (Takes{groups, groups}));
}

// LossCTC.cu: three vectors of int64 on the card; of a large problem sums at the blanks and logsumexp's tensors.
TEST(CtcKernel, MakesLengthsAndOfALargeProblemSums) {
  CtcKernel ctc{.log_probabilities = {20, 4, 10}, .log_alpha = {4, 20, 13}};
  using Takes = std::vector<int64_t>;
  EXPECT_EQ(ForwardTakes(ctc), (Takes{32, 32, 32}));
  EXPECT_EQ(BackwardTakes(ctc), (Takes{32, 32, 32}));
  ctc.log_probabilities = {500, 4, 10};
  ctc.log_alpha = {4, 500, 13};
  EXPECT_EQ(BackwardTakes(ctc), (Takes{32, 32, 32, 4 * 500 * 7 * 4, 4 * 500 * 7 * 4, 8000, 8000}));
  ctc.log_probabilities = {500, 4, 1000};
  ctc.zero_infinity = true;  // a second gradient, in the place of the sums
  EXPECT_EQ(BackwardTakes(ctc), (Takes{32, 32, 32, 500 * 4 * 1000 * 4}));
  ctc.log_alpha = {};
  EXPECT_EQ(BackwardTakes(ctc), Takes());
}

TEST(ConvolutionWorkspace, OfEmptyAndOfHugeTensorsIsANumber) {
  ConvolutionSizes empty{.large = {0, 3, 8, 8}, .small = {0, 4, 6, 6}, .weight = {4, 3, 3, 3}};
  EXPECT_GE(ConvolutionWorkspace(empty).tried_bytes, 0);
  const int64_t huge = int64_t{1} << 40;
  ConvolutionSizes large{.large = {huge, huge, 8, 8}, .small = {huge, huge, 8, 8}, .weight = {huge, huge, 3, 3}};
  EXPECT_GT(ConvolutionWorkspace(large).tried_bytes, 0);
}

}  // namespace
}  // namespace onnx_mem
