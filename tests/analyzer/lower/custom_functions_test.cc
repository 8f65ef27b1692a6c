// Calls of torch.autograd.Functions, known by the stack traces of a dynamo export.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// act(x) of a module whose forward() has CALL; BODY is the frame below it.
constexpr char kModule[] = R"(
    input x float32 2x8
    node_sin = Sin(x) -> i float32 2x8
    @ namespace : Net/sin: aten.sin.default
    node_sigmoid = Sigmoid(i) -> s float32 2x8
    @ namespace : Net/act: net.Swish/sigmoid: aten.sigmoid.default
    @ pkg.torch.onnx.stack_trace File "net.py", line 22, in forward\n    x = self.act(x)\n  File "net.py", line 15, in forward\n    CALLBODY
    node_mul = Mul(i, s) -> y float32 2x8
    @ namespace : Net/act: net.Swish/mul: aten.mul.Tensor
    @ pkg.torch.onnx.stack_trace File "net.py", line 22, in forward\n    x = self.act(x)\n  File "net.py", line 15, in forward\n    CALLBODY
    output y
)";
constexpr std::string_view kBody = R"(\n  File "net.py", line 7, in forward\n    return x * torch.sigmoid(x))";

std::string Module(const std::string& call, std::string_view body) {
  return absl::StrReplaceAll(kModule, {{"CALL", call}, {"BODY", std::string(body)}});
}

const Diagnostic* SaidOf(const Lowered& lowered) {
  const auto it = std::find_if(lowered.diagnostics.begin(), lowered.diagnostics.end(),
                               [](const Diagnostic& d) { return d.code == Code::kCustomFunction; });
  return it == lowered.diagnostics.end() ? nullptr : &*it;
}

TEST(CustomFunction, ACallIsOneOperatorThatSavesItsInput) {
  const std::string text = Module("return SwishFunction.apply(x)", kBody);
  EXPECT_EQ(LowerText(text, {}, "workspace_bytes saves"),
            "sin(x) -> i\ncustom_function(i) -> y [act] workspace_bytes=64 saves=inputs\n");
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(text), {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const Diagnostic* said = SaidOf(*lowered);
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(said->count, 1);
  EXPECT_EQ(said->bytes, 2 * 8 * 4);
  EXPECT_NE(said->message.find("SwishFunction (x1)"), std::string::npos) << said->message;
}

TEST(CustomFunction, ItsOperatorsCountWhereThatIsRequested) {
  onnx_mem::Run run;
  run.disabled_rewrites = {"custom-function"};
  EXPECT_EQ(LowerText(Module("return SwishFunction.apply(x)", kBody), run),
            "sin(x) -> i\nsigmoid(i) -> s [act]\nmul(i, s) -> y [act]\n");
  run = {};
  run.training = false;
  EXPECT_EQ(LowerText(Module("return SwishFunction.apply(x)", kBody), run).find("custom_function"), std::string::npos)
      << "an inference saves nothing";
}

TEST(CustomFunction, OtherThingsCalledApplyAreNone) {
  for (const char* line : {"return SwishFunction.apply(x)", "return self.apply_mask(x)", "return self.net.apply(f)"}) {
    EXPECT_EQ(LowerText(Module(line, "")).find("custom_function"), std::string::npos) << line << ": no frame below it";
  }
  for (const char* line : {"return self.inner.forward(x)", "return super().forward(x)"}) {
    EXPECT_EQ(LowerText(Module(line, kBody)).find("custom_function"), std::string::npos) << line;
  }
}

// swish = SwishFunction.apply, called in a function that a trace has no row of: nothing else runs a forward() that is
// no module's.
TEST(CustomFunction, AFrameThatNoCallAccountsForIsOne) {
  const std::string text = Module("return self.multiply(x)", kBody);
  EXPECT_EQ(LowerText(text, {}, "saves made_bytes"),
            "sin(x) -> i\ncustom_function(i) -> y [act] saves=inputs made_bytes=64\n");
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(text), {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const Diagnostic* said = SaidOf(*lowered);
  ASSERT_NE(said, nullptr);
  EXPECT_NE(said->message.find("net.py (x1)"), std::string::npos) << said->message;
}

TEST(CustomFunction, AFrameOfALostModuleIsNone) {
  const std::string of_module = R"(\n  File "net.py", line 7, in forward\n    return x * torch.sigmoid(self.a * x))";
  EXPECT_EQ(LowerText(Module("return self.multiply(x)", of_module)).find("custom_function"), std::string::npos);
  EXPECT_EQ(LowerText(Module("return Swish()(x)", kBody)).find("custom_function"), std::string::npos);
  const std::string of_torch = absl::StrReplaceAll(std::string(kBody), {{"net.py", "torch/nn/modules/act.py"}});
  EXPECT_EQ(LowerText(Module("return self.multiply(x)", of_torch)).find("custom_function"), std::string::npos);
}

// The module's own operators, whose argument the function makes.
TEST(CustomFunction, AModuleCalledOnTheSameLineIsNone) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x8
    node_sin = Sin(x) -> i float32 2x8
    @ namespace : Net/act: net.Sine/sin: aten.sin.default
    @ pkg.torch.onnx.stack_trace File "net.py", line 22, in forward\n    x = self.act(F.apply(x))\n  File "net.py", line 15, in forward\n    return x.sin()
    output i
  )")
                .find("custom_function"),
            std::string::npos);
}

}  // namespace
}  // namespace onnx_mem
