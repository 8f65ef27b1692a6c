// What PyTorch took with the emitted code applied (testdata/measured/plans.json) against the accountant's figures for
// the same segments.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/runtimes/figures.h"
#include "planner/code/wrapping.h"

namespace onnx_mem {
namespace {

const std::string kTestData = std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/";

std::vector<Segment> MeasuredSegments(const nlohmann::json& row) {
  std::vector<Segment> segments;
  for (const auto& modules : row.at("segments")) segments.push_back({.modules = modules, .nodes = {}});
  if (row.contains("keep")) {  // selective checkpointing, by segment
    for (size_t i = 0; i < segments.size(); ++i) segments[i].keep = row.at("keep")[i];
  }
  return segments;
}

TEST(MeasuredPlans, TheAccountantSaysWhatPyTorchTook) {
  std::ifstream file(kTestData + "measured/plans.json");
  const nlohmann::json document = nlohmann::json::parse(file);
  int rows = 0;
  for (const auto& entry : document.at("models")) {
    const absl::StatusOr<ModelFile> model =
        ModelFile::Open(kTestData + "models/" + entry.at("file").get<std::string>());
    ASSERT_TRUE(model.ok()) << model.status();
    Workload workload;
    workload.mode = Mode::kTraining;
    workload.bindings.batch = entry.at("batch").get<int64_t>();
    workload.optimizer = *ParseOptimizer("momentum");
    const absl::StatusOr<ImportedModel> imported = model->Import(workload.bindings);
    ASSERT_TRUE(imported.ok()) << imported.status();
    const absl::StatusOr<Lowered> lowered = Prepare(imported->graph, workload.run);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    for (const auto& row : entry.at("rows")) {
      SCOPED_TRACE(row.dump());
      workload.run.segments = MeasuredSegments(row);
      const absl::StatusOr<Enacted> enacted = EnactLowered(*lowered, workload.run);
      ASSERT_TRUE(enacted.ok()) << enacted.status();
      const absl::StatusOr<RunFigures> figures = TrainingFigures(*enacted, workload);
      ASSERT_TRUE(figures.ok()) << figures.status();
      EXPECT_EQ(figures->peak_bytes, row.at("peak_bytes").get<int64_t>());
      EXPECT_EQ(enacted->recompute_flops, row.at("recompute_flops").get<int64_t>());
      for (const Segment& segment : workload.run.segments) {
        const absl::StatusOr<Wrapping> wrapping = WrappingOf(*lowered, ModuleNodes(lowered->graph), segment);
        ASSERT_TRUE(wrapping.ok()) << wrapping.status();
        EXPECT_NE(wrapping->kind, WrapKind::kEditForward) << wrapping->why;
      }
      ++rows;
    }
  }
  EXPECT_GE(rows, 6);
}

}  // namespace
}  // namespace onnx_mem
