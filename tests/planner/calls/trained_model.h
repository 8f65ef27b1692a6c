// A model of testdata with a training step's workload, and whether a plan of it promises what the analysis measures.
#ifndef ONNX_MEM_TESTS_PLANNER_CALLS_TRAINED_MODEL_H_
#define ONNX_MEM_TESTS_PLANNER_CALLS_TRAINED_MODEL_H_

#include <gtest/gtest.h>

#include <string>

#include "analyzer/study/study.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

struct TrainedModel {
  ImportedModel imported;
  Workload workload;
};

inline TrainedModel LoadTrained(const std::string& name, int64_t batch) {
  const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + name);
  if (!file.ok()) ADD_FAILURE() << file.status();
  TrainedModel model;
  model.workload.mode = Mode::kTraining;
  model.workload.bindings.batch = batch;
  auto imported = file->Import(model.workload.bindings);
  if (!imported.ok()) ADD_FAILURE() << imported.status();
  model.imported = *std::move(imported);
  return model;
}

inline void ExpectAsMeasured(const TrainedModel& model, const ModulePlan& plan) {
  Workload workload = model.workload;
  for (const PlannedSegment& segment : plan.segments) workload.run.segments.push_back(segment.segment);
  const auto analysis = Study(model.imported).Ask(workload);
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_EQ(plan.measured.peak_bytes, analysis->training()->peak_bytes) << plan.label;
  EXPECT_EQ(plan.measured.recompute_flops, analysis->recompute_flops) << plan.label;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_PLANNER_CALLS_TRAINED_MODEL_H_
