#include "analyzer/onnx/build/bind.h"

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

absl::StatusOr<BoundInputs> Bind(const std::string& inputs, const Bindings& bindings) {
  const onnx::ModelProto model = ModelOfText("g (" + inputs + ") => (float[] y) { y = Foo(x) }");
  return BindInputs(model.graph(), bindings);
}

std::string Shapes(const std::string& inputs, const Bindings& bindings) {
  const auto bound = Bind(inputs, bindings);
  if (!bound.ok()) return CodeOf(DiagnosticOf(bound.status())) + ": " + DiagnosticOf(bound.status()).message;
  const std::map<std::string, Shape> sorted(bound->shapes.begin(), bound->shapes.end());
  std::string text;
  for (const auto& [name, shape] : sorted) absl::StrAppend(&text, text.empty() ? "" : " ", name, "=", ToString(shape));
  return text;
}

TEST(BindInputs, BatchIsDimZeroWhateverItsName) {
  EXPECT_EQ(Shapes("float[N, 3, 8, 8] x", {.batch = 64}), "x=64x3x8x8");
  EXPECT_EQ(Shapes("float[s77, 3, 8, 8] x, float[input_dynamic_axes_1, 4] y", {.batch = 64}), "x=64x3x8x8 y=64x4");
}

TEST(BindInputs, BatchDefaultsToOneOrTheFiles) {
  EXPECT_EQ(Shapes("float[N, 3] x", {}), "x=1x3");
  EXPECT_EQ(Shapes("float[2, 3] x", {}), "x=2x3");
  EXPECT_EQ(Bind("float[2, 3] x", {})->file_batch, 2);
  EXPECT_EQ(Bind("float[N, 3] x", {.batch = 5})->file_batch, 1);
}

TEST(BindInputs, ALengthBesideABatchIsNoBatch) {
  const Bindings bindings{.batch = 8, .dims = {{"seq", 16}}};
  EXPECT_EQ(Shapes("float[batch, seq] x, float[seq, seq] mask", bindings), "mask=16x16 x=8x16");
  EXPECT_EQ(Shapes("float[seq_len, batch, 4] x", {.batch = 8, .dims = {{"seq_len", 16}}}), "x=16x8x4");
  EXPECT_EQ(Shapes("float[16, batch, 4] x", {.batch = 8}), "x=16x8x4") << "a fixed length";
}

// Nothing would be left for --batch to change: every row of a sweep would say the same.
TEST(BindInputs, TwoBatchesAreAConflict) {
  const Diagnostic dim =
      DiagnosticOf(Bind("float[batch, seq] x", {.batch = 2, .dims = {{"batch", 8}, {"seq", 4}}}).status());
  EXPECT_EQ(CodeOf(dim) + ": " + dim.message, "dim-conflict: --batch 2 and --dim batch=8 give two batches, 2 and 8");
  const Diagnostic input = DiagnosticOf(Bind("float[8, 3] x", {.batch = 2, .inputs = {{"x", {4, 3}}}}).status());
  EXPECT_EQ(CodeOf(input) + ": " + input.message,
            "dim-conflict: --batch 2 and --input x=4x3 give two batches, 2 and 4");
  EXPECT_EQ(Shapes("float[batch, seq] x", {.batch = 8, .dims = {{"batch", 8}, {"seq", 4}}}), "x=8x4");
  EXPECT_EQ(Shapes("float[8, 3] x", {.batch = 4, .inputs = {{"x", {4, 3}}}}), "x=4x3");
}

TEST(BindInputs, ADimensionThatIsTheBatchIsReported) {
  EXPECT_EQ(Bind("float[batch, seq] x", {.dims = {{"batch", 8}, {"seq", 4}}})->file_batch, 8);
  EXPECT_EQ(Bind("float[batch, seq] x", {.dims = {{"seq", 4}}})->file_batch, 1);
  EXPECT_EQ(Bind("int64[seq_len, batch] x", {.dims = {{"seq_len", 16}, {"batch", 3}}})->file_batch, 3);
}

TEST(BindInputs, InputGivesAWholeShapeAndItsSymbols) {
  const auto bound = Bind("int64[batch, seq] x, int64[batch, seq] mask", {.inputs = {{"x", {8, 128}}}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->dims, (std::map<std::string, int64_t>{{"batch", 8}, {"seq", 128}}));
  EXPECT_EQ(bound->shapes.at("mask"), Shape({8, 128}));
}

TEST(BindInputs, FormulasAreEvaluated) {
  EXPECT_EQ(Shapes("float[batch, seq] x, float[\"2*batch\", \"seq+1\"] y", {.batch = 3, .dims = {{"seq", 4}}}),
            "x=3x4 y=6x5");
}

TEST(BindInputs, UnboundDimsAreListed) {
  const auto bound = Bind("int64[batch, s77] x, int64[batch, s77] mask", {});
  const Diagnostic error = DiagnosticOf(bound.status());
  EXPECT_EQ(error.code, Code::kUnboundDim);
  EXPECT_EQ(error.message, "input 'x' has unknown dimensions: s77");
  EXPECT_EQ(error.details, (std::vector<std::string>{"x  int64 [batch, s77]      mask  int64 [batch, s77]"}));
}

TEST(BindInputs, AnUnboundDimIsNamedWithItsOwnInput) {
  const auto bound = Bind("int64[batch, seq] x, float[batch, 4, past, 8] cache", {});
  EXPECT_EQ(DiagnosticOf(bound.status()).message, "dimensions without a size: seq of 'x', past of 'cache'");
}

TEST(BindInputs, ADimensionMayBeZero) {
  EXPECT_EQ(Shapes("int64[batch, seq] x, float[batch, 4, past, 8] y", {.dims = {{"seq", 2}, {"past", 0}}}),
            "x=1x2 y=1x4x0x8");
}

TEST(BindInputs, OfManyUnboundDimsTheFirstAreListed) {
  std::string dims = "s0";
  for (int i = 1; i < 60; ++i) absl::StrAppend(&dims, ", s", i);
  const Diagnostic error = DiagnosticOf(Bind(absl::StrCat("float[batch, ", dims, "] x"), {}).status());
  EXPECT_EQ(error.message,
            "input 'x' has unknown dimensions: s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15, "
            "... (44 more)");
  EXPECT_EQ(error.details,
            (std::vector<std::string>{
                "x  float32 [batch, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, ... (45 more)]"}));
}

TEST(BindInputs, UnknownNamesAreAnsweredWithTheNearest) {
  const Diagnostic dim = DiagnosticOf(Bind("float[batch, seq] x", {.dims = {{"sq", 4}}}).status());
  EXPECT_EQ(dim.code, Code::kUnknownDim);
  EXPECT_EQ(dim.message, "--dim sq=4: no such dimension");
  EXPECT_EQ(dim.details, std::vector<std::string>{"the model has: batch, seq.  did you mean: seq"});
  EXPECT_EQ(Shapes("float[batch] x", {.inputs = {{"y", {4}}}}), "unknown-input: --input y=4: no such input");
}

TEST(BindInputs, ContradictionsAreErrors) {
  EXPECT_EQ(Shapes("float[batch, 3] x", {.batch = 4, .inputs = {{"x", {8, 3}}}}),
            "dim-conflict: --batch 4 makes dimension 'batch' 4, but --input x=8x3 makes it 8");
  EXPECT_EQ(Shapes("float[batch, 3] x", {.inputs = {{"x", {8}}}}),
            "bad-shape: --input x=8 has 1 dimensions, the model's input has 2: x  float32 [batch, 3]");
  EXPECT_EQ(Shapes("float[batch, 3] x", {.batch = 0}), "bad-shape: --batch 0: a batch has at least one sample");
  EXPECT_EQ(Shapes("float[batch, 4611686018427387904] x", {.batch = 4}),
            "bad-shape: input 'x' of shape 4x4611686018427387904 is too large to count");
}

TEST(BindInputs, AnotherFixedSizeIsAChange) {
  const auto bound = Bind("float[2, 3, 8, 8] x, float[2, 4] y, int64[1] rate", {.batch = 8});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->changes, (std::vector<DimChange>{{"x", 0, 2, 8}, {"y", 0, 2, 8}}));
  EXPECT_EQ(Bind("int64[1, 64] x", {.inputs = {{"x", {8, 256}}}})->changes,
            (std::vector<DimChange>{{"x", 0, 1, 8}, {"x", 1, 64, 256}}));
  EXPECT_TRUE(Bind("float[2, 3] x", {.batch = 2})->changes.empty());
}

TEST(BindInputs, NoBatchToBind) {
  EXPECT_EQ(Shapes("float x", {.batch = 2}), "static-batch: --batch 2: no input of the model has a batch dimension");
}

}  // namespace
}  // namespace onnx_mem
