// Dropouts that source lines leave no room for.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// x = F.relu(self.a(x)), and self.b(x) in the line below: there is no room for a dropout between the two.
TEST(Dropout, NoneIsPossibleWhereTheLinesLeaveNoRoom) {
  constexpr char kText[] = R"(
    input x float32 2x4x8x8
    weight a.weight float32 4x4x3x3
    weight b.weight float32 4x4x3x3
    weight c.weight float32 4x4x3x3
    node_conv = Conv(x, a.weight) -> h float32 2x4x6x6
    @ namespace : Net/a: torch.nn.Conv2d/conv2d: aten.conv2d.default
    node_relu = Relu(h) -> r float32 2x4x6x6
    @ namespace : Net/relu: aten.relu.default
    @ pkg.torch.onnx.stack_trace File "net.py", line 9, in forward\n    ACTIVATES
    node_conv_1 = Conv(r, b.weight) -> s float32 2x4x4x4
    @ namespace : Net/b: torch.nn.Conv2d/conv2d_1: aten.conv2d.default
    @ pkg.torch.onnx.stack_trace File "net.py", line LINE, in forward\n    x = self.b(x)\n  File "torch/nn/modules/conv.py", line 5, in forward\n    return self._conv_forward(
    node_conv_2 = Conv(s, c.weight) -> y float32 2x4x2x2
    @ namespace : Net/c: torch.nn.Conv2d/conv2d_2: aten.conv2d.default
    output y
  )";
  onnx_mem::Run everywhere;
  everywhere.dropout = 0.1;
  everywhere.dropout_everywhere = true;
  const auto drops = [&](const std::string& line, const std::string& activates) {
    const std::string text = absl::StrReplaceAll(kText, {{"LINE", line}, {"ACTIVATES", activates}});
    return LowerText(text, everywhere).find("r/dropout") != std::string::npos;
  };
  EXPECT_FALSE(drops("10", "x = F.relu(self.a(x))"));
  EXPECT_TRUE(drops("11", "x = F.relu(self.a(x))")) << "a line of no operator between them";
  EXPECT_TRUE(drops("10", "x = self.drop(F.relu(self.a(x)))"));
  EXPECT_TRUE(drops("10", "x = self.activate(x)")) << "a helper, whose lines the file does not have";
}

}  // namespace
}  // namespace onnx_mem
