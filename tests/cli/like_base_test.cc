// A model beside a saved report is analyzed as the report was: what is not taken over shows in the bytes.
#include "cli/answers/like_base.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/study/study.h"

namespace onnx_mem {
namespace {

using Words = std::vector<std::string>;

const char kResNet[] = ONNX_MEM_SOURCE_DIR "/testdata/models/resnet18.train.ts.op17.onnx";

Options OptionsOf(Words words) {
  words.insert(words.begin(), {"compare", "base.json", kResNet, "--like", "base"});
  ParsedOptions parsed = ParseOptions(words);
  EXPECT_TRUE(parsed.status.ok()) << parsed.status;
  return parsed.options;
}

Analysis AnalysisWith(const Options& options) {
  const absl::StatusOr<ModelFile> file = ModelFile::Open(kResNet);
  EXPECT_TRUE(file.ok()) << file.status();
  Workload workload = options.workload;
  workload.mode = Mode::kTraining;
  workload.bindings.batch = 2;
  absl::StatusOr<Analysis> analysis = Analyze(*file, workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return *std::move(analysis);
}

ComparedSide Saved(const Analysis& analysis) {
  ComparedSide side = ComparedOf(analysis);
  side.saved = true;
  side.version = ONNX_MEM_VERSION;
  return side;
}

PartSummary Training(const Analysis& analysis) { return *Summarize(analysis).training; }

int64_t Bytes(const Analysis& analysis, Category category) {
  return Training(analysis).breakdown[static_cast<size_t>(category)];
}

TEST(TakeOver, TheHeadIsAnalyzedAsTheBaseWas) {
  const Analysis as_it_is = AnalysisWith(OptionsOf({}));
  const std::vector<Words> cases = {
      {"--optimizer", "sgd"},
      {"--optimizer", "12"},
      {"--optimizer-impl", "for-loop"},
      {"--freeze", "^(?!fc)"},
      {"--freeze", "^conv1", "--freeze", "^layer1"},
      {"--requires-grad", "input"},
      {"--checkpointed", "layer1"},
      {"--segment", "layer1", "--segment", "layer2.0,layer2.1"},
      {"--segment", "layer1@host", "--segment", "layer2@host-waiting", "--segment", "layer3.0,layer3.1"},
      {"--loss", "sum"},
      {"--inplace", "none"},
      {"--dtype", "bf16"},
      {"--amp", "bf16"},
      {"--accumulate", "2"},
      {"--optimizer", "sgd", "--freeze", "^(?!fc)", "--dtype", "bf16"},
  };
  for (const Words& words : cases) {
    std::string shown;
    for (const std::string& word : words) shown += word + " ";
    SCOPED_TRACE(shown);
    const Analysis base = AnalysisWith(OptionsOf(words));
    Options options = OptionsOf({});
    const absl::Status taken = TakeOver(Saved(base), options);
    ASSERT_TRUE(taken.ok()) << taken;
    const Analysis head = AnalysisWith(options);
    EXPECT_EQ(Training(head).peak_bytes, Training(base).peak_bytes);
    EXPECT_EQ(Training(head).breakdown, Training(base).breakdown);
    EXPECT_EQ(head.assumptions, base.assumptions);
    EXPECT_NE(base.assumptions, as_it_is.assumptions) << "the case says nothing";
    EXPECT_TRUE(CheckSameAssumptions(Saved(base), ComparedOf(head)).ok());
    EXPECT_FALSE(CheckSameAssumptions(Saved(base), ComparedOf(as_it_is)).ok());
  }
}

TEST(TakeOver, OptimizerStateIsTheBases) {
  const Analysis as_it_is = AnalysisWith(OptionsOf({}));
  const Analysis base = AnalysisWith(OptionsOf({"--optimizer", "momentum", "--freeze", "^(?!fc)"}));
  Options options = OptionsOf({});
  ASSERT_TRUE(TakeOver(Saved(base), options).ok());
  const Analysis head = AnalysisWith(options);
  EXPECT_EQ(Bytes(head, Category::kOptimizerState), Bytes(base, Category::kOptimizerState));
  EXPECT_EQ(Bytes(base, Category::kOptimizerState), (512 * 1000 + 1000) * 4);
  EXPECT_GT(Bytes(as_it_is, Category::kOptimizerState), Bytes(base, Category::kOptimizerState));
}

// The report's words are those to type: where a segment is placed is one of them.
TEST(TakeOver, SegmentsOnTheHostAreNamedAsTheyAreTyped) {
  const Words typed = {"layer1.0@host", "layer1.1@host-waiting", "layer2.0@host-held", "layer3@host-gate"};
  Words words;
  for (const std::string& segment : typed) words.insert(words.end(), {"--segment", segment});
  const Analysis base = AnalysisWith(OptionsOf(words));
  std::string reported;
  for (const auto& [name, value] : base.assumptions) {
    if (name == "segment") reported = value;
  }
  EXPECT_EQ(reported, "layer1.0@host; layer1.1@host-waiting; layer2.0@host-held; layer3@host-gate");
  const Analysis again = AnalysisWith(
      OptionsOf({"--segment", "layer1.0", "--segment", "layer1.1", "--segment", "layer2.0", "--segment", "layer3"}));
  EXPECT_FALSE(CheckSameAssumptions(Saved(base), ComparedOf(again)).ok()) << "run again is not moved to the host";
}

// What was typed for the head gives way.
TEST(TakeOver, ReplacesWhatWasGiven) {
  const Analysis base = AnalysisWith(OptionsOf({"--freeze", "^(?!fc)"}));
  Options options = OptionsOf({"--freeze", "^layer1", "--optimizer", "sgd"});
  ASSERT_TRUE(TakeOver(Saved(base), options).ok());
  EXPECT_EQ(options.workload.run.freeze, (Words{"^(?!fc)"}));
  EXPECT_EQ(Training(AnalysisWith(options)).breakdown, Training(base).breakdown);
}

}  // namespace
}  // namespace onnx_mem
