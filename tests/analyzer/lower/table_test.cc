#include "analyzer/lower/operators/table.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

TEST(Table, EveryOperatorOnce) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const TableRow& row : AllRows()) {
    EXPECT_TRUE(seen.emplace(row.domain, row.onnx).second) << row.onnx;
    EXPECT_NE(row.lower, nullptr) << row.onnx;
  }
}

TEST(Table, LinearLayersByTheirWeight) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x3x4
    weight a.weight float32 5x4
    weight a.bias float32 5
    weight onnx::MatMul_7 float32 5x6
    weight w float32 6x6
    /a/Transpose = Transpose(a.weight) -> wt float32 4x5 {perm: [1 0]}
    /a/MatMul = MatMul(x, wt) -> m float32 2x3x5
    /a/Add = Add(a.bias, m) -> y float32 2x3x5
    /b/MatMul = MatMul(y, onnx::MatMul_7) -> z float32 2x3x6
    /MatMul = MatMul(z, w) -> u float32 2x3x6
    output u
  )",
                      {}, "transposed"),
            "linear(x, a.weight, a.bias) -> y [a] transposed=0\n"
            "linear(y, onnx::MatMul_7) -> z [b] transposed=1\n"
            "matmul(z, w) -> u\n"
            "parameter a.weight\n"
            "parameter a.bias\n"
            "parameter onnx::MatMul_7\n"
            "parameter w\n");
}

TEST(Table, ABiasOfAnotherModuleStaysASum) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x3x4
    weight a.weight float32 5x4
    weight shift float32 5
    /a/Transpose = Transpose(a.weight) -> wt float32 4x5 {perm: [1 0]}
    /a/MatMul = MatMul(x, wt) -> m float32 2x3x5
    /Add = Add(m, shift) -> y float32 2x3x5
    output y
  )"),
            "linear(x, a.weight) -> m [a]\n"
            "add(m, shift) -> y\n"
            "parameter a.weight\n"
            "parameter shift\n");
}

TEST(Table, GemmIsLinearOrAddmm) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x4
    weight fc.weight float32 5x4
    weight fc.bias float32 5
    weight conv1d.weight float32 5x6
    weight conv1d.bias float32 6
    /fc/Gemm = Gemm(x, fc.weight, fc.bias) -> y float32 2x5 {transB: 1}
    /c/Gemm = Gemm(y, conv1d.weight, conv1d.bias) -> z float32 2x6
    output z
  )"),
            "linear(x, fc.weight, fc.bias) -> y [fc]\n"
            "addmm(y, conv1d.weight, conv1d.bias) -> z [c]\n"
            "parameter fc.weight\n"
            "parameter fc.bias\n"
            "parameter conv1d.weight\n"
            "parameter conv1d.bias\n");
}

TEST(Table, SlicesAreClampedAndGatherOfANumberIsASelect) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x6x4
    const starts int64 2 = -4 0
    const ends int64 2 = 9223372036854775807 2
    const axes int64 2 = 1 -1
    const last int64 scalar = -1
    /Slice = Slice(x, starts, ends, axes) -> a float32 2x4x2
    /Gather = Gather(a, last) -> y float32 2x2 {axis: 1}
    output y
  )",
                      {}, "axes starts ends steps axis index"),
            "slice(x) -> a axes=[1 2] starts=[2 0] ends=[6 2] steps=[1 1]\n"
            "select(a) -> y axis=1 index=3\n");
}

TEST(Table, BoundsOfAnAxisOfUnknownSizeAndTheLongestStepHurtNobody) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x?x4
    const starts int64 2 = 1 -1
    const ends int64 2 = 3 -9223372036854775808
    const axes int64 2 = 1 2
    const steps int64 2 = 1 -9223372036854775808
    /Slice = Slice(x, starts, ends, axes, steps) -> a float32 2x?x1
    output a
  )",
                      {}, "axes starts ends steps"),
            "flip(x) -> a/0 axes=[2]\n"
            "slice(a/0) -> a axes=[1 2] starts=[0 0] ends=[0 1] steps=[1 9223372036854775807]\n");
}

TEST(Table, AWriteIntoASliceIsACopyInPlace) {
  EXPECT_EQ(LowerText(R"(
    input x float32 4x8
    weight a.weight float32 8x8
    const at int64 2x1 = 0 1
    /a/MatMul = MatMul(x, a.weight) -> m float32 4x8
    /Slice = Relu(x) -> r float32 4x8
    const start int64 1 = 0
    const end int64 1 = 2
    /Slice_1 = Slice(r, start, end) -> v float32 2x8
    /ScatterND = ScatterND(m, at, v) -> y float32 4x8
    output y
  )"),
            "matmul(x, a.weight) -> m [a]\nrelu(x) -> r\nslice(r) -> v\ncopy_into(m, v) -> y\nparameter a.weight\n");
}

TEST(Table, PadsThatDifferWereAPadOfTheirOwn) {
  EXPECT_EQ(LowerText(R"(
    input x float32 1x3x4x4
    weight a.weight float32 8x3x3x3
    /a/Conv = Conv(x, a.weight) -> y float32 1x8x2x2 {pads: [0 0 1 1], strides: [2 2]}
    output y
  )",
                      {}, "pad"),
            "pad(x) -> y/0 [a]\nconv(y/0, a.weight) -> y [a] pad=[0 0]\nparameter a.weight\n");
}

TEST(Table, DropoutRunsInTrainingOnly) {
  const std::string_view text = R"(
    input x float32 2x3
    const p float32 scalar = 0.25
    const on bool scalar = 1
    /drop/Dropout = Dropout(x, p, on) -> d float32 2x3, m bool 2x3 {since_version: 13}
    /Relu = Relu(d) -> y float32 2x3
    output y
  )";
  EXPECT_EQ(LowerText(text, {}, "p"),
            "dropout(x) -> d [drop] p=0.25\n"
            "relu(d) -> y\n");
  onnx_mem::Run inference;
  inference.training = false;
  EXPECT_EQ(LowerText(text, inference), "relu(x) -> y\n");
}

TEST(Table, AnUnknownOperatorIsAssumedAndReported) {
  const Graph graph = ParseGraph(R"(
    input x float32 2x3
    a = com.acme::Fused(x) -> y float32 2x3
    b = com.acme::Fused(y) -> z float32 2x3
    output z
  )");
  const absl::StatusOr<Lowered> lowered = Lower(graph, {});
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(DumpLowered(*lowered), "assumed(x) -> y\nassumed(y) -> z\n");
  ASSERT_EQ(lowered->diagnostics.size(), 1u);
  EXPECT_EQ(lowered->diagnostics[0].code, Code::kAssumedOp);
  EXPECT_EQ(lowered->diagnostics[0].count, 2);
  EXPECT_EQ(lowered->diagnostics[0].details[0], "what: com.acme.Fused (x2)");
}

TEST(Table, DtypeChangesEveryFloatAndCastsVanish) {
  onnx_mem::Run run;
  run.dtype = DType::kFloat16;
  const Graph graph = ParseGraph(R"(
    input x float32 2x3
    input mask int64 2x3
    weight w float32 2x3
    /Cast = Cast(x) -> c float32 2x3
    /Mul = Mul(c, w) -> m float32 2x3
    /Cast_1 = Cast(mask) -> f float32 2x3
    /Add = Add(m, f) -> y float32 2x3
    output y
  )");
  const absl::StatusOr<Lowered> lowered = Lower(graph, run);
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(DumpLowered(*lowered), "mul(x, w) -> m\ncast(mask) -> f\nadd(m, f) -> y\nparameter w\n");
  for (const Tensor& tensor : lowered->graph.tensors) EXPECT_NE(tensor.dtype, DType::kFloat32) << tensor.name;
}

// Padded for a pooling too: dynamo's optimizer folds the pad into the convolution and leaves the other reader its own.
TEST(Table, APadThatAConvolutionSharesRunsOnce) {
  const std::string text = LowerText(R"(
    input x float32 2x3x8x8
    weight conv.weight float32 4x3x2x2
    const pads int64 8 = 0 0 0 0 0 0 1 1
    /Pad = Pad(x, pads) -> p float32 2x3x9x9
    /pool/MaxPool = MaxPool(p) -> m float32 2x3x8x8 {kernel_shape: [2 2]}
    /conv/Conv = Conv(x, conv.weight) -> c float32 2x4x8x8 {pads: [0 0 1 1]}
    output m
    output c
  )");
  EXPECT_NE(text.find("conv(p, conv.weight) -> c"), std::string::npos) << text;
}

}  // namespace
}  // namespace onnx_mem
