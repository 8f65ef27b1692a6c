#include "cli/answers/unmatched.h"

#include <gtest/gtest.h>

#include "tests/report/sample_analysis.h"

namespace onnx_mem {
namespace {

std::string CodeAndHint(const absl::Status& status) {
  const Diagnostic diagnostic = DiagnosticOf(status);
  return CodeOf(diagnostic) + ": " + diagnostic.message +
         (diagnostic.details.empty() ? "" : " | " + diagnostic.details[0]);
}

TEST(CheckNames, FindsWhatTheModelHas) {
  Graph graph = *SampleAnalysis().graph;
  graph.inputs = {TensorId(0)};
  onnx_mem::Run run;
  run.hold = {"y", "z"};
  run.requires_grad = {"x"};
  EXPECT_TRUE(CheckNames(run, graph).ok());
}

TEST(CheckNames, RefusesWhatItHasNot) {
  Graph graph = *SampleAnalysis().graph;
  graph.inputs = {TensorId(0)};
  onnx_mem::Run run;
  run.hold = {"hidden"};
  EXPECT_EQ(CodeAndHint(CheckNames(run, graph)), "unknown-tensor: --hold hidden: the model has no such tensor");
  run.hold.clear();
  run.requires_grad = {"y"};  // a tensor, but not an input
  EXPECT_EQ(CodeAndHint(CheckNames(run, graph)),
            "unknown-input: --requires-grad y: the model has no such input | did you mean: x");
}

TEST(UnmatchedPatterns, WarnsOfPatternsThatChangeNothing) {
  Analysis analysis = SampleAnalysis();
  onnx_mem::Run run;
  run.checkpointed = {"a", "a\\.conv", "conv"};  // the whole path must match
  const std::vector<Diagnostic> warnings = UnmatchedPatterns(run, analysis);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].message, "--checkpointed 'conv' matches no module, so it changes nothing");
  analysis.parts.erase(analysis.parts.begin());
  EXPECT_TRUE(UnmatchedPatterns(run, analysis).empty());
}

Parameter Named(const char* name) {
  Parameter parameter;
  parameter.name = name;
  return parameter;
}

std::string FreezeText(const std::string& pattern) {
  const std::vector<std::vector<Parameter>> models = {
      {Named("layers.0.q_proj.lora_A.weight"), Named("layers.0.q_proj.weight"), Named("head.weight")},
      {Named("stem.w")}};
  onnx_mem::Run run;
  run.freeze = {"weight", pattern};
  const absl::Status status = CheckFreeze(run, models);
  return status.ok() ? "ok" : CodeAndHint(status);
}

// A pattern that freezes nothing is refused: what it names would be trained.
TEST(CheckFreeze, RefusesPatternsThatMatchNothing) {
  EXPECT_EQ(FreezeText("lora_B"), "no-match: --freeze 'lora_B' matches no parameter | did you mean: lora_A");
  EXPECT_EQ(FreezeText("^layers\\.1\\."),
            "no-match: --freeze '^layers\\.1\\.' matches no parameter | did you mean: "
            "layers.0, layers");
  EXPECT_EQ(FreezeText("encoder"),
            "no-match: --freeze 'encoder' matches no parameter | why: its parameters are "
            "layers.0.q_proj.lora_A.weight, layers.0.q_proj.weight, head.weight");
}

TEST(CheckFreeze, OneOfSeveralModelsMayHaveIt) { EXPECT_EQ(FreezeText("^stem"), "ok"); }

TEST(UnmatchedPatterns, WarnsOfInPlaceThatNamesNothing) {
  const Analysis analysis = SampleAnalysis();
  onnx_mem::Run run;
  for (const char* pattern : {"auto", "norms", "none", "None", "relu", "^a$"}) {
    run.inplace = pattern;
    EXPECT_TRUE(UnmatchedPatterns(run, analysis).empty()) << pattern;
  }
  run.inplace = "silu";
  const std::vector<Diagnostic> warnings = UnmatchedPatterns(run, analysis);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].message, "--inplace 'silu' matches no node and no module, so nothing runs in place");
}

}  // namespace
}  // namespace onnx_mem
