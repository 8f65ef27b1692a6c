#include "planner/advice/footprint.h"

#include <gtest/gtest.h>

#include "tests/planner/advice/testdata_model.h"

namespace onnx_mem {
namespace {

void ExpectAsAnalyzed(Study& study, const ModelFile& file, const Workload& workload) {
  const absl::StatusOr<Footprint> footprint = FootprintOf(study, workload);
  ASSERT_TRUE(footprint.ok()) << footprint.status();
  const absl::StatusOr<Analysis> analysis = Analyze(file, workload);
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  const RunFigures& figures = workload.mode == Mode::kInference ? *analysis->inference() : *analysis->training();
  EXPECT_EQ(footprint->peak_bytes, figures.peak_bytes);
  EXPECT_EQ(footprint->first_step_peak_bytes, figures.first_step_peak_bytes);
  EXPECT_EQ(footprint->allocated_peak_bytes, figures.allocated_peak_bytes);
  EXPECT_EQ(footprint->device_bytes, figures.device_bytes);
}

// Whatever was measured before, and whatever of it is kept.
TEST(Study, SaysWhatAnalyzeSaysInAnyOrder) {
  const ModelFile file = OpenModel("resnet18");
  Study study(file);
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
    ExpectAsAnalyzed(study, file, workload);
  }
}

TEST(Study, EnactsOnceWhatDiffersInTheOptimizerAlone) {
  const ModelFile file = OpenModel("lenet5");
  Study study(file);
  Workload workload = TrainingAt(8);
  ASSERT_TRUE(FootprintOf(study, workload).ok());
  workload.optimizer = *ParseOptimizer("sgd");
  ASSERT_TRUE(FootprintOf(study, workload).ok());
  EXPECT_EQ(study.enactments(), 1);
}

TEST(Study, HandsOnErrors) {
  const ModelFile file = OpenModel("lenet5");
  Study study(file);
  Workload workload = TrainingAt(8);
  workload.bindings.dims["nowhere"] = 3;
  EXPECT_FALSE(FootprintOf(study, workload).ok());
  EXPECT_TRUE(FootprintOf(study, TrainingAt(8)).ok());
}

}  // namespace
}  // namespace onnx_mem
