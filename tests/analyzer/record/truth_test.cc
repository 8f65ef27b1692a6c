// What the records of testdata/records take, enacted at the batch of the recording and at two that it never saw, is
// what the models' own code took, to the byte.
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/study/study.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/analyzer/record/recorded_models.h"

namespace onnx_mem {
namespace {

const nlohmann::json& Truth() {
  static const nlohmann::json& truth =
      *new nlohmann::json(nlohmann::json::parse(TextOfFile(RecordsPath("truth.json"))));
  return truth;
}

class RecordedModel : public testing::TestWithParam<std::string> {};

LossKind LossOf(const std::string& name) {
  static const std::map<std::string, LossKind> kLosses = {
      {"cross-entropy", LossKind::kCrossEntropy}, {"mean", LossKind::kMean}, {"output", LossKind::kAuto}};
  return kLosses.at(name);
}

Analysis AnalyzeRecord(const ModelFile& file, int64_t batch, const std::string& optimizer, LossKind loss) {
  Workload workload;
  workload.bindings.batch = batch;
  workload.optimizer.name = optimizer;
  workload.run.loss = loss;
  absl::StatusOr<Analysis> analysis = Study(file).AskWithRange(workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return analysis.ok() ? *std::move(analysis) : Analysis();
}

TEST_P(RecordedModel, TakesWhatItsCodeTook) {
  const nlohmann::json& truth = Truth().at("models").at(GetParam());
  const absl::StatusOr<ModelFile> file = ModelFile::Open(RecordsPath(GetParam() + ".eager"));
  ASSERT_TRUE(file.ok()) << file.status();
  for (const nlohmann::json& run : truth.at("runs")) {
    const int64_t batch = run.at("batch");
    for (const std::string optimizer : {"adam", "momentum"}) {
      SCOPED_TRACE(absl::StrCat("batch ", batch, ", ", optimizer));
      const Analysis analysis = AnalyzeRecord(*file, batch, optimizer, LossOf(truth.at("loss")));
      ASSERT_TRUE(analysis.training() && analysis.inference());
      EXPECT_EQ(analysis.parameter_bytes, truth.at("parameter_bytes"));
      EXPECT_EQ(analysis.buffer_bytes, truth.at("buffer_bytes"));
      EXPECT_EQ(analysis.inference()->peak_bytes, run.at("inference").at("peak_bytes"));
      const nlohmann::json& step = run.at(optimizer);
      EXPECT_EQ(analysis.saved_activation_bytes, step.at("saved_activation_bytes"));
      EXPECT_EQ(analysis.training()->first_step_peak_bytes, step.at("first_step_peak_bytes"));
      EXPECT_EQ(analysis.training()->peak_bytes, step.at("peak_bytes"));
      // Nothing is open.
      EXPECT_EQ(analysis.training()->peak_low_bytes, analysis.training()->peak_bytes);
      EXPECT_EQ(analysis.training()->peak_high_bytes, analysis.training()->peak_bytes);
      EXPECT_EQ(analysis.inference()->peak_low_bytes, analysis.inference()->peak_bytes);
      EXPECT_EQ(analysis.inference()->peak_high_bytes, analysis.inference()->peak_bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordedModel, testing::ValuesIn(RecordedModels()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace onnx_mem
