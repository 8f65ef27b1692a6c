#include <gtest/gtest.h>

#include "planner/advice/fit.h"
#include "tests/planner/advice/testdata_model.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

void ExpectCertified(const std::string& model, Workload workload, int64_t limit_bytes) {
  SCOPED_TRACE(model);
  const ModelFile file = OpenModel(model);
  Study study(file);
  const absl::StatusOr<FittingBatch> largest = FindLargestBatch(study, workload, limit_bytes);
  ASSERT_TRUE(largest.ok()) << largest.status();
  ASSERT_FALSE(largest->at_least);
  ASSERT_GT(largest->batch, 0);
  workload.bindings.batch = largest->batch;
  EXPECT_EQ(DeviceBytes(file, workload), largest->device_bytes);
  EXPECT_LE(*largest->device_bytes, limit_bytes);
  workload.bindings.batch = largest->batch + 1;
  EXPECT_EQ(DeviceBytes(file, workload), largest->device_bytes_beyond);
  EXPECT_GT(*largest->device_bytes_beyond, limit_bytes);
}

TEST(FindLargestBatch, FitsAndOneMoreDoesNot) {
  Workload inference = TrainingAt(1);
  inference.mode = Mode::kInference;
  for (int64_t limit : {int64_t{800}, int64_t{3000}, int64_t{24217}}) {
    ExpectCertified("resnet18", TrainingAt(1), limit * kMiB);
    ExpectCertified("unet_seg", TrainingAt(3), limit * kMiB);
    ExpectCertified("siamese", inference, limit * kMiB);
  }
}

// Not the batch alone: any size that has a name.
TEST(FindLargestBatch, AlongALength) {
  const ModelFile file = OpenModel("gpt2_sdpa");
  Study study(file);
  Workload workload = TrainingAt(2);
  const auto bytes_at = [&](int64_t length) {
    workload.bindings.dims["seq"] = length;
    return DeviceBytes(file, workload);
  };
  const int64_t limit_bytes = bytes_at(300);
  workload.bindings.dims["seq"] = 128;
  const absl::StatusOr<FittingBatch> largest = FindLargestBatch(study, workload, limit_bytes, {.length = "seq"});
  ASSERT_TRUE(largest.ok()) << largest.status();
  EXPECT_GE(largest->batch, 300);
  EXPECT_LE(bytes_at(largest->batch), limit_bytes);
  EXPECT_GT(bytes_at(largest->batch + 1), limit_bytes);
}

// The search may begin on either side.
TEST(FindLargestBatch, DoesNotDependOnWhereItBegins) {
  const ModelFile file = OpenModel("lenet5");
  Study study(file);
  const absl::StatusOr<FittingBatch> from_one = FindLargestBatch(study, TrainingAt(1), 1000 * kMiB);
  const absl::StatusOr<FittingBatch> from_above = FindLargestBatch(study, TrainingAt(1 << 20), 1000 * kMiB);
  ASSERT_TRUE(from_one.ok() && from_above.ok());
  EXPECT_EQ(from_one->batch, from_above->batch);
}

TEST(FindLargestBatch, NotEvenOneSample) {
  const ModelFile file = OpenModel("lenet5");
  Study study(file);
  const absl::StatusOr<FittingBatch> largest = FindLargestBatch(study, TrainingAt(64), kMiB);
  ASSERT_TRUE(largest.ok()) << largest.status();
  EXPECT_EQ(largest->batch, 0);
  EXPECT_FALSE(largest->device_bytes);
}

// Sizes that overflow 64 bits do not fit, and end nothing.
TEST(FindLargestBatch, EndsWhereAnyBatchFits) {
  const ModelFile file = OpenModel("lenet5");
  Study study(file);
  const absl::StatusOr<FittingBatch> largest =
      FindLargestBatch(study, TrainingAt(1), std::numeric_limits<int64_t>::max() - 1);
  ASSERT_TRUE(largest.ok()) << largest.status();
  EXPECT_TRUE(largest->at_least || largest->batch > (1 << 20));
}

// An input that is given whole has the batch in it.
TEST(FindLargestBatch, FollowsInputsThatAreGivenWhole) {
  const ModelFile file = OpenModel("resnet18");
  Study study(file);
  Workload workload = TrainingAt(8);
  workload.bindings.batch.reset();
  workload.bindings.inputs["input"] = {8, 3, 64, 64};
  const absl::StatusOr<FittingBatch> largest = FindLargestBatch(study, workload, 2000 * kMiB);
  ASSERT_TRUE(largest.ok()) << largest.status();
  workload.bindings.inputs["input"].front() = largest->batch;
  EXPECT_EQ(DeviceBytes(file, workload), largest->device_bytes);
  EXPECT_GT(largest->batch, 8);
}

}  // namespace
}  // namespace onnx_mem
