// Models of testdata/ for the tests of advice.
#ifndef ONNX_MEM_TESTS_PLANNER_PLANS_ADVICE_TESTDATA_MODEL_H_
#define ONNX_MEM_TESTS_PLANNER_PLANS_ADVICE_TESTDATA_MODEL_H_

#include <gtest/gtest.h>

#include <string>

#include "analyzer/study/study.h"
#include "planner/advice/footprint.h"
#include "planner/advice/way.h"

namespace onnx_mem {

inline ModelFile OpenModel(const std::string& name) {
  absl::StatusOr<ModelFile> file =
      ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + name + ".train.ts.op17.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

inline Workload TrainingAt(int64_t batch) {
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.bindings.batch = batch;
  workload.optimizer = *ParseOptimizer("adam");
  return workload;
}

// What Analyze says, by itself, of the device bytes.
inline int64_t DeviceBytes(const ModelFile& file, Workload workload) {
  const absl::StatusOr<Analysis> analysis = Analyze(file, workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return workload.mode == Mode::kInference ? analysis->inference()->device_bytes : analysis->training()->device_bytes;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_PLANNER_PLANS_ADVICE_TESTDATA_MODEL_H_
