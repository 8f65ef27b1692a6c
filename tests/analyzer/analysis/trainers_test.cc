// The loops of trainers against what they took: testdata/measured/trainers.json, written by measure_trainers.py.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "analyzer/study/study.h"
#include "nlohmann/json.hpp"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

Trainer TrainerNamed(const std::string& name) {
  for (const TrainerRow& row : kTrainers) {
    if (row.name == name) return row.trainer;
  }
  ADD_FAILURE() << name;
  return Trainer::kPlain;
}

Analysis StepOf(const std::string& record, int64_t batch, Trainer trainer) {
  const absl::StatusOr<ModelFile> file = ModelFile::Open(ONNX_MEM_SOURCE_DIR "/testdata/trainers/" + record);
  EXPECT_TRUE(file.ok()) << file.status();
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.bindings.batch = batch;
  workload.optimizer.name = "sgd";
  workload.run.trainer = trainer;
  const absl::StatusOr<Analysis> analysis = Analyze(*file, workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return *analysis;
}

// Beside the step a loop keeps single numbers, as the loss that it reports.
TEST(Trainers, TakeWhatTheyTookButForNumbers) {
  std::ifstream in(ONNX_MEM_SOURCE_DIR "/testdata/measured/trainers.json");
  const Json rows = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  ASSERT_EQ(rows.size(), 10U);
  for (const Json& row : rows) {
    const std::string name = row["trainer"], record = row["record"];
    const int64_t peak_bytes = StepOf(record + ".eager", row["batch"], TrainerNamed(name)).training()->peak_bytes;
    const int64_t measured = row["peak_bytes"].get<int64_t>() - row["host_bytes"].get<int64_t>();
    EXPECT_GE(measured, peak_bytes) << name << " " << record;
    EXPECT_LE(measured, peak_bytes + 16) << name << " " << record;
  }
}

std::string Said(const Analysis& analysis, const std::string& name) {
  for (const auto& [key, value] : analysis.assumptions) {
    if (key == name) return value;
  }
  return "";
}

// 8 x 32 rows of 2,000 numbers.
TEST(Trainers, WhatTheLoopHoldsIsSaid) {
  EXPECT_EQ(Said(StepOf("tokens.eager", 8, Trainer::kPlain), "holds"), "the outputs to the end of the step: 2.0 MiB");
  const Analysis hf = StepOf("tokens.eager", 8, Trainer::kHuggingFace);
  EXPECT_EQ(Said(hf, "holds"), "");
  EXPECT_EQ(Said(hf, "trainer"), "hf");
}

Analysis AdamOf(TorchVersion torch, bool given) {
  const absl::StatusOr<ModelFile> file = ModelFile::Open(ONNX_MEM_SOURCE_DIR "/testdata/trainers/wide.eager");
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.run.trainer = Trainer::kHuggingFace;
  workload.optimizer.implementation_given = given;
  workload.platform.torch = torch;
  return *Analyze(*file, workload);
}

TEST(Trainers, HuggingFacesAdamIsFusedFromTorch28) {
  EXPECT_EQ(Said(AdamOf({2, 7}, false), "optimizer-impl"), "");
  EXPECT_EQ(Said(AdamOf({2, 8}, false), "optimizer-impl"), "fused");
  EXPECT_EQ(Said(AdamOf({2, 8}, true), "optimizer-impl"), "");
}

}  // namespace
}  // namespace onnx_mem
