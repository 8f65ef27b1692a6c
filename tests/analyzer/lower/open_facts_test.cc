// What a file leaves open, found in lowered graphs: what the interval of a peak is worked out from.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/assume/choices/attention_rows.h"
#include "analyzer/assume/choices/copies.h"
#include "analyzer/assume/choices/loose_parameters.h"
#include "analyzer/assume/choices/written_out.h"
#include "analyzer/assume/regions/auxiliary_outputs.h"
#include "analyzer/assume/table/kept_tables.h"
#include "analyzer/graph/shape.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

Lowered LoweredOf(const std::string& text, const Run& run = {}) {
  absl::StatusOr<Lowered> lowered = Lower(ParseGraph(text), run);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return *std::move(lowered);
}

// Four projections of 8 x 8 in an attention with a mask.
constexpr char kDecoder[] = R"(
    input x float32 2x16x8
    input mask float32 16x16
    weight q float32 8x8
    weight k float32 8x8
    weight v float32 8x8
    weight o float32 8x8
    /layers.0/self_attn/q/MatMul = MatMul(x, q) -> xq float32 2x16x8
    /layers.0/self_attn/k/MatMul = MatMul(x, k) -> xk float32 2x16x8
    /layers.0/self_attn/v/MatMul = MatMul(x, v) -> xv float32 2x16x8
    /layers.0/self_attn/Transpose = Transpose(xk) -> kt float32 2x8x16 {perm: [0 2 1]}
    /layers.0/self_attn/MatMul = MatMul(xq, kt) -> s float32 2x16x16
    /layers.0/self_attn/Add = Add(s, mask) -> m float32 2x16x16
    /layers.0/self_attn/Softmax = Softmax(m) -> p float32 2x16x16 {axis: -1}
    /layers.0/self_attn/MatMul_1 = MatMul(p, xv) -> a float32 2x16x8
    /layers.0/self_attn/o/MatMul = MatMul(a, o) -> y float32 2x16x8
    output y
)";

TEST(OpenFacts, ALayerWithAnAttentionToItselfMayHoldAnotherOne) {
  EXPECT_EQ(LoweredOf(kDecoder).unread_parameter_bytes, 4 * 8 * 8 * 4);
  const auto renamed = [](std::string_view name) {
    return LoweredOf(absl::StrReplaceAll(kDecoder, {{"self_attn", std::string(name)}})).unread_parameter_bytes;
  };
  EXPECT_EQ(renamed("attn"), 0) << "not one of several";
  EXPECT_EQ(renamed("self_attn/cross_attn"), 0) << "the other one runs";
  const std::string unmasked = absl::StrReplaceAll(kDecoder, {{"= Add(s, mask)", "= Sqrt(s)"}});
  EXPECT_EQ(LoweredOf(unmasked).unread_parameter_bytes, 0) << "an encoder's";
}

// Exporters make calls one whose operand and paddings are equal: F.pad by nothing, before pools of several sizes.
TEST(OpenFacts, EachReaderOfACopyThatPadsNothingMayHaveItsOwn) {
  const auto bytes = [](std::string_view pads) {
    return BytesOfMergedCopies(LoweredOf(absl::StrReplaceAll(R"(
    input x float32 2x8x4x4
    const pads int64 8 = PADS
    /Pad = Pad(x, pads) -> p float32 2x8x4x4
    /MaxPool = MaxPool(p) -> a float32 2x8x4x4 {kernel_shape: [1 1]}
    /MaxPool_1 = MaxPool(p) -> b float32 2x8x2x2 {kernel_shape: [2 2], strides: [2 2]}
    /MaxPool_2 = MaxPool(p) -> c float32 2x8x1x1 {kernel_shape: [4 4], strides: [4 4]}
    output a
    output b
    output c
)",
                                                             {{"PADS", absl::string_view(pads.data(), pads.size())}})));
  };
  EXPECT_EQ(bytes("0 0 0 0 0 0 0 0"), 2 * (2 * 8 * 4 * 4 * 4));
  EXPECT_EQ(bytes("0 0 1 0 0 0 -1 0"), 0) << "a value that code may well read three times";
}

// x * (1 + tanh(0.8 * (x + 0.04 * x^3))): the cube, the sum with one and the result of tanh are saved within, x is not.
constexpr char kCurve[] = R"(
    input x float32 2x16
    weight w float32 16x16
    const three float32 scalar = 3
    const small float32 scalar = 0.04
    const root float32 scalar = 0.8
    const one float32 scalar = 1
    /fc/MatMul = MatMul(x, w) -> h float32 2x16
    /act/Pow = Pow(h, three) -> c float32 2x16
    /act/Mul = Mul(c, small) -> s float32 2x16
    /act/Add = Add(h, s) -> a float32 2x16
    /act/Mul_1 = Mul(a, root) -> r float32 2x16
    /act/Tanh = Tanh(r) -> t float32 2x16
    /act/Add_1 = Add(t, one) -> o float32 2x16
    /act/Mul_2 = Mul(h, o) -> y float32 2x16
    output y
)";

TEST(OpenFacts, AnExpressionMayBeAFunctionThatSavesWhatItIsGiven) {
  EXPECT_EQ(BytesOfWrittenOut(LoweredOf(kCurve)), 2 * 2 * 16 * 4);
  EXPECT_EQ(BytesOfWrittenOut(LoweredOf(R"(
    input x float32 2x16
    weight w float32 16x16
    /fc/MatMul = MatMul(x, w) -> h float32 2x16
    /Mul = Mul(h, x) -> a float32 2x16
    /Mul_1 = Mul(a, h) -> b float32 2x16
    /Add = Add(b, x) -> c float32 2x16
    /Mul_2 = Mul(c, a) -> y float32 2x16
    output y
  )")),
            0)
      << "products and sums alone";
}

// Sines of positions in an nn.Embedding: rows that are picked by the place of a token, not by the token.
TEST(OpenFacts, ATableOfPositionsMayBeFixed) {
  constexpr char kText[] = R"(
    input ids int64 2x8
    weight tokens.weight float32 100x16
    weight positions.weight float32 32x16
    const axis int64 scalar = 1
    /tokens/Gather = Gather(tokens.weight, ids) -> e float32 2x8x16
    /CumSum = CumSum(ids, axis) -> places int64 2x8
    /positions/Gather = Gather(positions.weight, places) -> p float32 2x8x16
    /Add = Add(e, p) -> y float32 2x8x16
    output y
  )";
  Lowered lowered = LoweredOf(kText);
  ASSERT_TRUE(FreezeLooseTables(lowered));
  ASSERT_EQ(lowered.frozen.size(), 1);
  EXPECT_EQ(lowered.graph.tensors[*lowered.frozen.begin()].name, "positions.weight");
}

// nn.Embedding.from_pretrained freezes: features of items, which a layer brings down. What is joined with other rows
// before a layer, or read by an activation, is learned.
TEST(OpenFacts, ATableWhoseRowsLayersAloneReadMayBeFixed) {
  const auto frozen = [](std::string_view middle) {
    Lowered lowered = LoweredOf(absl::StrReplaceAll(R"(
    input i int64 2
    input j int64 2
    weight items.weight float32 80x64
    weight down.weight float32 8x64
    /items/Gather = Gather(items.weight, i) -> a float32 2x64
    /items_1/Gather = Gather(items.weight, j) -> b float32 2x64
    /M = MIDDLE -> d float32 2x64
    /down/Gemm = Gemm(d, down.weight) -> y float32 2x8 {transB: 1}
    output y
)",
                                                    {{"MIDDLE", absl::string_view(middle.data(), middle.size())}}));
    return FreezeLooseTables(lowered);
  };
  EXPECT_TRUE(frozen("Sub(a, b)"));
  EXPECT_FALSE(frozen("Mul(a, b)"));
}

// The knots of a spline: a comparison gives no gradient, so they need not be trained, whatever else reads them.
TEST(OpenFacts, ATableThatIsComparedMayBeFixed) {
  Lowered lowered = LoweredOf(R"(
    input x float32 2x8x1
    weight grid float32 8x12
    const axis int64 1 = 0
    /Unsqueeze = Unsqueeze(grid, axis) -> knots float32 1x8x12
    /Less = Less(x, knots) -> below bool 2x8x12
    /Sub = Sub(x, knots) -> d float32 2x8x12
    /Where = Where(below, d, d) -> y float32 2x8x12
    output y
  )");
  EXPECT_TRUE(FreezeLooseTables(lowered));
}

// [c0, c1, c2, c3], of which code takes numbers: a list of Legendre's coefficients is a buffer, Gaussian mixtures train
// theirs.
TEST(OpenFacts, AListOfWhichNumbersAreTakenMayBeFixed) {
  constexpr char kText[] = R"(
    input x float32 2x3
    weight c float32 4
    const first int64 scalar = 0
    /Gather = Gather(c, first) -> a float32 scalar
    /Mul = Mul(x, a) -> y float32 2x3
    output y
  )";
  Lowered lowered = LoweredOf(kText);
  ASSERT_TRUE(FreezeLooseTables(lowered)) << DumpLowered(lowered);
  ASSERT_EQ(lowered.frozen.size(), 1);
  EXPECT_EQ(lowered.graph.tensors[*lowered.frozen.begin()].name, "c");
  Lowered whole = LoweredOf(R"(
    input x float32 2x4
    weight c float32 4
    /Mul = Mul(x, c) -> y float32 2x4
    output y
  )");
  EXPECT_FALSE(FreezeLooseTables(whole)) << "a scale";
}

// x * (x > 0): TorchScript's exporter casts the truth values right before the product, which the framework does not.
TEST(OpenFacts, ACastBeforeAProductMayBeAPromotion) {
  constexpr char kText[] = R"(
    input x float32 2x8
    const zero float32 scalar = 0
    /Greater = Greater(x, zero) -> m bool 2x8
    /Cast = Cast(m) -> c float32 2x8 {to: 1}
    /Mul = Mul(x, c) -> y float32 2x8
    output y
  )";
  Lowered lowered = LoweredOf(kText);
  EXPECT_TRUE(PromoteAsRead(lowered));
  EXPECT_TRUE(Has(DumpLowered(lowered), "identity(m) -> c\n")) << DumpLowered(lowered);
  Lowered read_later = LoweredOf(absl::StrReplaceAll(
      kText, {{"/Mul =", "/Sin = Sin(x) -> s float32 2x8\n    /Mul ="}, {"Mul(x, c)", "Mul(s, c)"}}));
  EXPECT_FALSE(PromoteAsRead(read_later)) << "code that casts has it at hand before";
}

// q, k and v of [B, H, D, T], turned.
const std::string kTurned =
    absl::StrReplaceAll(std::string(kAttention), {{"input q float32 2x4x16x8\n", R"(input qd float32 2x4x8x16
    /Transpose_1 = Transpose(qd) -> q float32 2x4x16x8 {perm: [0 1 3 2]}
)"}});

TEST(OpenFacts, OperandsOfAnAttentionMayBeCopiedFirst) {
  Lowered turned = LoweredOf(kTurned), straight = LoweredOf(std::string(kAttention));
  EXPECT_FALSE(MakeAttentionRowsDense(straight));
  EXPECT_TRUE(MakeAttentionRowsDense(turned));
  EXPECT_EQ(DumpLowered(turned, "made_dense"), "permute(qd) -> q\nsdpa(q, k, v) -> y made_dense=1\n");
}

TEST(OpenFacts, AFusedKernelThatTheUserNamesRuns) {
  onnx_mem::Run run;
  run.attention = AttentionKernel::kEfficient;
  Lowered lowered = LoweredOf(kTurned, run);
  EXPECT_EQ(DumpLowered(lowered, "kernel made_dense"),
            "permute(qd) -> q\nsdpa(q, k, v) -> y kernel=efficient made_dense=1\n");
  EXPECT_FALSE(MakeAttentionRowsDense(lowered)) << "nothing is open";
}

// self.pe, which its module computes in the first run and keeps: sin(positions * frequencies), and 1 + x of the input.
constexpr char kTable[] = R"(
    input x float32 2x64
    const positions float32 64x1
    const frequencies float32 1x8
    const which int64 2
    /Mul = Mul(positions, frequencies) -> angles float32 64x8
    /Sin = MAKER(angles) -> pe float32 64x8
    /Gather = Gather(pe, which) -> rows float32 2x8
    /MatMul = MatMul(x, pe) -> m float32 2x8
    /Add = Add(m, rows) -> y float32 2x8
    output y
)";

int64_t BufferBytes(const Lowered& lowered) {
  int64_t bytes = 0;
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = lowered.graph.tensors[id];
    if (lowered.kinds[id] == TensorKind::kBuffer && !tensor.producer.valid())
      bytes += NumBytes(tensor.shape, tensor.dtype).value_or(0);
  }
  return bytes;
}

TEST(OpenFacts, TablesOfNumbersMayBeKeptFromTheFirstRun) {
  Lowered lowered = LoweredOf(absl::StrReplaceAll(kTable, {{"MAKER", "Sin"}}));
  ASSERT_TRUE(KeepTables(lowered));
  EXPECT_EQ(BufferBytes(lowered), (64 * 8 + 2 * 8) * 4) << "the table and its rows, not what they are made of";
  const std::string text = DumpLowered(lowered);
  EXPECT_TRUE(Has(text, "identity(pe) -> pe")) << text;
  EXPECT_TRUE(Has(text, "add(m, rows)")) << text;
  Lowered drawn = LoweredOf(absl::StrReplaceAll(kTable, {{"MAKER", "RandomNormalLike"}}));
  EXPECT_FALSE(KeepTables(drawn)) << "what is drawn at random is no table";
}

// if self.training: return out, self.aux(features)
TEST(OpenFacts, AnInferenceMayLeaveOutAnOutputOfTheFirstOnesClasses) {
  const auto left_out = [](std::string_view classes) {
    Lowered lowered = LoweredOf(absl::StrReplaceAll(R"(
    input x float32 2x8
    weight f.weight float32 8x8
    weight out.weight float32 8x5
    weight aux.weight float32 8xCLASSES
    /f/MatMul = MatMul(x, f.weight) -> h float32 2x8
    /aux/MatMul = MatMul(h, aux.weight) -> a float32 2xCLASSES
    /aux/Relu = Relu(a) -> z float32 2xCLASSES
    /out/MatMul = MatMul(h, out.weight) -> y float32 2x5
    output y
    output z
  )",
                                                    {{"CLASSES", std::string(classes)}}));
    if (!LeaveOutAuxiliary(lowered)) return std::string("nothing");
    std::string ops = absl::StrCat(lowered.graph.outputs.size(), " output:");
    for (const FrameworkNode& node : lowered.graph.nodes) absl::StrAppend(&ops, " ", node.op.str());
    return ops;
  };
  EXPECT_EQ(left_out("5"), "1 output: matmul identity identity matmul");
  EXPECT_EQ(left_out("4"), "nothing") << "another answer";
}

}  // namespace
}  // namespace onnx_mem
