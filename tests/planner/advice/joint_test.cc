#include "planner/advice/joint.h"

#include <gtest/gtest.h>

#include "analyzer/devices/gpus.h"
#include "tests/planner/advice/testdata_model.h"

namespace onnx_mem {
namespace {

std::vector<JointRun> RunsFor(const ModelFile& file, const Workload& workload, int64_t limit) {
  Study study(file);
  const Gpu card = *FindGpu("T4");
  JointRequest request{.limit_bytes = limit, .card = &card, .rates = *RooflineOf(card), .plan_iterations = 24};
  return ChooseJointly(study, workload, request);
}

TEST(ChooseJointly, EveryRunTakesWhatTheAnalysisMeasuresAndTrainsOnAsManySamples) {
  const ModelFile file = OpenModel("resnet18");
  const Workload workload = TrainingAt(64);
  const int64_t limit = DeviceBytes(file, workload) * 7 / 10;
  const std::vector<JointRun> runs = RunsFor(file, workload, limit);
  ASSERT_FALSE(runs.empty());
  for (const JointRun& run : runs) {
    SCOPED_TRACE(run.change.change);
    EXPECT_LE(run.device_bytes, limit);
    EXPECT_EQ(run.device_bytes, DeviceBytes(file, run.change.workload));
    EXPECT_EQ(*run.change.workload.bindings.batch * run.change.workload.run.accumulate, 64);
  }
}

TEST(ChooseJointly, TheSameNumbersFirstAndNoRunBeatsAnotherInBoth) {
  const ModelFile file = OpenModel("resnet18");
  const Workload workload = TrainingAt(64);
  const std::vector<JointRun> runs = RunsFor(file, workload, DeviceBytes(file, workload) * 7 / 10);
  bool other = false;
  for (size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(runs[i].change.change);
    const Workload& with = runs[i].change.workload;
    EXPECT_EQ(runs[i].same_numbers, !with.run.autocast && with.optimizer.name == workload.optimizer.name);
    EXPECT_EQ(runs[i].batch_norm_sees, with.run.accumulate > 1 ? *with.bindings.batch : 0);
    EXPECT_FALSE(other && runs[i].same_numbers);
    other = !runs[i].same_numbers;
    if (i == 0 || runs[i - 1].same_numbers != runs[i].same_numbers) continue;
    EXPECT_GT(runs[i].ns_per_sample, runs[i - 1].ns_per_sample);
    EXPECT_LT(runs[i].device_bytes, runs[i - 1].device_bytes);
  }
  EXPECT_TRUE(other);
}

TEST(ChooseJointly, WithoutBatchStatisticsTwoHalvesAreTheSameNumbers) {
  const ModelFile file = OpenModel("gpt2_sdpa");
  Workload workload = TrainingAt(32);
  workload.bindings.dims["seq"] = 128;
  bool halved = false;
  for (const JointRun& run : RunsFor(file, workload, DeviceBytes(file, workload) * 7 / 10)) {
    halved = halved || (run.same_numbers && run.change.workload.run.accumulate > 1);
    EXPECT_EQ(run.batch_norm_sees, 0) << run.change.change;
  }
  EXPECT_TRUE(halved);
}

TEST(ChooseJointly, NothingWhereNothingFits) {
  const ModelFile file = OpenModel("resnet18");
  EXPECT_TRUE(RunsFor(file, TrainingAt(4), int64_t{1} << 20).empty());
}

}  // namespace
}  // namespace onnx_mem
