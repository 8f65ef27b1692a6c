// What of a file's stored tensors is trained, and where nothing shows whether a BatchNorm was.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/exported/value_names.h"
#include "analyzer/graph/program_signature.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

std::string DiagnosticsOf(const std::string& text) {
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(text), onnx_mem::Run());
  std::string codes;
  for (const Diagnostic& d : lowered->diagnostics) absl::StrAppend(&codes, CodeOf(d), " ");
  return codes;
}

// x @ torch.tensor(...): parameters are initializers in an export of torch.onnx.
TEST(StoredKinds, AConstantOfTheCodeIsNoWeight) {
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(R"(
    input x float32 2x3x2
    const /Constant_output_0 float32 2x2 = 1 2 3 4
    /MatMul = MatMul(x, /Constant_output_0) -> y float32 2x3x2
    output y
  )"),
                                                onnx_mem::Run());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_TRUE(Has(DumpLowered(*lowered), "buffer /Constant_output_0"));
}

// Weights of a quantized file are parameters that nothing trains; scales, zero points and masks are none.
TEST(StoredKinds, IntegersThatALayerReadsAsItsWeightAreParameters) {
  const std::string text = LowerText(R"(
    input x float32 4x8
    input ids int64 4
    weight q int8 8x8
    weight q_scale float32 8
    weight q_zero int8 8
    weight table uint8 50x8
    weight mask int8 4x8
    w = DequantizeLinear(q, q_scale, q_zero) -> w float32 8x8
    m = MatMul(x, w) -> m float32 4x8
    rows = Gather(table, ids) -> rows uint8 4x8
    e = DequantizeLinear(rows, q_scale) -> e float32 4x8
    c = Cast(mask) {to=1} -> c float32 4x8
    s = Add(m, e) -> s float32 4x8
    y = Mul(s, c) -> y float32 4x8
    output y
  )");
  for (const char* parameter : {"q", "table"}) {
    EXPECT_TRUE(Has(text, absl::StrCat("parameter ", parameter, "\n"))) << parameter << '\n' << text;
  }
  for (const char* buffer : {"q_scale", "q_zero", "mask"}) {
    EXPECT_FALSE(Has(text, absl::StrCat("parameter ", buffer, "\n"))) << buffer << '\n' << text;
  }
}

// The signature names what a module holds, whatever the operator that reads it.
TEST(StoredKinds, TheSignatureTellsParametersFromBuffers) {
  Graph graph = ParseGraph(R"(
    input x float32 2x3
    weight trained float32 2x3
    weight scale float32 2x3
    /Mul = Mul(x, scale) -> a float32 2x3
    /Mul_1 = Mul(a, trained) -> y float32 2x3
    output y
  )");
  graph.signature = ProgramSignature::Parse(
      "# inputs\np_trained: PARAMETER target='trained'\nb_scale: BUFFER target='scale' persistent=True\n");
  const absl::StatusOr<Lowered> lowered = Lower(graph, onnx_mem::Run());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_TRUE(Has(DumpLowered(*lowered), "parameter trained"));
  EXPECT_TRUE(Has(DumpLowered(*lowered), "buffer scale"));
}

// mean + exp(spread) * torch.randn_like(spread): the exporter computes exp(spread), and of the parameter itself the
// shape is left.
TEST(StoredKinds, AParameterOfWhichOnlyTheShapeIsReadIsInMemory) {
  Graph graph = ParseGraph(R"(
    input x float32 2x3
    weight spread float32 2x3
    weight exp float32 2x3
    /Noise = RandomNormalLike(spread) -> noise float32 2x3
    /Mul = Mul(exp, noise) -> a float32 2x3
    /Add = Add(x, a) -> y float32 2x3
    output y
  )");
  graph.signature = ProgramSignature::Parse("# inputs\np_spread: PARAMETER target='spread'\n");
  const absl::StatusOr<Lowered> lowered = Lower(graph, onnx_mem::Run());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_TRUE(Has(DumpLowered(*lowered), "parameter spread")) << DumpLowered(*lowered);
}

// The scale of an unoptimised attention: made of shapes, in the type of the queries.
TEST(StoredKinds, TheTypeOperandOfCastLikeGivesNoContents) {
  const std::string text = LowerText(R"(
    input x float32 2x8x4
    const two int64 scalar = 2
    /Shape = Shape(x) -> s int64 3 = 2 8 4
    /Gather = Gather(s, two) -> n int64 scalar = 4
    /CastLike = CastLike(n, x) -> f float32 scalar = 4
    /Sqrt = Sqrt(f) -> r float32 scalar = 2
    /Mul = Mul(x, r) -> y float32 2x8x4
    output y
  )");
  EXPECT_TRUE(Has(text, "mul_scalar(x) -> y")) << text;
  EXPECT_FALSE(Has(text, "sqrt")) << text;
}

// Two convolutions whose weights are called `name` and a number.
std::string Convolutions(std::string_view name) {
  return absl::StrReplaceAll(
      R"(
    input x float32 2x8x4x4
    weight NAME1 float32 8x8x3x3
    weight b1 float32 8
    weight NAME2 float32 8x8x3x3
    weight b2 float32 8
    c1 = Conv(x, NAME1, b1) -> h float32 2x8x4x4 {kernel_shape: [3 3], pads: [1 1 1 1]}
    r1 = Relu(h) -> r float32 2x8x4x4
    c2 = Conv(r, NAME2, b2) -> g float32 2x8x4x4 {kernel_shape: [3 3], pads: [1 1 1 1]}
    r2 = Relu(g) -> y float32 2x8x4x4
    output y
)",
      {{"NAME1", absl::StrCat("1", std::string(name))}, {"NAME2", absl::StrCat("2", std::string(name))}});
}

TEST(UndecidedNorms, ConvolutionsWhoseNamesTellNothingMayHaveHadNorms) {
  EXPECT_TRUE(Has(DiagnosticsOf(Convolutions("_w")), "bn-undecided"));
}

// torch.onnx would have renamed the weight with which a norm was folded.
TEST(UndecidedNorms, NamesOfModulesSettleIt) {
  EXPECT_FALSE(Has(DiagnosticsOf(Convolutions(".weight")), "bn-undecided"));
}

TEST(UndecidedNorms, ANormInTheFileSettlesIt) {
  const std::string text = absl::StrReplaceAll(Convolutions("_w"), {{"output y", R"(weight s float32 8
    weight t float32 8
    n = InstanceNormalization(y, s, t) -> z float32 2x8x4x4
    output z)"}});
  EXPECT_FALSE(Has(DiagnosticsOf(text), "bn-undecided"));
}

// Two linears of one parameter or of two, whose transposes an exporter stored.
std::string ParametersOf(std::string_view nodes, std::string_view signature) {
  Graph graph = ParseGraph(nodes);
  graph.signature = ProgramSignature::Parse(signature);
  const absl::StatusOr<Lowered> lowered = Lower(graph, Run());
  if (!lowered.ok()) return lowered.status().ToString();
  const std::string text = DumpLowered(*lowered);
  const size_t at = text.find("parameter ");
  return at == std::string::npos ? "" : text.substr(at);
}

constexpr std::string_view kTwoSignature =
    "# inputs\np_a_weight: PARAMETER target='a.weight'\np_b_weight: PARAMETER target='b.weight'\nx: USER_INPUT\n";

std::string TwoLinears(std::string_view first, std::string_view second, std::string_view second_parameter) {
  const std::string call = "call_function[target=torch.ops.aten.linear.default](args = (";
  return absl::StrCat("input x float32 2x8\nweight val_1 float32 8x8\nweight val_2 float32 8x8\n",
                      "/a/MatMul = MatMul(x, ", std::string(first), ") -> linear float32 2x8\n",
                      "@ pkg.torch.onnx.fx_node %linear : [num_users=1] = ", call, "%x, %p_a_weight), kwargs = {})\n",
                      "/b/MatMul = MatMul(linear, ", std::string(second), ") -> y float32 2x8\n",
                      "@ pkg.torch.onnx.fx_node %linear_1 : [num_users=1] = ", call, "%linear, %",
                      std::string(second_parameter), "), kwargs = {})\noutput y\n");
}

TEST(FoldedCopies, OneForEachRunOfAModuleAreOneParameter) {
  const std::string text = ParametersOf(TwoLinears("val_1", "val_2", "p_a_weight"), kTwoSignature);
  EXPECT_EQ(Count(text, "parameter "), 1) << text;
}

TEST(FoldedCopies, OneOfTwoEqualParametersIsTwo) {
  const std::string text = ParametersOf(TwoLinears("val_1", "val_1", "p_b_weight"), kTwoSignature);
  EXPECT_EQ(Count(text, "parameter "), 2) << text;
}

TEST(FoldedCopies, OfTwoParametersStayTwo) {
  const std::string text = ParametersOf(TwoLinears("val_1", "val_2", "p_b_weight"), kTwoSignature);
  EXPECT_EQ(Count(text, "parameter "), 2) << text;
}

// Numbers of the code that are stored: where the file has all parameters, they are none.
TEST(StoredKinds, BesideAllParametersNothingElseIsTrained) {
  constexpr std::string_view kText = R"(input x float32 2x4
    weight fc.weight float32 4x4
    weight w_half float32 4
    /fc/MatMul = MatMul(x, fc.weight) -> a float32 2x4
    /Sub = Sub(a, w_half) -> y float32 2x4
    output y
  )";
  const std::string one = "# inputs\np_fc_weight: PARAMETER target='fc.weight'\n";
  EXPECT_EQ(Count(ParametersOf(kText, one), "parameter "), 1);
  const std::string two = one + "p_shift: PARAMETER target='shift'\n";
  EXPECT_EQ(Count(ParametersOf(kText, two), "parameter "), 2) << "what the exporter computed of the other one";
}

// norm(linear(positions)): the exporter computed the linear layer, and stored what it gave under the name of its call.
TEST(StoredKinds, WhatACallGaveIsNoParameter) {
  Graph graph = ParseGraph(R"(
    input x float32 2x9x4
    weight linear float32 9x4
    weight type_as float32 1x1x4
    /Mul = Mul(x, linear) -> a float32 2x9x4
    @ pkg.torch.onnx.fx_node %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%x, %linear), kwargs = {})
    /Add = Add(a, type_as) -> y float32 2x9x4
    @ pkg.torch.onnx.fx_node %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul, %type_as), kwargs = {})
    output y
  )");
  const auto dump = [&](const std::string& signature) {
    graph.signature = ProgramSignature::Parse(signature);
    const absl::StatusOr<Lowered> lowered = Lower(graph, onnx_mem::Run());
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    return DumpLowered(*lowered);
  };
  const std::string parameters = "# inputs\np_w: PARAMETER target='w'\n";
  EXPECT_TRUE(Has(dump(parameters), "buffer linear")) << dump(parameters);
  EXPECT_TRUE(Has(dump(parameters), "parameter type_as")) << "of a scale, for all we know";
  const std::string with_mean = parameters + "c_mean: CONSTANT_TENSOR target='mean'\n";
  EXPECT_TRUE(Has(dump(with_mean), "buffer type_as")) << dump(with_mean);
}

// 0.5 and 1 in onnxscript's lerp, cast to the type of the weights.
TEST(StoredKinds, ANumberOfTheExportersLibraryHasANameOfTheExporters) {
  for (const std::string name : {"const_cast", "const_3_cast", "const_3_cast_2"}) {
    EXPECT_TRUE(IsExporterName(name)) << name;
  }
  for (const std::string name : {"const_castle", "constant_cast", "const_x_cast", "const_3_cast_b"}) {
    EXPECT_FALSE(IsExporterName(name)) << name;
  }
}

// x @ self.directions.T of a buffer beside nn.Linear(4, 3): the file lacks no parameter.
constexpr std::string_view kProjected = R"(
    input x float32 2x8x2
    weight permute float32 2x4
    weight val_1 float32 4x3
    node_matmul = MatMul(x, permute) -> matmul float32 2x8x4
    @ pkg.torch.onnx.fx_node %matmul : [num_users=1] = call_function[target=torch.ops.aten.matmul.default](args = (%x, %permute), kwargs = {})
    node_linear = MatMul(matmul, val_1) -> linear float32 2x8x3
    @ pkg.torch.onnx.fx_node %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%matmul, %p_fc_weight), kwargs = {})
    output linear
)";

std::string LoweredWith(std::string_view text, std::string_view inputs) {
  Graph graph = ParseGraph(text);
  graph.signature = ProgramSignature::Parse(absl::StrCat("# inputs\n", std::string(inputs)));
  const absl::StatusOr<Lowered> lowered = Lower(graph, onnx_mem::Run());
  return lowered.ok() ? DumpLowered(*lowered) : std::string(lowered.status().message());
}

TEST(StoredKinds, WhatWasComputedWhereNoParameterIsMissingIsOfBuffers) {
  const std::string listed = "p_fc_weight: PARAMETER target='fc.weight'\nb_directions: BUFFER target='directions'\n";
  const std::string text = LoweredWith(kProjected, listed);
  EXPECT_FALSE(Has(text, "parameter permute")) << text;
  EXPECT_TRUE(Has(text, "linear(matmul,")) << text;
  const std::string lacks = LoweredWith(kProjected, listed + "p_w: PARAMETER target='w'\n");
  EXPECT_TRUE(Has(lacks, "parameter permute")) << lacks;
  const std::string tied = LoweredWith(
      absl::StrReplaceAll(std::string(kProjected), {{"float32 2x4\n", "float32 3x4\n"}, {"2x8x2", "2x8x3"}}), listed);
  EXPECT_TRUE(Has(tied, "parameter permute")) << "of the layer's sizes: it may be that weight, turned\n" << tied;
}

}  // namespace
}  // namespace onnx_mem
