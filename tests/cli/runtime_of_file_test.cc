// A file that was made for onnxruntime is requested there, by every command alike.
#include "cli/answers/runtime_of_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/answers/answers.h"
#include "cli/commands/commands.h"
#include "cli/options/options.h"
#include "report/compare/comparison.h"

namespace onnx_mem {
namespace {

using Words = std::vector<std::string>;

const char kInt8[] = ONNX_MEM_SOURCE_DIR "/testdata/models/resnet18.int8.eval.ts.op17.onnx";
const char kFloat[] = ONNX_MEM_SOURCE_DIR "/testdata/models/resnet18.eval.ts.op17.onnx";

Options OptionsFrom(const Words& words) {
  const ParsedOptions parsed = ParseOptions(words);
  EXPECT_TRUE(parsed.status.ok()) << parsed.status;
  return parsed.options;
}

TEST(RuntimeOfFile, AnInt8FileHasItsParametersAndNoTrainingStep) {
  const absl::StatusOr<CommandAnswer> answered = AnswerAnalyze(OptionsFrom({kInt8}));
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_NEAR(static_cast<double>(answered->report.model.parameters), 11.7e6, 0.1e6);
  EXPECT_FALSE(answered->report.runs.at(0).training.has_value());
}

TEST(RuntimeOfFile, NothingIsTrainedWhereTheUserWantsPyTorchEither) {
  const absl::StatusOr<CommandAnswer> answered = AnswerAnalyze(OptionsFrom({kInt8, "--for", "pytorch"}));
  ASSERT_TRUE(answered.ok()) << answered.status();
  ASSERT_NE(answered->analysis->training(), nullptr);
  for (const Buffer& buffer : answered->analysis->training()->program->buffers) {
    EXPECT_NE(buffer.category, Category::kOptimizerState);
  }
}

TEST(RuntimeOfFile, TwoFilesAreComparedInOneRuntime) {
  for (const Words& order : {Words{kFloat, kInt8}, Words{kInt8, kFloat}}) {
    const absl::StatusOr<CommandAnswer> answered = AnswerCompare(OptionsFrom({"compare", order[0], order[1]}));
    ASSERT_TRUE(answered.ok()) << answered.status();
    const auto& comparison = *std::get<ComparePart>(answered->report.part);
    EXPECT_FALSE(comparison.base.report.runs.at(0).training.has_value());
    EXPECT_FALSE(comparison.heads.at(0).report.runs.at(0).training.has_value());
    ASSERT_FALSE(answered->warnings.empty());
    EXPECT_EQ(answered->warnings.back().code, Code::kForOnnxruntime);
    EXPECT_NE(answered->warnings.back().message.find("int8"), std::string::npos) << "names the file that is the reason";
  }
}

TEST(RuntimeOfFile, ThereIsNoPlanForWhatIsNotTrained) {
  const absl::StatusOr<CommandAnswer> answered = AnswerPlan(OptionsFrom({"plan", kInt8, "--budget", "1GiB"}));
  EXPECT_EQ(DiagnosticOf(answered.status()).code, Code::kNothingTrained) << answered.status();
}

TEST(RuntimeOfFile, FitIsAboutAnInference) {
  const absl::StatusOr<CommandAnswer> answered = AnswerFit(OptionsFrom({"fit", kInt8, "--gpu", "T4"}));
  ASSERT_TRUE(answered.ok()) << answered.status();
  const auto& cards = std::get<FitPart>(answered->report.part).cards;
  ASSERT_EQ(cards.at(0).parts.size(), 1u);
  EXPECT_EQ(cards.at(0).parts[0].name, "inference");
}

}  // namespace
}  // namespace onnx_mem
