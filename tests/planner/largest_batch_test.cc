#include "planner/answer/largest_batch.h"

#include <gtest/gtest.h>

#include <string>

namespace onnx_mem {
namespace {

TEST(FindLargestBatch, FitsAndOneMoreDoesNot) {
  const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/unet_seg.train.ts.op17.onnx");
  ASSERT_TRUE(file.ok()) << file.status();
  Workload workload;
  workload.mode = Mode::kTraining;
  PlanRequest request;
  request.budget_line = BudgetLine::kLive;
  request.budget_bytes = int64_t{1} << 30;
  Study study(*file);
  const auto largest = FindLargestBatch(study, workload, request);
  ASSERT_TRUE(largest.ok()) << largest.status();
  ASSERT_GT(largest->without_plan, 0);
  EXPECT_GT(largest->batch, largest->without_plan);
  ASSERT_TRUE(largest->bound.has_value());
  EXPECT_GE(*largest->bound, largest->batch);

  const auto peak = [&](int64_t batch) {
    workload.bindings.batch = batch;
    return Study(*file).PeakBytes(workload).value();
  };
  EXPECT_LE(peak(largest->without_plan), *request.budget_bytes);
  EXPECT_GT(peak(largest->without_plan + 1), *request.budget_bytes);

  workload.bindings.batch = largest->batch;
  request.iteration_limit = 60;
  request.time_limit_s = 0.4;
  const auto answer = PlanModel(study, workload, request);
  ASSERT_TRUE(answer.ok() && answer->chosen.has_value());
  EXPECT_LE(answer->plans[*answer->chosen].measured.peak_bytes, *request.budget_bytes);
  // On live bytes no set of whole modules fits one sample more.
  EXPECT_EQ(largest->class_bound, largest->batch);
}

TEST(FindLargestBatch, NotOneSample) {
  const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/lenet5.train.ts.op17.onnx");
  ASSERT_TRUE(file.ok()) << file.status();
  PlanRequest request;
  request.budget_bytes = 1 << 20;
  Study study(*file);
  const auto largest = FindLargestBatch(study, Workload(), request);
  ASSERT_TRUE(largest.ok()) << largest.status();
  EXPECT_EQ(largest->batch, 0);
  EXPECT_EQ(largest->without_plan, 0);
  EXPECT_EQ(largest->bound, 0);
}

}  // namespace
}  // namespace onnx_mem
