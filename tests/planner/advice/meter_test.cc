#include "planner/advice/meter.h"

#include <gtest/gtest.h>

#include "tests/planner/advice/testdata_model.h"

namespace onnx_mem {
namespace {

void ExpectAsAnalyzed(Meter& meter, const ModelFile& file, const Workload& workload) {
  const absl::StatusOr<Footprint> footprint = meter.Measure(workload);
  ASSERT_TRUE(footprint.ok()) << footprint.status();
  const absl::StatusOr<Analysis> analysis = Analyze(file, workload);
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  const RunFigures& figures = workload.mode == Mode::kInference ? *analysis->inference : *analysis->training;
  EXPECT_EQ(footprint->peak_bytes, figures.peak_bytes);
  EXPECT_EQ(footprint->first_step_peak_bytes, figures.first_step_peak_bytes);
  EXPECT_EQ(footprint->allocated_peak_bytes, figures.allocated_peak_bytes);
  EXPECT_EQ(footprint->device_bytes, figures.device_bytes);
}

// Whatever was measured before, and whatever of it is kept.
TEST(Meter, SaysWhatAnalyzeSaysInAnyOrder) {
  const ModelFile file = OpenModel("resnet18");
  Meter meter(file);
  const Workload plain = TrainingAt(4);
  Workload autocast = plain, frozen = plain, sgd = plain, inference = plain, segment = plain, accumulated = plain;
  autocast.run.autocast = DType::kBFloat16;
  frozen.run.freeze = {"^(?!fc\\.)"};
  sgd.optimizer = *ParseOptimizer("sgd");
  inference.mode = Mode::kInference;
  segment.run.segments = {{.modules = {"layer1"}, .nodes = {}}};
  accumulated.run.accumulate = 3;
  for (const Workload& workload :
       {plain, autocast, frozen, TrainingAt(8), sgd, inference, segment, accumulated, plain}) {
    ExpectAsAnalyzed(meter, file, workload);
  }
}

TEST(Meter, EnactsOnceWhatDiffersInTheOptimizerAlone) {
  const ModelFile file = OpenModel("lenet5");
  Meter meter(file);
  Workload workload = TrainingAt(8);
  ASSERT_TRUE(meter.Measure(workload).ok());
  workload.optimizer = *ParseOptimizer("sgd");
  ASSERT_TRUE(meter.Measure(workload).ok());
  EXPECT_EQ(meter.enactments(), 1);
}

TEST(Meter, HandsOnErrors) {
  const ModelFile file = OpenModel("lenet5");
  Meter meter(file);
  Workload workload = TrainingAt(8);
  workload.bindings.dims["nowhere"] = 3;
  EXPECT_FALSE(meter.Measure(workload).ok());
  EXPECT_TRUE(meter.Measure(TrainingAt(8)).ok());
}

}  // namespace
}  // namespace onnx_mem
