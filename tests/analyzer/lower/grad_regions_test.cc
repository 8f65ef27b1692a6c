// What ran under torch.no_grad(), known by the source lines of the graphs that torch.export made of it.
#include "analyzer/assume/regions/grad_regions.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// A linear layer, two steps of which the first ran in a graph of its own, and what reads the layer besides.
constexpr char kSteps[] = R"(
    input x float32 2x8
    weight fc.weight float32 8x8
    node_fc = MatMul(x, fc.weight) -> h float32 2x8
    @ namespace : net.Net/fc: torch.nn.modules.linear.Linear/linear: aten.linear.default
    @ pkg.torch.onnx.stack_trace File "net.py", line 5, in forward\n    h = self.fc(x)
    node_sin = Sin(h) -> s float32 2x8
    @ namespace : net.Net/sin: aten.sin.default
    @ pkg.torch.onnx.stack_trace LINES
    node_exp = Exp(s) -> e float32 2x8
    @ namespace : net.Net/exp: aten.exp.default
    @ pkg.torch.onnx.stack_trace LINES
    node_mul = Mul(e, OTHER) -> y float32 2x8
    @ namespace : net.Net/mul: aten.mul.Tensor
    @ pkg.torch.onnx.stack_trace File "net.py", line 8, in forward\n    return e * h
    output y
)";
constexpr char kGenerated[] =
    R"(File "<eval_with_key>.97", line 5, in forward\n    sin = torch.ops.aten.sin.default(h))";
constexpr char kOfModule[] = R"(File "net.py", line 7, in forward\n    e = h.sin().exp())";

std::string Steps(const std::string& lines, const std::string& other) {
  return absl::StrReplaceAll(kSteps, {{"LINES", lines}, {"OTHER", other}});
}

int WithoutGradients(const std::string& text, const onnx_mem::Run& run = {}) {
  return Count(LowerText(text, run, "requires_grad_none"), "requires_grad_none=1");
}

TEST(GradRegions, AGraphOfItsOwnRanWithoutGradients) {
  EXPECT_EQ(WithoutGradients(Steps(kGenerated, "h")), 2);
  EXPECT_EQ(WithoutGradients(Steps(kOfModule, "h")), 0);
  onnx_mem::Run run;
  run.training = false;
  EXPECT_EQ(WithoutGradients(Steps(kGenerated, "h"), run), 0);
}

TEST(GradRegions, WhatWouldNeverBeTrainedRanUnderAutocast) {
  EXPECT_EQ(WithoutGradients(Steps(kGenerated, "x")), 0) << "nothing else reads what the layer makes";
}

TEST(GradRegions, TheIntervalHasTheOther) {
  absl::StatusOr<Lowered> lowered = Lower(ParseGraph(Steps(kGenerated, "h")), {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_TRUE(TurnGradRegions(*lowered));
  EXPECT_EQ(Count(DumpLowered(*lowered, "requires_grad_none"), "requires_grad_none=1"), 0);
  lowered = Lower(ParseGraph(Steps(kGenerated, "x")), {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_FALSE(TurnGradRegions(*lowered)) << "it is certain";
}

}  // namespace
}  // namespace onnx_mem
