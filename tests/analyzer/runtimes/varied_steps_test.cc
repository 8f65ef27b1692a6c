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

PeakFigures Trained(const Workload& workload) {
  const absl::StatusOr<ModelFile> file = ModelFile::Parse(ModelBytes(kSequence), "sequence.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<Analysis> analysis = Study(*file).AskWithRange(workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return *analysis->training();
}

TEST(VariedSteps, ShorterStepsLeaveBlocksThatAreTooSmall) {
  const PeakFigures alone = Trained(OfLength(512, {})), varied = Trained(OfLength(512, 64));
  EXPECT_EQ(varied.peak_bytes, alone.peak_bytes);
  EXPECT_EQ(varied.device_bytes, alone.device_bytes) << "with less room the allocator gives them back";
  EXPECT_EQ(varied.device_low_bytes, alone.device_low_bytes);
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
    EXPECT_EQ(varied.allocated_low_bytes, alone.allocated_low_bytes);
    most = std::max(most, varied.allocated_high_bytes - alone.allocated_high_bytes);
  }
  EXPECT_GT(most, 0);
  EXPECT_LE(most, 8 * kMiB);
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
