// What cuBLAS and cuDNN take of PyTorch's allocator: by version and card, in allocated and in reserved bytes.
#include "analyzer/runtimes/library_workspace.h"

#include <gtest/gtest.h>

#include <string>

#include "analyzer/study/study.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

constexpr int64_t kWorkspace = 8519680;
constexpr int64_t kMiB = int64_t{1} << 20;

// A training step with matrix products in forward and backward; its first layer's input needs no gradient.
constexpr char kPerceptron[] = R"(g (float[64,1024] x) => (float[64,1024] y)
    <float[1024,1024] wa = ["location": "none"], float[1024,1024] wb = ["location": "none"]>
    { h = Gemm <transB=1> (x, wa)   r = Relu(h)   y = Gemm <transB=1> (r, wb) })";

constexpr char kConvolutions[] = R"(g (float[8,64,56,56] x) => (float[8,64,56,56] y)
    <float[64,64,3,3] wa = ["location": "none"], float[64,64,3,3] wb = ["location": "none"]>
    { h = Conv <pads=[1,1,1,1]> (x, wa)   r = Relu(h)   y = Conv <pads=[1,1,1,1]> (r, wb) })";

PeakFigures PartOf(const char* text, const Platform& platform, Mode mode, int opset) {
  Workload workload;
  workload.mode = mode;
  workload.platform = platform;
  absl::StatusOr<ImportedModel> model = ImportText(text, {}, opset);
  EXPECT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Analysis> analysis = Study(*std::move(model)).AskWithRange(workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return mode == Mode::kTraining ? PeakFigures(*analysis->training()) : PeakFigures(*analysis->inference());
}

PeakFigures Trained(const char* text, const Platform& platform, int opset = kTextOpset) {
  return PartOf(text, platform, Mode::kTraining, opset);
}

Platform Of(TorchVersion torch, const std::string& card = "") {
  Platform platform;
  platform.torch = torch;
  if (!card.empty()) platform.card = KindOf(*FindGpu(card));
  return platform;
}

TEST(LibraryWorkspace, EachHandleKeepsOneUpTo214) {
  const PeakFigures none = Trained(kPerceptron, Of({1, 13}, "A10G"));
  const PeakFigures kept = Trained(kPerceptron, Of({2, 9}, "A10G"));
  EXPECT_EQ(kept.workspace_bytes, 2 * kWorkspace);
  EXPECT_EQ(kept.allocated_peak_bytes, none.allocated_peak_bytes + 2 * kWorkspace);
  EXPECT_EQ(kept.peak_bytes, none.peak_bytes) << "live bytes are those of tensors";
  EXPECT_EQ(Trained(kPerceptron, Of({2, 14}, "A10G")).allocated_peak_bytes, kept.allocated_peak_bytes);
}

// The peak is the optimizer's, in which no product runs.
TEST(LibraryWorkspace, From215OnOneLivesWhileItsProductRuns) {
  const PeakFigures none = Trained(kPerceptron, Of({1, 13}, "A10G"));
  const PeakFigures brief = Trained(kPerceptron, Of({2, 15}, "A10G"));
  EXPECT_EQ(brief.workspace_bytes, kWorkspace);
  EXPECT_GE(brief.allocated_peak_bytes, none.allocated_peak_bytes);
  EXPECT_LE(brief.allocated_peak_bytes, none.allocated_peak_bytes + kWorkspace);
}

// Real cards: a forward whose peak is in a product with bias, 449,025,024 bytes on an A10G with 2.3 and 439,456,768 on
// an MI250, where neither is taken.
TEST(LibraryWorkspace, ABiasIsAddedInAWorkspaceOfItsOwnUpTo210) {
  constexpr char kBiased[] = R"(g (float[64,1024] x) => (float[64,1024] y)
    <float[1024,1024] w = ["location": "none"], float[1024] b = ["location": "none"]> { y = Gemm <transB=1> (x, w, b) })";
  const auto allocated = [&](TorchVersion torch, const char* card) {
    return PartOf(kBiased, Of(torch, card), Mode::kInference, kTextOpset).allocated_peak_bytes;
  };
  const int64_t none = allocated({2, 4}, "MI250X");
  EXPECT_EQ(allocated({2, 3}, "A10G"), none + kWorkspace + kMiB);
  EXPECT_EQ(allocated({2, 10}, "A10G"), none + kWorkspace + kMiB);
  EXPECT_EQ(allocated({2, 11}, "A10G"), none + kWorkspace) << "shared with the handle's";
  const auto low = [&](TorchVersion torch) {
    return PartOf(kBiased, Of(torch, "A10G"), Mode::kInference, kTextOpset).allocated_low_bytes;
  };
  EXPECT_EQ(low({2, 3}), low({2, 11})) << "another kernel may run";
}

TEST(LibraryWorkspace, HopperAndBlackwellHave32MiB) {
  EXPECT_EQ(Trained(kPerceptron, Of({2, 4}, "H100")).workspace_bytes, 64 * kMiB);
  EXPECT_EQ(Trained(kPerceptron, Of({2, 15}, "H100")).workspace_bytes, 32 * kMiB);
  EXPECT_EQ(Trained(kPerceptron, Of({2, 15}, "RTX 5090")).workspace_bytes, 32 * kMiB);
  EXPECT_EQ(Trained(kPerceptron, Of({2, 15}, "T4")).workspace_bytes, kWorkspace);
}

TEST(LibraryWorkspace, TheRangeHoldsEveryVersionAndCardThatWasNotNamed) {
  const PeakFigures open = Trained(kPerceptron, {});
  for (const TorchVersion torch : {TorchVersion{2, 0}, TorchVersion{2, 9}, TorchVersion{2, 12}, TorchVersion{2, 15}}) {
    for (const char* card : {"T4", "A100 SXM4 40GB", "H100", "B200"}) {
      const int64_t allocated = Trained(kPerceptron, Of(torch, card)).allocated_peak_bytes;
      EXPECT_LE(open.allocated_low_bytes, allocated) << TextOf(torch) << " " << card;
      EXPECT_GE(open.allocated_high_bytes, allocated) << TextOf(torch) << " " << card;
    }
  }
}

TEST(LibraryWorkspace, AFilesVersionIsWhatIsExpected) {
  Platform platform;
  platform.torch_of_file = TorchVersion{2, 4};
  const LibraryCases cases = LibraryCasesOf("pytorch", platform);
  EXPECT_EQ(cases.expected.kept_bytes, kWorkspace);
  EXPECT_EQ(cases.low.kept_bytes, 0) << "it may run in a newer one";
}

TEST(LibraryWorkspace, NoOtherAllocatorServesLibraries) {
  EXPECT_EQ(LibraryCasesOf("exact", {}).expected, LibraryCase{});
  EXPECT_EQ(LibraryCasesOf("ort", {}).high, LibraryCase{});
}

TEST(LibraryWorkspace, ConvolutionsWidenTheRangeAndBenchmarkMore) {
  const PeakFigures chosen = Trained(kConvolutions, Of({2, 15}, "Tesla V100 SXM2 16GB"));
  // The low end counts blocks as if each were split to what was requested.
  EXPECT_GE(chosen.allocated_peak_bytes - chosen.allocated_low_bytes, chosen.peak_bytes - chosen.peak_low_bytes);
  EXPECT_GT(chosen.allocated_high_bytes, chosen.allocated_peak_bytes);
  Platform benchmark = Of({2, 15}, "Tesla V100 SXM2 16GB");
  benchmark.cudnn_benchmark = true;
  const PeakFigures tried = Trained(kConvolutions, benchmark);
  EXPECT_EQ(tried.allocated_peak_bytes, chosen.allocated_peak_bytes);
  EXPECT_GT(tried.allocated_high_bytes, chosen.allocated_high_bytes);
  EXPECT_GE(tried.device_high_bytes, tried.allocated_high_bytes + tried.context_high_bytes);
}

// group_norm_kernel.cu: ds, db and c1 of [8, 64], c2 and c3 of [8, 4] live while backward's kernel runs, at the peak.
TEST(LibraryWorkspace, WhatAKernelMakesForItsOwnRunIsAllocatedAndNotLive) {
  constexpr char kNorm[] = R"(g (float[8,64,56,56] x) => (float[8,64,56,56] y)
    <float[64] w = ["location": "none"], float[64] b = ["location": "none"]>
    { r = Exp(x)   y = GroupNormalization <num_groups=4> (r, w, b) })";
  const PeakFigures figures = Trained(kNorm, Of({2, 15}, "A10G"), /*opset=*/21);
  MemoryProgram program;
  Step step;
  step.kernel_takes = {2048, 100, 0};
  program.steps.Add(std::move(step));
  const LibraryCase expected = LibraryCasesOf("pytorch", {}).expected;
  EXPECT_EQ(PeakOfBlocks(program, expected), 2048 + 512) << "each is a block of its own";
  EXPECT_EQ(PeakOfBlocks(program, LibraryCase{}), 0);
  EXPECT_GE(figures.allocated_peak_bytes, figures.peak_bytes + 3 * 2048 + 2 * 512);
}

TEST(LibraryWorkspace, TheIntervalOfTheFileIsJoined) {
  const PeakFigures figures = Trained(kPerceptron, Of({2, 15}, "A10G"));
  EXPECT_LE(figures.allocated_low_bytes, figures.allocated_peak_bytes - (figures.peak_bytes - figures.peak_low_bytes));
  EXPECT_GE(figures.allocated_high_bytes,
            figures.allocated_peak_bytes + (figures.peak_high_bytes - figures.peak_bytes));
}

}  // namespace
}  // namespace onnx_mem
