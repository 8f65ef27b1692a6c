// What exporters make one or move that the framework ran twice or elsewhere, and what looks like it and is not.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// gc(x) and `other`(x), two graph convolutions that begin with adjacency @ x + x.
std::string TwoConvolutions(std::string_view other_weight) {
  return absl::StrCat(R"(
    input x float32 2x4x8
    input adj float32 2x4x4
    weight gc.weight float32 8x8
    weight as.)",
                      std::string(other_weight), R"( float32 8x8
    /gc/MatMul = MatMul(adj, x) -> a float32 2x4x8
    /gc/Add = Add(a, x) -> b float32 2x4x8
    /gc/MatMul_1 = MatMul(b, gc.weight) -> c float32 2x4x8
    /as/MatMul = MatMul(b, as.)",
                      std::string(other_weight), R"() -> d float32 2x4x8
    /Add = Add(c, d) -> y float32 2x4x8
    output y
  )");
}

TEST(MergedExpressions, RunInModulesThatDoTheSameWithParametersOfOneName) {
  const std::string text = LowerText(TwoConvolutions("weight"));
  EXPECT_NE(text.find("matmul(adj, x) -> a in as [as]\nadd(a in as, x) -> b in as [as]\n"), std::string::npos) << text;
}

// self.a computes b and hands it to self.b, which has a parameter of another kind.
TEST(MergedExpressions, AValueHandedToAnotherKindOfModuleIsNotRepeated) {
  const std::string text = LowerText(TwoConvolutions("table"));
  EXPECT_EQ(text.find(" in as"), std::string::npos) << text;
}

// An attention that a decoder calls in every step projects the same keys in each.
constexpr std::string_view kTwoSteps = R"(
    input q float32 2x1x8
    input r float32 2x1x8
    input keys float32 2x4x8
    weight att.wa.weight float32 8x8
    weight att.ua.weight float32 8x8
    weight out.weight float32 8x8
    /att/wa/MatMul = MatMul(q, att.wa.weight) -> a float32 2x1x8
    /att/ua/MatMul = MatMul(keys, att.ua.weight) -> k float32 2x4x8
    /att/Add = Add(a, k) -> b float32 2x4x8
    /out/MatMul = MatMul(b, out.weight) -> c float32 2x4x8
    /att/wa_1/MatMul = MatMul(r, att.wa.weight) -> d float32 2x1x8
    /att_1/Add = Add(d, k) -> e float32 2x4x8
    /Add = Add(c, e) -> y float32 2x4x8
    output y
)";

TEST(MergedExpressions, RunInEachCallOfAModule) {
  const std::string text = LowerText(kTwoSteps);
  const size_t second = text.find("-> k in att_1 of /att_1/Add [att.ua]\n");
  ASSERT_NE(second, std::string::npos) << text;
  EXPECT_GT(second, text.find("-> d [att.wa]"));
  EXPECT_EQ(LowerText(kTwoSteps, Without("merged-expressions")).find("k in att_1"), std::string::npos);
}

// A cell's state is read by its next call in another place than the call that made it: it was handed on.
TEST(MergedExpressions, TheStateOfACellIsHandedOn) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    input z float32 2x8
    weight cell.weight float32 8x8
    weight out.weight float32 8x8
    /cell/MatMul = MatMul(x, cell.weight) -> c float32 2x8
    /cell/Tanh = Tanh(c) -> h float32 2x8
    /out/MatMul = MatMul(h, out.weight) -> o float32 2x8
    /cell_1/MatMul = MatMul(z, cell.weight) -> d float32 2x8
    /cell_1/Mul = Mul(d, c) -> e float32 2x8
    /Add = Add(o, e) -> y float32 2x8
    output y
  )");
  EXPECT_EQ(text.find(" in cell_1"), std::string::npos) << text;
}

// x.chunk(2, -1) as the exporter writes it, its size computed by (Shape(x)[axis] + 1) / 2.
std::string Chunk(std::string_view size_of) {
  return absl::StrCat(R"(
    input in float32 2x8
    input other float32 2x8
    const two int64 scalar = 2
    const one int64 scalar = 1
    const zero int64 1 = 0
    const axis int64 1 = 1
    const first int64 1 = 1
    const second int64 1 = 2
    /Relu = Relu(in) -> x float32 2x8
    /Shape = Shape()",
                      std::string(size_of), R"() -> s int64 2 = 2 8
    /Gather = Gather(s, axis) -> g int64 1 = 8
    /Add = Add(g, one) -> r int64 1 = 9
    /Div = Div(r, two) -> n int64 1 = 4
    /Mul = Mul(n, first) -> m int64 1 = 4
    /Mul_1 = Mul(n, second) -> e int64 1 = 8
    /Slice = Slice(x, zero, m, axis) -> a float32 2x4
    /Slice_1 = Slice(x, m, e, axis) -> b float32 2x4
    /Mul_2 = Mul(a, b) -> y float32 2x4
    output y
  )");
}

TEST(Chunk, IsOneSplit) {
  const std::string text = LowerText(Chunk("x"), {}, "axis");
  EXPECT_NE(text.find("split(x) -> a, b axis=1\n"), std::string::npos) << text;
  EXPECT_EQ(LowerText(Chunk("x"), Without("chunk")).find("split"), std::string::npos);
}

TEST(Chunk, PiecesThatNothingReadsAreMadeToo) {
  const std::string text = LowerText(R"(
    input in float32 2x8
    const one int64 scalar = 1
    const zero int64 1 = 0
    const axis int64 1 = 1
    const three int64 1 = 3
    const last int64 1 = 4
    const four int64 scalar = 4
    /Relu = Relu(in) -> x float32 2x8
    /Shape = Shape(x) -> s int64 2 = 2 8
    /Gather = Gather(s, axis) -> g int64 1 = 8
    /Add = Add(g, three) -> r int64 1 = 11
    /Div = Div(r, four) -> n int64 1 = 2
    /Mul = Mul(n, three) -> m int64 1 = 6
    /Mul_1 = Mul(n, last) -> e int64 1 = 8
    /Slice = Slice(x, m, e, axis) -> y float32 2x2
    output y
  )");
  EXPECT_NE(text.find("split(x) -> x chunk 0, x chunk 1, x chunk 2, y\n"), std::string::npos) << text;
}

// torch.split(x, [3, 5], 1) as dynamo's exporter writes it: slices whose source line shows the call.
std::string SplitBySizes(const std::string& call, const std::string& second_begin = "3") {
  return absl::StrReplaceAll(R"(
    input x float32 2x8
    const zero int64 1 = 0
    const three int64 1 = 3
    const begin int64 1 = BEGIN
    const end int64 1 = 8
    const axis int64 1 = 1
    node_slice = Slice(x, zero, three, axis) -> a float32 2x3
    @ pkg.torch.onnx.stack_trace File "net.py", line 22, in forward\n    CALL
    node_slice_1 = Slice(x, begin, end, axis) -> b float32 2xSIZE
    @ pkg.torch.onnx.stack_trace File "net.py", line 22, in forward\n    CALL
    node_relu = Relu(a) -> y float32 2x3
    node_relu_1 = Relu(b) -> z float32 2xSIZE
    output y
    output z
  )",
                             {{"BEGIN", second_begin}, {"SIZE", second_begin == "3" ? "5" : "4"}, {"CALL", call}});
}

TEST(Chunk, SlicesOfOneSplitCallAreOneSplit) {
  const std::string text = LowerText(SplitBySizes("a, b = torch.split(x, self.sizes, 1)"), {}, "sizes");
  EXPECT_NE(text.find("split(x) -> a, b sizes=[3 5]\n"), std::string::npos) << text;
}

TEST(Chunk, SlicesThatTheCodeWritesStay) {
  EXPECT_EQ(LowerText(SplitBySizes("a, b = x[:, :3], x[:, 3:]")).find("split"), std::string::npos);
  EXPECT_EQ(LowerText(SplitBySizes("a, b = split(x)", "4")).find("split("), std::string::npos)
      << "a column is left out";
}

// tensor_split and hsplit are slices in PyTorch, each with a backward of its own.
TEST(Chunk, SlicesOfFunctionsThatOnlySoundLikeItStay) {
  for (const char* call : {"a, b = torch.tensor_split(x, [3], 1)", "a, b = torch.hsplit(x, [3])"})
    EXPECT_EQ(LowerText(SplitBySizes(call)).find("split("), std::string::npos) << call;
}

// q, k, v = torch.unbind(qkv, 1) as dynamo's exporter writes it; the last Squeeze is of call `last`.
std::string Unbound(const std::string& last) {
  constexpr char kText[] = R"(
    input in float32 2x3x8
    const zero int64 1 = 0
    const one int64 1 = 1
    const two int64 1 = 2
    const three int64 1 = 3
    node_relu = Relu(in) -> x float32 2x3x8
    node_slice = Slice(x, zero, one, one) -> a float32 2x1x8
    @ pkg.torch.onnx.class_hierarchy ['net.Net', 'aten.unbind.int']
    @ pkg.torch.onnx.name_scopes ['', 'unbind']
    node_unbind__0 = Squeeze(a, one) -> q float32 2x8
    @ pkg.torch.onnx.class_hierarchy ['net.Net', 'aten.unbind.int']
    @ pkg.torch.onnx.name_scopes ['', 'unbind']
    node_slice_2 = Slice(x, two, three, one) -> c float32 2x1x8
    @ pkg.torch.onnx.class_hierarchy ['net.Net', 'aten.unbind.int']
    @ pkg.torch.onnx.name_scopes ['', 'unbind']
    node_unbind__2 = Squeeze(c, one) -> v float32 2x8
    @ pkg.torch.onnx.class_hierarchy ['net.Net', 'aten.unbind.int']
    @ pkg.torch.onnx.name_scopes ['', 'LAST']
    node_mul = Mul(q, v) -> y float32 2x8
    output y
  )";
  return absl::StrReplaceAll(kText, {{"LAST", last}});
}

TEST(Chunk, PiecesOfOneUnbindAreOneOperator) {
  const std::string text = LowerText(Unbound("unbind"), {}, "axis");
  EXPECT_NE(text.find("unbind(x) -> q, x chunk 1, v axis=1"), std::string::npos) << text;
}

TEST(Chunk, UnbindsOfOneTensorStayApart) {
  const std::string text = LowerText(Unbound("unbind_1"), {}, "axis");
  EXPECT_NE(text.find("unbind(x) -> x chunk 0, x chunk 1, v axis=1"), std::string::npos) << text;
}

TEST(Chunk, BoundsThatAnotherTensorGivesAreSlices) {
  EXPECT_EQ(LowerText(Chunk("other")).find("split"), std::string::npos);
}

// torch.roll(x, (0, -3), (1, 2))
TEST(Roll, ByNothingAlongAnAxisIsAPartOfTheSameRoll) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x4x8
    const zero int64 1 = 0
    const three int64 1 = 3
    const end int64 1 = 9223372036854775807
    const one int64 1 = 1
    const two int64 1 = 2
    /Slice = Slice(x, zero, zero, one) -> a float32 2x0x8
    /Concat = Concat(x, a) -> b float32 2x4x8 {axis: 1}
    /Slice_1 = Slice(b, three, end, two) -> c float32 2x4x5
    /Slice_2 = Slice(b, zero, three, two) -> d float32 2x4x3
    /Concat_1 = Concat(c, d) -> y float32 2x4x8 {axis: 2}
    output y
  )"),
            "roll(x) -> y\n");
}

// mask == 0 of a bool tensor: the kernel reads the bools. A cast that something else reads as well was requested.
TEST(Promotion, AComparisonWithANumberNeedsNoCopy) {
  constexpr std::string_view kText = R"(
    input x int64 2x8
    const limit int64 scalar = 3
    const zero int64 scalar = 0
    /Greater = Greater(x, limit) -> g bool 2x8
    /Cast = Cast(g) -> c int64 2x8 {to: 7}
    /Equal = Equal(c, zero) -> y bool 2x8
    output y
  )";
  EXPECT_EQ(LowerText(kText).find("cast"), std::string::npos) << LowerText(kText);
  EXPECT_NE(LowerText(absl::StrCat(std::string(kText), "output c\n")).find("cast(g) -> c"), std::string::npos);
}

// Heads of a graph attention test adjacency > 0 each; the one of another name has the same parameters.
TEST(MergedExpressions, RunInModulesWithTheSameParameters) {
  const std::string text = LowerText(R"(
    input x float32 2x4x8
    input adj float32 2x4x4
    const zero float32 scalar = 0
    weight att_0.W float32 8x4
    weight att_0.a float32 4x4
    weight out.W float32 8x4
    weight out.a float32 4x4
    /att_0/MatMul = MatMul(x, att_0.W) -> a float32 2x4x4
    /att_0/Add = Add(a, att_0.a) -> b float32 2x4x4
    /att_0/Greater = Greater(adj, zero) -> g bool 2x4x4
    /att_0/Where = Where(g, b, a) -> c float32 2x4x4
    /out/MatMul = MatMul(x, out.W) -> d float32 2x4x4
    /out/Add = Add(d, out.a) -> e float32 2x4x4
    /out/Where = Where(g, e, d) -> f float32 2x4x4
    /Add = Add(c, f) -> y float32 2x4x4
    output y
  )");
  EXPECT_NE(text.find("-> g in out [out]\n"), std::string::npos) << text;
}

// x.new_empty(...) in each layer: it is made of sizes alone.
TEST(MergedExpressions, ATensorOfSizesAloneIsMadeByEachLayer) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    const shape int64 2 = 2 8
    weight layers.0.weight float32 8x8
    weight layers.1.weight float32 8x8
    /layers.0/ConstantOfShape = ConstantOfShape(shape) -> e float32 2x8
    /layers.0/MatMul = MatMul(x, layers.0.weight) -> a float32 2x8
    /layers.0/Concat = Concat(a, e) -> b float32 4x8 {axis: 0}
    /layers.1/MatMul = MatMul(b, layers.1.weight) -> c float32 4x8
    /layers.1/Concat = Concat(c, e) -> y float32 6x8 {axis: 0}
    output y
  )");
  EXPECT_TRUE(Has(text, "-> e in layers.1")) << text;
}

}  // namespace
}  // namespace onnx_mem
