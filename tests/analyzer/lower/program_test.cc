// What is put back of an exported program that dynamo's exporter and its optimizer changed: calls that gave nothing
// new, masks that only tracing makes, tables that nobody trains.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

TEST(LostCalls, ACopyThatItsReaderNamesIsPutBack) {
  const std::string text = LowerText(R"(
    input x float32 2x8x4x4
    weight w float32 8x8x1x1
    node_permute = Transpose(x) -> permute float32 2x8x4x4 {perm: [0 1 3 2]}
    @ namespace : Net/permute: aten.permute.default
    @ pkg.torch.onnx.fx_node %permute : [num_users=1] = call_function[target=aten.permute.default](args = (%x, [0, 1, 3, 2]), kwargs = {})
    node_conv = Conv(permute, w) -> y float32 2x8x4x4 {kernel_shape: [1 1]}
    @ namespace : Net/conv2d: aten.conv2d.default
    @ pkg.torch.onnx.fx_node %conv2d : [num_users=1] = call_function[target=aten.conv2d.default](args = (%clone, %p_w), kwargs = {})
    output y
  )");
  EXPECT_TRUE(Has(text, "contiguous(permute) -> clone\n")) << text;
  EXPECT_TRUE(Has(text, "conv(clone, w) -> y")) << text;
}

// A sum that began with 0, and a pad by nothing of the model's input.
TEST(LostCalls, CallsThatChangeNoValueMakeATensor) {
  const std::string text = LowerText(R"(
    input x float32 2x8x4
    input z float32 2x8x4
    node_sin = Sin(x) -> sin float32 2x8x4
    @ namespace : Net/sin: aten.sin.default
    @ pkg.torch.onnx.fx_node %sin : [num_users=1] = call_function[target=aten.sin.default](args = (%pad,), kwargs = {})
    node_mul = Mul(sin, z) -> mul float32 2x8x4
    @ namespace : Net/mul: aten.mul.Tensor
    @ pkg.torch.onnx.fx_node %mul : [num_users=1] = call_function[target=aten.mul.Tensor](args = (%sin, %z), kwargs = {})
    node_tanh = Tanh(mul) -> y float32 2x8x4
    @ namespace : Net/tanh: aten.tanh.default
    @ pkg.torch.onnx.fx_node %tanh : [num_users=1] = call_function[target=aten.tanh.default](args = (%add,), kwargs = {})
    output y
  )");
  EXPECT_TRUE(Has(text, "clone(x) -> pad\n")) << text;
  EXPECT_TRUE(Has(text, "sin(pad) -> sin")) << text;
  EXPECT_TRUE(Has(text, "add_scalar(mul) -> add\n")) << text;
}

// torch.sin(1.0 * h) multiplies where it stands; without a line that shows it, right behind what made h.
TEST(LostCalls, AProductByOneRunsWhereItsLineStands) {
  constexpr char kText[] = R"(
    input x float32 2x8
    node_tanh = Tanh(x) -> tanh float32 2x8
    @ namespace : Net/tanh: aten.tanh.default
    @ pkg.torch.onnx.fx_node %tanh : [num_users=2] = call_function[target=aten.tanh.default](args = (%x,), kwargs = {})
    node_exp = Exp(tanh) -> exp float32 2x8
    @ namespace : Net/exp: aten.exp.default
    @ pkg.torch.onnx.fx_node %exp : [num_users=1] = call_function[target=aten.exp.default](args = (%tanh,), kwargs = {})
    node_sin = Sin(tanh) -> sin float32 2x8
    @ namespace : Net/sin: aten.sin.default
    @ pkg.torch.onnx.fx_node %sin : [num_users=1] = call_function[target=aten.sin.default](args = (%mul,), kwargs = {})
    @ pkg.torch.onnx.stack_trace File "net.py", line 7, in forward\n    LINE
    node_add = Add(exp, sin) -> y float32 2x8
    @ namespace : Net/add: aten.add.Tensor
    @ pkg.torch.onnx.fx_node %add : [num_users=1] = call_function[target=aten.add.Tensor](args = (%exp, %sin), kwargs = {})
    output y
  )";
  const auto on_line = [&](const std::string& line) { return LowerText(absl::StrReplaceAll(kText, {{"LINE", line}})); };
  EXPECT_TRUE(Has(on_line("s = torch.sin(1.0 * h)"), "exp(tanh) -> exp\nmul_scalar(tanh) -> mul\n"))
      << on_line("s = torch.sin(1.0 * h)");
  EXPECT_TRUE(Has(on_line("s = torch.sin(h)"), "mul_scalar(tanh) -> mul\nexp(tanh) -> exp\n"))
      << on_line("s = torch.sin(h)");
}

// return logits / 1.0: the result has its name, what is left another call's.
TEST(LostCalls, TheProgramsResultHasTheNameOfTheLastCall) {
  constexpr char kText[] = R"(
    input x float32 2x8x4
    node_tanh = Tanh(x) -> RESULT float32 2x8x4
    @ namespace : Net/tanh: aten.tanh.default
    @ pkg.torch.onnx.fx_node %tanh : [num_users=1] = call_function[target=aten.tanh.default](args = (%x,), kwargs = {})
    output RESULT
  )";
  const auto with_result = [&](const std::string& name) {
    return LowerText(absl::StrReplaceAll(kText, {{"RESULT", name}}));
  };
  EXPECT_TRUE(Has(with_result("div_1"), "tanh(x) -> tanh\nmul_scalar(tanh) -> div_1\n")) << with_result("div_1");
  EXPECT_TRUE(Has(with_result("tanh"), "tanh(x) -> tanh\n")) << with_result("tanh");
  EXPECT_TRUE(Has(with_result("logits"), "tanh(x) -> logits\n")) << "a name that its owner gave";
}

// for k in (1, 2): F.max_pool2d(F.pad(x, [0, 0]), k): of two equal copies one is left.
TEST(LostCalls, AnEqualPadByNothingCopiesAgain) {
  const std::string text = LowerText(R"(
    input x float32 2x8x4x4
    const pads int64 8 = 0 0 0 0 0 0 0 0
    node_pad = Pad(x, pads) -> pad float32 2x8x4x4
    @ namespace : Net/pad: aten.pad.default
    @ pkg.torch.onnx.fx_node %pad : [num_users=1] = call_function[target=aten.pad.default](args = (%x, [0, 0, 0, 0]), kwargs = {})
    node_one = MaxPool(pad) -> one float32 2x8x4x4 {kernel_shape: [1 1]}
    @ namespace : Net/max_pool2d: aten.max_pool2d.default
    @ pkg.torch.onnx.fx_node %max_pool2d : [num_users=1] = call_function[target=aten.max_pool2d.default](args = (%pad, [1, 1]), kwargs = {})
    node_two = MaxPool(pad) -> two float32 2x8x2x2 {kernel_shape: [2 2], strides: [2 2]}
    @ namespace : Net/max_pool2d_1: aten.max_pool2d.default
    @ pkg.torch.onnx.fx_node %max_pool2d_1 : [num_users=1] = call_function[target=aten.max_pool2d.default](args = (%pad_1, [2, 2]), kwargs = {})
    output one
    output two
  )");
  EXPECT_TRUE(Has(text, "pad(x) -> pad\n")) << text;
  EXPECT_TRUE(Has(text, "pad(x) -> pad_1\n")) << text;
  EXPECT_TRUE(Has(text, "max_pool(pad_1) -> two")) << text;
}

TEST(LostCalls, AnEqualCallRunsAgain) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    node_relu = Relu(x) -> relu float32 2x8
    @ namespace : Net/relu: aten.relu.default
    @ pkg.torch.onnx.fx_node %relu : [num_users=1] = call_function[target=aten.relu.default](args = (%x,), kwargs = {})
    node_sin = Sin(relu) -> sin float32 2x8
    @ namespace : Net/sin: aten.sin.default
    @ pkg.torch.onnx.fx_node %sin : [num_users=1] = call_function[target=aten.sin.default](args = (%relu,), kwargs = {})
    node_cos = Cos(relu) -> cos float32 2x8
    @ namespace : Net/cos: aten.cos.default
    @ pkg.torch.onnx.fx_node %cos : [num_users=1] = call_function[target=aten.cos.default](args = (%relu_1,), kwargs = {})
    node_add = Add(sin, cos) -> y float32 2x8
    @ namespace : Net/add: aten.add.Tensor
    @ pkg.torch.onnx.fx_node %add : [num_users=1] = call_function[target=aten.add.Tensor](args = (%sin, %cos), kwargs = {})
    output y
  )");
  EXPECT_TRUE(Has(text, "relu(x) -> relu\n")) << text;
  EXPECT_TRUE(Has(text, "relu(x) -> relu_1\n")) << text;
  EXPECT_TRUE(Has(text, "cos(relu_1) -> cos")) << text;
}

// self.a(x * 1.0), self.b(x * 1.0): both begin with tanh, which an exporter made one; both read the product.
TEST(LostCalls, ACallThatRunsInTwoModulesReadsItInBoth) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    weight a.weight float32 8x8
    weight b.weight float32 8x8
    node_exp = Exp(x) -> exp float32 2x8
    @ namespace : Net/exp: aten.exp.default
    @ pkg.torch.onnx.fx_node %exp : [num_users=1] = call_function[target=aten.exp.default](args = (%x,), kwargs = {})
    node_tanh = Tanh(exp) -> tanh float32 2x8
    @ namespace : Net/a: net.Layer/tanh: aten.tanh.default
    @ pkg.torch.onnx.fx_node %tanh : [num_users=1] = call_function[target=aten.tanh.default](args = (%mul,), kwargs = {})
    node_mm = MatMul(tanh, a.weight) -> mm float32 2x8
    @ namespace : Net/a: net.Layer/mm: aten.mm.default
    @ pkg.torch.onnx.fx_node %mm : [num_users=1] = call_function[target=aten.mm.default](args = (%tanh, %p_a_weight), kwargs = {})
    node_mm_1 = MatMul(tanh, b.weight) -> mm_1 float32 2x8
    @ namespace : Net/b: net.Layer/mm_1: aten.mm.default
    @ pkg.torch.onnx.fx_node %mm_1 : [num_users=1] = call_function[target=aten.mm.default](args = (%tanh_1, %p_b_weight), kwargs = {})
    node_add = Add(mm, mm_1) -> y float32 2x8
    @ namespace : Net/add: aten.add.Tensor
    @ pkg.torch.onnx.fx_node %add : [num_users=1] = call_function[target=aten.add.Tensor](args = (%mm, %mm_1), kwargs = {})
    output y
  )");
  EXPECT_TRUE(Has(text, "mul_scalar(exp) -> mul\ntanh(mul) -> tanh")) << text;
  EXPECT_TRUE(Has(text, "tanh(mul) -> tanh in b")) << text;
  EXPECT_FALSE(Has(text, "tanh(exp)")) << text;
}

// torch.cat([x]), of what another cat made: a copy where the code runs, which holds nothing that the other one read.
TEST(LostCalls, AJoinOfOneTensorCopiesIt) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    input z float32 2x8
    node_cat = Concat(x, z) -> cat float32 2x16 {axis: 1}
    @ namespace : Net/cat: aten.cat.default
    @ pkg.torch.onnx.fx_node %cat : [num_users=1] = call_function[target=aten.cat.default](args = ([%x, %z], 1), kwargs = {})
    node_sin = Sin(cat) -> y float32 2x16
    @ namespace : Net/sin: aten.sin.default
    @ pkg.torch.onnx.fx_node %sin : [num_users=1] = call_function[target=aten.sin.default](args = (%cat_1,), kwargs = {})
    output y
  )");
  EXPECT_TRUE(Has(text, "clone(cat) -> cat_1")) << text;
  EXPECT_TRUE(Has(text, "sin(cat_1) -> y")) << text;
}

// exp(bias) @ (exp(k) * v) / (exp(bias) @ exp(k)): exp(bias) has been computed, and the second exp(k) is the first.
TEST(LostCalls, AnEqualCallRunsAgainBesideWhatTheExporterComputed) {
  const std::string text = LowerText(R"(
    input k float32 2x4x8
    weight exp float32 1x4x4
    node_exp_1 = Exp(k) -> exp_1 float32 2x4x8
    @ namespace : Net/exp_1: aten.exp.default
    @ pkg.torch.onnx.fx_node %exp_1 : [num_users=1] = call_function[target=aten.exp.default](args = (%k,), kwargs = {})
    node_sin = Sin(exp_1) -> sin float32 2x4x8
    @ namespace : Net/sin: aten.sin.default
    @ pkg.torch.onnx.fx_node %sin : [num_users=1] = call_function[target=aten.sin.default](args = (%exp_1,), kwargs = {})
    node_matmul = MatMul(exp, exp_1) -> matmul float32 2x4x8
    @ namespace : Net/matmul: aten.matmul.default
    @ pkg.torch.onnx.fx_node %matmul : [num_users=1] = call_function[target=aten.matmul.default](args = (%exp_2, %exp_3), kwargs = {})
    node_add = Add(sin, matmul) -> y float32 2x4x8
    output y
  )");
  EXPECT_TRUE(Has(text, "exp(k) -> exp_3\n")) << text;
  EXPECT_TRUE(Has(text, ", exp_3) -> matmul")) << text;
}

// x += 0 is left out as well, and made nothing.
TEST(LostCalls, ASumOfASumStaysOut) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    input z float32 2x8
    node_add = Add(x, z) -> add float32 2x8
    @ namespace : Net/add: aten.add.Tensor
    @ pkg.torch.onnx.fx_node %add : [num_users=1] = call_function[target=aten.add.Tensor](args = (%x, %z), kwargs = {})
    node_sin = Sin(add) -> y float32 2x8
    @ namespace : Net/sin: aten.sin.default
    @ pkg.torch.onnx.fx_node %sin : [num_users=1] = call_function[target=aten.sin.default](args = (%add_1,), kwargs = {})
    output y
  )");
  EXPECT_EQ(text, "add(x, z) -> add\nsin(add) -> y\n");
}

// Which of several operands a name belongs to is not known where their numbers differ.
TEST(LostCalls, NamesThatDoNotMatchChangeNothing) {
  const std::string text = LowerText(R"(
    input x float32 2x8
    input z float32 2x8
    node_relu = Relu(x) -> r float32 2x8
    node_tanh = Tanh(z) -> t float32 2x8
    node_add = Add(r, t) -> y float32 2x8
    @ namespace : Net/add: aten.add.Tensor
    @ pkg.torch.onnx.fx_node %add : [num_users=1] = call_function[target=aten.add.Tensor](args = (%clone, %clone), kwargs = {})
    output y
  )");
  EXPECT_EQ(text, "relu(x) -> r\ntanh(z) -> t\nadd(r, t) -> y\n");
}

constexpr char kFrames[] = R"(
    input x float32 2x80x16
    weight conv.weight float32 8x80x3
    weight embed.weight float32 16x8
    /Conv = Conv(x, conv.weight) -> c float32 2x8x16 {kernel_shape: [3], pads: [1 1]}
    /Relu = Relu(c) -> r float32 2x8x16
    /Transpose = Transpose(r) -> t float32 2x16x8 {perm: [0 2 1]}
    /Add = Add(t, embed.weight) -> y float32 2x16x8
    output y
)";

Lowered Lower(std::string_view text) { return *onnx_mem::Lower(ParseGraph(text), onnx_mem::Run()); }

TEST(FrozenTables, ContentsTell) {
  EXPECT_TRUE(Lower(kFrames).frozen.empty());
  const std::string seen = absl::StrReplaceAll(kFrames, {{"    output", "    @ sinusoids embed.weight\n    output"}});
  EXPECT_EQ(Lower(seen).frozen.size(), 1u);
}

}  // namespace
}  // namespace onnx_mem
