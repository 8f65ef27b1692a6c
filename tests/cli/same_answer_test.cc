// The short answer is the long one's, and a list of batches is as many single runs: of a decoder with a cache and of an
// int8 file.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/answers/answers.h"
#include "cli/options/options.h"

namespace onnx_mem {
namespace {

using Words = std::vector<std::string>;

const char kModels[] = ONNX_MEM_SOURCE_DIR "/testdata/models/";

std::vector<RunSummary> RunsOf(const Words& words) {
  const ParsedOptions parsed = ParseOptions(words);
  EXPECT_TRUE(parsed.status.ok()) << parsed.status;
  const absl::StatusOr<CommandAnswer> answered = AnswerAnalyze(parsed.options);
  EXPECT_TRUE(answered.ok()) << answered.status();
  return answered.ok() ? answered->report.runs : std::vector<RunSummary>();
}

// What -q prints of a run.
std::string BytesOf(const RunSummary& run) {
  std::string text = std::to_string(run.batch);
  for (const auto& part : {run.training, run.inference})
    text += " " + (part ? std::to_string(part->device_bytes) : "-");
  return text;
}

Words With(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class SameAnswer : public testing::TestWithParam<Words> {};

TEST_P(SameAnswer, QuietIsTheSame) {
  const std::vector<RunSummary> shown = RunsOf(With(GetParam(), {"-b", "2"}));
  const std::vector<RunSummary> quiet = RunsOf(With(GetParam(), {"-b", "2", "-q"}));
  ASSERT_EQ(shown.size(), 1u);
  ASSERT_EQ(quiet.size(), 1u);
  EXPECT_EQ(BytesOf(shown[0]), BytesOf(quiet[0]));
}

TEST_P(SameAnswer, AListOfBatchesIsAsManyRuns) {
  const std::vector<RunSummary> together = RunsOf(With(GetParam(), {"-b", "1,3,4"}));
  ASSERT_EQ(together.size(), 3u);
  for (size_t i = 0; const char* batch : {"1", "3", "4"}) {
    const std::vector<RunSummary> alone = RunsOf(With(GetParam(), {"-b", batch}));
    ASSERT_EQ(alone.size(), 1u);
    EXPECT_EQ(BytesOf(together[i++]), BytesOf(alone[0]));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, SameAnswer,
                         testing::Values(Words{std::string(kModels) + "decoder.eval.ts.op17.onnx", "-d",
                                               "sequence_length=4", "-d", "past_sequence_length=60"},
                                         Words{std::string(kModels) + "decoder.eval.ts.op17.onnx", "-d",
                                               "sequence_length=4", "-d", "past_sequence_length=0"},
                                         Words{std::string(kModels) + "resnet18.int8.eval.ts.op17.onnx"},
                                         Words{std::string(kModels) + "resnet18.int8.eval.ts.op17.onnx", "--device",
                                               "cpu"}));

}  // namespace
}  // namespace onnx_mem
