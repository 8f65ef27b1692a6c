// What a step trains and by which loss, where the command line leaves it to the program: tokens that a model of the
// language tells apart, the part of the parameters that --freeze leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/study/study.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// A model of a language with `tail` behind its layers: h float[2,16,32], 100 tokens.
std::string Language(std::string_view output, std::string_view weights, std::string_view tail) {
  return absl::StrCat("m (int64[2,16] ids) => (float[2,16,", std::string(output), R"(] y)
      <float[100,32] wte = ["location": "none"], float[32,32] w = ["location": "none"])",
                      std::string(weights), "> { e = Gather(wte, ids)  g = MatMul(e, w)  h = Relu(g)  ",
                      std::string(tail), " }");
}

std::string LossOf(std::string_view text) {
  const absl::StatusOr<Enacted> enacted = Enact(ParseGraph(text), Run());
  if (!enacted.ok()) return enacted.status().ToString();
  const std::string kind = enacted->loss == LossKind::kCrossEntropy ? "cross-entropy"
                           : enacted->loss == LossKind::kMean       ? "mean"
                                                                    : "other";
  return enacted->loss_tokens == 0 ? kind : absl::StrCat(kind, ", loss over ", enacted->loss_tokens, " tokens");
}

TEST(LossOfTokens, LogitsOverTheVocabularyAreTrainedByCrossEntropy) {
  EXPECT_EQ(LossOf(Language("100", R"(, float[32,100] head = ["location": "none"])", "y = MatMul(h, head)")),
            "cross-entropy, loss over 100 tokens");
}

TEST(LossOfTokens, ATiedHeadIsOne) {
  EXPECT_EQ(LossOf(Language("100", "", "t = Transpose <perm = [1, 0]> (wte)  y = MatMul(h, t)")),
            "cross-entropy, loss over 100 tokens");
}

// BERT's decoder has a bias of its own; Gemma bounds its logits.
TEST(LossOfTokens, WhatFollowsTheHeadIsSeenThrough) {
  EXPECT_EQ(
      LossOf(Language("100", R"(, float[32,100] head = ["location": "none"], float[100] b = ["location": "none"])",
                      "l = MatMul(h, head)  s = Add(b, l)  t = Tanh(s)  c = Constant <value = float {30.0}> ()  "
                      "y = Mul(t, c)")),
      "cross-entropy, loss over 100 tokens");
}

TEST(LossOfTokens, HiddenStatesAreNoLogits) {
  EXPECT_EQ(LossOf(Language("32", "", "y = Identity(h)")), "mean");
  // As wide as the vocabulary is large, but not projected to it.
  EXPECT_EQ(LossOf(R"(m (int64[2,16] ids) => (float[2,16,32] y)
      <float[32,32] wte = ["location": "none"], float[32,32] w = ["location": "none"]>
      { e = Gather(wte, ids)  g = MatMul(e, w)  y = Relu(g) })"),
            "mean");
}

// A tagger's classes are not the words that it reads.
TEST(LossOfTokens, OtherClassesStay) {
  EXPECT_EQ(LossOf(Language("9", R"(, float[32,9] head = ["location": "none"])", "y = MatMul(h, head)")), "mean");
}

TEST(LossOfTokens, SignalsOfConvolutionsStay) {
  EXPECT_EQ(LossOf(R"(m (float[2,4,64] x) => (float[2,8,62] y) <float[8,4,3] w = ["location": "none"]>
      { y = Conv(x, w) })"),
            "mean");
}

// A translator reads one language and writes another, of fewer words.
TEST(LossOfTokens, ATableOfTheOtherLanguageIsOne) {
  EXPECT_EQ(LossOf(R"(m (int64[2,16] source, int64[2,16] target) => (float[2,16,60] y)
      <float[100,32] s = ["location": "none"], float[60,32] t = ["location": "none"],
       float[32,60] head = ["location": "none"]>
      { a = Gather(s, source)  b = Gather(t, target)  h = Add(a, b)  y = MatMul(h, head) })"),
            "cross-entropy, loss over 60 tokens");
}

// Positions are looked up too, by numbers that nobody feeds.
TEST(LossOfTokens, PositionsAreNoTokens) {
  EXPECT_EQ(LossOf(R"(m (int64[2,16] ids) => (float[2,16,16] y)
      <float[100,32] wte = ["location": "none"], float[16,32] wpe = ["location": "none"],
       int64[1,16] positions = ["location": "none"], float[32,16] w = ["location": "none"]>
      { e = Gather(wte, ids)  p = Gather(wpe, positions)  s = Add(e, p)  y = MatMul(s, w) })"),
            "mean");
}

// The choice is the one that could be requested: no byte differs.
int64_t GradientBytes(std::string_view returned) {
  const std::string text = absl::StrCat("m (float[2,16] x) => (float[2,8] y", std::string(returned), R"()
      <float[16,8] w = ["location": "none"], float[8] log_std = ["location": "none"]> { y = MatMul(x, w) })");
  const absl::StatusOr<Enacted> enacted = Enact(ParseGraph(text), Run());
  int64_t bytes = 0;
  if (!enacted.ok()) return bytes;
  for (const Buffer& buffer : enacted->program.buffers) {
    bytes += buffer.category == Category::kGradients ? buffer.bytes : 0;
  }
  return bytes;
}

// A policy returns the logarithms of its deviations as they are: they have a gradient, of the loss of that output.
TEST(LossOfOutputs, AParameterThatIsReturnedLearns) {
  EXPECT_EQ(GradientBytes(", float[8] log_std"), GradientBytes("") + 32);
}

TEST(LossOfTokens, IsWhatTheOptionGives) {
  const std::string text = Language("100", R"(, float[32,100] head = ["location": "none"])", "y = MatMul(h, head)");
  onnx_mem::Run requested;
  requested.loss = LossKind::kCrossEntropy;
  const absl::StatusOr<Enacted> chosen = Enact(ParseGraph(text), onnx_mem::Run());
  const absl::StatusOr<Enacted> given = Enact(ParseGraph(text), requested);
  ASSERT_TRUE(chosen.ok() && given.ok());
  EXPECT_EQ(DumpProgram(chosen->program), DumpProgram(given->program));
}

absl::StatusOr<Analysis> Frozen(const std::string& pattern) {
  const std::string text = Language("100", R"(, float[32,100] head = ["location": "none"])", "y = MatMul(h, head)");
  absl::StatusOr<ImportedModel> model = ImportText(text);
  if (!model.ok()) return model.status();
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.run.freeze = {pattern};
  return Study(*std::move(model)).Ask(workload);
}

std::string Assumed(const Analysis& analysis, std::string_view name) {
  for (const auto& [key, value] : analysis.assumptions) {
    if (key == name) return value;
  }
  return "";
}

bool Warns(const Analysis& analysis, std::string_view code) {
  return std::any_of(analysis.diagnostics.begin(), analysis.diagnostics.end(),
                     [&](const Diagnostic& d) { return CodeOf(d) == code; });
}

TEST(Freeze, SaysWhatIsLeftToTrain) {
  const absl::StatusOr<Analysis> analysis = Frozen("^(?!head)");
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_EQ(Assumed(*analysis, "trains"), "3.2 of 7.4 K parameters");
  EXPECT_EQ(Assumed(*analysis, "loss-over"), "100 tokens");
  EXPECT_FALSE(Warns(*analysis, "nothing-trained"));
}

TEST(Freeze, AStepThatTrainsNothingIsWarnedOf) {
  const absl::StatusOr<Analysis> analysis = Frozen("^(?!.*lora)");
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_EQ(Assumed(*analysis, "trains"), "0 of 7.4 K parameters");
  EXPECT_TRUE(Warns(*analysis, "nothing-trained"));
}

}  // namespace
}  // namespace onnx_mem
