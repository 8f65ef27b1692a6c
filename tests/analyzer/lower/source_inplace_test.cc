// In-place writes that source lines show.
#include "analyzer/lower/draft/source_inplace.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// `first` and `second` are the lines of the sum and of the ReLU.
std::string LoweringOf(const std::string& first, const std::string& second) {
  constexpr char kText[] = R"(
    input x float32 2x3x4x4
    weight c.weight float32 3x3x1x1
    weight b.weight float32 3
    weight b.bias float32 3
    weight b.mean float32 3
    weight b.var float32 3
    node_conv = Conv(x, c.weight) -> a float32 2x3x4x4
    @ namespace : Net/c: torch.nn.Conv2d/conv2d: aten.conv2d.default
    node_norm = BatchNormalization(a, b.weight, b.bias, b.mean, b.var) -> n float32 2x3x4x4
    @ namespace : Net/b: torch.nn.BatchNorm2d/batch_norm: aten.batch_norm.default
    node_add = Add(n, x) -> s float32 2x3x4x4
    @ namespace : Net/add: aten.add.Tensor
    @ pkg.torch.onnx.stack_trace File "net.py", line 9, in forward\n    FIRST
    node_relu = Relu(s) -> y float32 2x3x4x4
    @ namespace : Net/relu: aten.relu.default
    @ pkg.torch.onnx.stack_trace File "net.py", line 10, in forward\n    SECOND
    output y
  )";
  return LowerText(absl::StrReplaceAll(kText, {{"FIRST", first}, {"SECOND", second}}));
}

bool SumIsInPlace(const std::string& text) { return text.find("-> s inplace") != std::string::npos; }
bool ReluIsInPlace(const std::string& text) { return text.find("-> y inplace") != std::string::npos; }

TEST(SourceInPlace, AugmentedAssignmentsWriteOver) {
  const std::string text = LoweringOf("out += identity", "return F.relu(out)");
  EXPECT_TRUE(SumIsInPlace(text)) << text;
  EXPECT_FALSE(ReluIsInPlace(text)) << text;
}

// Exporters write what the line binds first. A tool may have swapped the operands: the name tells.
TEST(SourceInPlace, TheNameTellsWhichOperandIsWrittenOver) {
  constexpr char kText[] = R"(
    input x float32 2x3x4x4
    weight b.weight float32 3
    weight b.bias float32 3
    weight b.mean float32 3
    weight b.var float32 3
    node_norm = BatchNormalization(x, b.weight, b.bias, b.mean, b.var) -> n float32 2x3x4x4
    @ namespace : Net/b: torch.nn.BatchNorm2d/batch_norm: aten.batch_norm.default
    @ pkg.torch.onnx.stack_trace File "net.py", line 8, in forward\n    out = self.b(x)\n  File "norm.py", line 5, in forward\n    return F.batch_norm(
    node_abs = Abs(x) -> i float32 2x3x4x4
    @ namespace : Net/abs: aten.abs.default
    @ pkg.torch.onnx.stack_trace File "net.py", line 9, in forward\n    identity = x.abs()
    node_add = Add(i, n) -> s float32 2x3x4x4
    @ namespace : Net/add_: aten.add_.Tensor
    @ pkg.torch.onnx.stack_trace File "net.py", line 10, in forward\n    out += identity
    node_neg = Neg(s) -> y float32 2x3x4x4
    @ namespace : Net/neg: aten.neg.default
    output y
  )";
  const std::string text = LowerText(kText);
  EXPECT_TRUE(absl::StrContains(text, "add(n, i) -> s inplace")) << text;
}

TEST(SourceInPlace, FunctionsWriteOverWhereTheySaySo) {
  for (const char* line : {"return F.relu(out, inplace=True)", "return out.relu_()", "return torch.relu_(out)"}) {
    const std::string text = LoweringOf("out = out + identity", line);
    EXPECT_FALSE(SumIsInPlace(text)) << text;
    EXPECT_TRUE(ReluIsInPlace(text)) << text;
  }
}

TEST(SourceInPlace, AMethodThatWritesOver) {
  EXPECT_TRUE(SumIsInPlace(LoweringOf("out = out.add_(identity)", "return F.relu(out)")));
}

}  // namespace
}  // namespace onnx_mem
