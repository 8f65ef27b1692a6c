// What a tool may have changed in a file without changing what runs: the interval holds the peak of the file as it was.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "analyzer/study/study.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

Analysis AnalysisOf(const std::string& text, int opset = kTextOpset) {
  absl::StatusOr<ImportedModel> imported = ImportText(text, {}, opset);
  EXPECT_TRUE(imported.ok()) << imported.status();
  Workload workload;
  absl::StatusOr<Analysis> analysis = Study(*std::move(imported)).AskWithRange(workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return *std::move(analysis);
}

void ExpectHolds(const RunFigures& figures, const RunFigures& of_file_as_it_was) {
  EXPECT_LE(figures.peak_low_bytes, of_file_as_it_was.peak_bytes);
  EXPECT_GE(figures.peak_high_bytes, of_file_as_it_was.peak_bytes);
}

// Exporters write x * sigmoid(x) for nn.SiLU, which saves x alone; sigmoid(x) * x is code that saves both, or the same
// file with the operands swapped.
TEST(RewrittenBounds, AGateMayHaveBeenSwapped) {
  constexpr char kGated[] = R"(g (float[64,32] x) => (float[64,8] y)
      <float[512,32] wa = ["location": "none"], float[8,512] wb = ["location": "none"]>
      { h = Gemm <transB=1> (x, wa)
        s = Sigmoid(h)
        t = Mul(OPERANDS)
        y = Gemm <transB=1> (t, wb) })";
  const Analysis silu = AnalysisOf(absl::StrReplaceAll(kGated, {{"OPERANDS", "h, s"}}));
  const Analysis swapped = AnalysisOf(absl::StrReplaceAll(kGated, {{"OPERANDS", "s, h"}}));
  EXPECT_NE(silu.training()->peak_bytes, swapped.training()->peak_bytes) << "code that spells it out saves more";
  ExpectHolds(*swapped.training(), *silu.training());
  ExpectHolds(*swapped.inference(), *silu.inference());
}

// A matrix that an exporter named, in a Constant node: a transform of the code, or a weight that a tool moved.
TEST(RewrittenBounds, AConstantMayBeAWeight) {
  constexpr char kTransform[] = R"(g (float[4,8] x) => (float[4,8] y) <float[8,8] w = ["location": "none"]STORED>
      { CONSTANT
        h = MatMul(x, val_1)
        y = MatMul(h, w) })";
  constexpr char kNumbers[] =
      "float[8,8] {1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,"
      "7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}";
  const std::string constant = std::string("val_1 = Constant <value = ") + kNumbers + "> ()";
  const Analysis stored = AnalysisOf(
      absl::StrReplaceAll(kTransform, {{"STORED", R"(, float[8,8] val_1 = ["location": "none"])"}, {"CONSTANT", ""}}));
  const Analysis moved = AnalysisOf(absl::StrReplaceAll(kTransform, {{"STORED", ""}, {"CONSTANT", constant}}));
  EXPECT_LT(moved.training()->peak_bytes, stored.training()->peak_bytes) << "not trained";
  ExpectHolds(*moved.training(), *stored.training());
}

}  // namespace
}  // namespace onnx_mem
