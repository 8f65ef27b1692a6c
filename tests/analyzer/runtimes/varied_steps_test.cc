// What PyTorch's allocator has reserved when the sizes of steps vary.
#include "analyzer/study/varied_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "analyzer/study/study.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// Each of its activations is a segment of the device's memory of its own.
constexpr char kSequence[] = R"(g (float[N,S,1024] x) => (float[N,S,4096] y)
    <float[4096,1024] wa = ["location": "none"], float[4096,4096] wb = ["location": "none"]>
    { ta = Transpose <perm=[1,0]> (wa)   tb = Transpose <perm=[1,0]> (wb)
      h = MatMul(x, ta)   r = Relu(h)   y = MatMul(r, tb) })";

Workload OfLength(int64_t length, std::optional<int64_t> shortest) {
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.bindings = {.batch = 8, .dims = {{"S", length}}};
  if (shortest) workload.shortest = {{"S", *shortest}};
  return workload;
}

PeakFigures Trained(const Workload& workload, const char* text = kSequence) {
  const absl::StatusOr<ModelFile> file = ModelFile::Parse(ModelBytes(text), "sequence.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<Analysis> analysis = Study(*file).AskWithRange(workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return *analysis->training();
}

TEST(VariedSteps, ShorterStepsLeaveBlocksThatAreTooSmall) {
  const PeakFigures alone = Trained(OfLength(512, {})), varied = Trained(OfLength(512, 64));
  EXPECT_EQ(varied.peak_bytes, alone.peak_bytes);
  EXPECT_EQ(varied.device_bytes, alone.device_bytes) << "with less room the allocator gives them back";
  EXPECT_GT(varied.device_high_bytes, alone.device_high_bytes);
}

// A block of 1 MiB more than what is requested, or less, counts whole.
TEST(VariedSteps, BlocksThatAreNotCutCountAsAllocated) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  const auto one = [](std::optional<int64_t> shortest) {
    Workload workload = OfLength(512, shortest);
    workload.bindings.batch = 1;  // several blocks to a segment
    return Trained(workload);
  };
  const PeakFigures alone = one({});
  int64_t most = 0;
  for (const int64_t shortest : {64, 150, 250, 350, 450, 500}) {
    const PeakFigures varied = one(shortest);
    EXPECT_EQ(varied.allocated_peak_bytes, alone.allocated_peak_bytes);
    EXPECT_LE(varied.allocated_low_bytes, alone.allocated_low_bytes);
    most = std::max(most, varied.allocated_high_bytes - alone.allocated_high_bytes);
  }
  EXPECT_GT(most, 0);
  EXPECT_LE(most, 8 * kMiB);
}

// Its peak is before backward's first product.
constexpr char kLate[] = R"(g (float[N,S,1024] x) => (float[N,S,4096] y)
    <float[4096,1024] w = ["location": "none"]>
    { t = Transpose <perm=[1,0]> (w)   h = MatMul(x, t)   a = Sigmoid(h)   b = Sigmoid(a)   y = Sigmoid(b) })";

Workload OnAmpere(const char* optimizer) {
  Workload workload = OfLength(512, {});
  workload.platform.torch = TorchVersion{2, 9};
  workload.platform.card = CardKind{"NVIDIA", "Ampere", 8};
  workload.optimizer.name = optimizer;
  return workload;
}

Workload Varied(Workload workload) {
  workload.varied = true;
  return workload;
}

int64_t LessByVaried(const Workload& workload, const char* text) {
  return Trained(workload, text).allocated_low_bytes - Trained(Varied(workload), text).allocated_low_bytes;
}

TEST(VariedSteps, TheFirstStepHasNoWorkspaceOfBackwardBeforeItsFirstProduct) {
  constexpr int64_t kWorkspaceBytes = (2 * 4096 + 8 * 16) << 10;
  EXPECT_EQ(LessByVaried(OnAmpere("none"), kLate), kWorkspaceBytes);
  Workload each_call = OnAmpere("none");
  each_call.platform.torch = TorchVersion{2, 15};
  EXPECT_EQ(LessByVaried(each_call, kLate), 0) << "no handle keeps one";
}

TEST(VariedSteps, TheFirstStepHasNoStateBeforeTheOptimizer) {
  const int64_t weight_bytes = int64_t{4096} * 1024 * 4;
  const int64_t adam = LessByVaried(OnAmpere("adam"), kLate) - LessByVaried(OnAmpere("none"), kLate);
  EXPECT_GE(adam, 2 * weight_bytes);
  EXPECT_LE(adam, 2 * weight_bytes + 1024);
}

TEST(VariedSteps, LaterStepsOfTheShortestAreInTheRun) {
  Workload nearly = OnAmpere("adam");
  nearly.shortest = {{"S", 511}};
  const int64_t alone = Trained(OnAmpere("adam"), kLate).allocated_low_bytes;
  const int64_t of_a_token = int64_t{8} * 4096 * 4;
  EXPECT_LT(Trained(nearly, kLate).allocated_low_bytes, alone);
  EXPECT_GE(Trained(nearly, kLate).allocated_low_bytes, alone - 6 * of_a_token);
}

// Each may be larger by 1 MiB, but not the weight, which was there before.
TEST(VariedSteps, BlocksOfUnknownStepsMayBeLarger) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  const PeakFigures alone = Trained(OnAmpere("none"), kLate), varied = Trained(Varied(OnAmpere("none")), kLate);
  EXPECT_EQ(varied.allocated_peak_bytes, alone.allocated_peak_bytes);
  const int64_t more = varied.allocated_high_bytes - alone.allocated_high_bytes;
  EXPECT_EQ(more % kMiB, 0);
  EXPECT_GE(more, 5 * kMiB) << "x, three results, a gradient";
  EXPECT_LE(more, 9 * kMiB) << "another gradient, y's, two workspaces";
  Workload expandable = OnAmpere("none");
  expandable.allocator = "pytorch-expandable";
  EXPECT_EQ(Trained(Varied(expandable), kLate).allocated_high_bytes, Trained(expandable, kLate).allocated_high_bytes);
}

TEST(VariedSteps, OneSizeVariesNot) {
  EXPECT_EQ(Trained(OfLength(512, 512)).device_high_bytes, Trained(OfLength(512, {})).device_high_bytes);
}

TEST(VariedSteps, SegmentsThatGrowServeEverySize) {
  Workload alone = OfLength(512, {}), varied = OfLength(512, 64);
  alone.allocator = varied.allocator = "pytorch-expandable";
  const int64_t cached = Trained(OfLength(512, 64)).device_high_bytes - Trained(OfLength(512, {})).device_high_bytes;
  EXPECT_LT(Trained(varied).device_high_bytes - Trained(alone).device_high_bytes, cached / 4);
}

}  // namespace
}  // namespace onnx_mem
