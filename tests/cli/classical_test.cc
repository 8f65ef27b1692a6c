// A classical model runs in onnxruntime, on the CPU unless a card is requested.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/answers/answers.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;

constexpr char kTrees[] = R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
    g (float[N,2] x) => (float[N,1] y) {
      y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0, 1]> (x)
    })";

absl::StatusOr<RunSummary> Requested(void (*ask)(Options& options)) {
  const fs::path path = fs::path(testing::TempDir()) / "trees.onnx";
  std::ofstream(path, std::ios::binary) << ModelBytes(kTrees);
  Options options;
  options.command = "analyze";
  options.operands = {path.string()};
  options.batches = {8};
  ask(options);
  const absl::StatusOr<CommandAnswer> answered = AnswerAnalyze(options);
  fs::remove(path);
  if (!answered.ok()) return answered.status();
  return answered->report.runs.at(0);
}

TEST(ClassicalModel, IsAnsweredOnTheCpu) {
  const absl::StatusOr<RunSummary> run = Requested([](Options&) {});
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_TRUE(run->inference);
  EXPECT_FALSE(run->training);
  EXPECT_EQ(run->inference->context_bytes, 0) << "no CUDA context beside a few bytes of trees";
}

TEST(ClassicalModel, IsAnsweredOnACardThatIsNamed) {
  const absl::StatusOr<RunSummary> run = Requested([](Options& options) { options.device_given = true; });
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_GT(run->inference->context_bytes, 0);
}

}  // namespace
}  // namespace onnx_mem
