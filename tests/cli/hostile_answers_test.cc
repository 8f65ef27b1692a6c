// Every command ends, whatever the file makes of the little that it holds: with an answer, or with too-large and a way
// out, and within the work of one question (analyzer/run/work.h).
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/run/work.h"
#include "cli/answers/answers.h"
#include "report/parts/formats.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// Loops within loops, each of so many trips.
std::string LoopsWithinLoops(int depth, int trips) {
  std::string body = "p = Relu(v)";
  for (int k = depth; k-- > 0;) {
    body = absl::StrCat("t", k, " = Constant<value = int64 {", trips, "}>()  ", k == 0 ? "y" : "p", " = Loop<body = b",
                        k, " (int64 i, bool go, float[1, 4] v) => (bool go, p) { ", body, " }>(t", k, ", , ",
                        k == 0 ? "x" : "v", ")");
  }
  return absl::StrCat("g (float[N, 4] x) => (y) { ", body, " }");
}

using AnswerOfCommand = absl::StatusOr<CommandAnswer> (*)(const Options&, const OpenModels&);

// The code of the error, or "answered".
std::string Ends(AnswerOfCommand answer, const std::string& text, Options options) {
  absl::StatusOr<ModelFile> file = ModelFile::Parse(ModelBytes(text), "m.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  const auto shared = std::make_shared<const ModelFile>(*std::move(file));
  options.operands = {"m.onnx", "m.onnx"};
  if (answer != &AnswerCompare) options.operands.pop_back();
  const work::Counting counting;
  const absl::StatusOr<CommandAnswer> answered = answer(options, {shared, shared});
  EXPECT_LT(work::Current().spent, 3 * work::kBudget);
  if (answered.ok()) return "answered";
  EXPECT_FALSE(DiagnosticOf(answered.status()).details.empty()) << "no way out";
  return CodeOf(DiagnosticOf(answered.status()));
}

TEST(HostileAnswers, LoopsWithinLoopsEndInEveryCommand) {
  const struct {
    AnswerOfCommand answer;
    const char* command;
  } commands[] = {{&AnswerAnalyze, "analyze"}, {&AnswerFit, "fit"}, {&AnswerPlan, "plan"}, {&AnswerCompare, "compare"}};
  for (const auto& [depth, trips] : {std::pair(6, 10), std::pair(12, 2), std::pair(3, 40)}) {
    for (const auto& [answer, command] : commands) {
      SCOPED_TRACE(absl::StrCat(command, " of ", depth, " loops of ", trips));
      Options options;
      options.command = command;
      options.gpus = {"T4"};
      options.gpu = "T4";
      const std::string ends = Ends(answer, LoopsWithinLoops(depth, trips), std::move(options));
      EXPECT_TRUE(ends == "answered" || ends == "too-large") << ends;
    }
  }
}

// The same questions about a model that holds what it makes take nothing from the budget.
TEST(HostileAnswers, AnOrdinaryModelIsNotCounted) {
  const std::string text =
      "g (float[N, 64] x) => (y) <float[64, 64] w = [\"location\": \"none\"], float[64, 64] v = [\"location\": "
      "\"none\"]> "
      "{ [fc1] a = MatMul(x, w)  [act] b = Relu(a)  [fc2] y = MatMul(b, v) }";
  Options options;
  options.command = "fit";
  options.gpus = {"T4"};
  absl::StatusOr<ModelFile> file = ModelFile::Parse(ModelBytes(text), "m.onnx");
  ASSERT_TRUE(file.ok()) << file.status();
  options.operands = {"m.onnx"};
  const work::Counting counting;
  const auto answered = AnswerFit(options, {std::make_shared<const ModelFile>(*std::move(file))});
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_TRUE(work::HasLeft(0.2)) << work::Current().spent;
}

// Names of a file are no formulas of the spreadsheet that opens the list.
TEST(HostileAnswers, NamesAreNoFormulasInCsv) {
  constexpr char kRecord[] =
      "eager 1\ntorch 2.15.0\nprogram train\n%0 param =1+1 f32[4,4]\n%1 input @x f32[B,4]\ncall -m\n%2 f32[B,4] = mm "
      "%1 %0\n"
      "ret\n%3 f32[B,4] = relu %2\nreturn %3\ntree 1\n";
  Options options;
  options.command = "analyze";
  options.operands = {"m.eager"};
  options.format = "csv";
  for (const By by : {By::kTensor, By::kLayer}) {
    options.by = by;
    absl::StatusOr<ModelFile> file = ModelFile::Parse(kRecord, "m.eager");
    ASSERT_TRUE(file.ok()) << file.status();
    const auto answered = AnswerAnalyze(options, {std::make_shared<const ModelFile>(*std::move(file))});
    ASSERT_TRUE(answered.ok()) << answered.status();
    const std::string csv = RenderCsv(answered->report, Screen());
    EXPECT_NE(csv.find(by == By::kTensor ? "\n'=1+1," : "\n'-m,"), std::string::npos) << csv;
    for (const char* formula : {"\n=", "\n@", "\n-", ",=", ",@"})
      EXPECT_EQ(csv.find(formula), std::string::npos) << csv;
  }
}

}  // namespace
}  // namespace onnx_mem
