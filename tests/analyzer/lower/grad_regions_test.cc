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

// Rotary embeddings of queries and keys, which something else reads as they were.
TEST(GradRegions, QueriesAndKeysOfAnAttentionRanUnderAutocast) {
  std::string text = R"(
    input x float32 2x16x8
    weight q.weight float32 8x8
    weight k.weight float32 8x8
    node_q = MatMul(x, q.weight) -> q float32 2x16x8
    node_k = MatMul(x, k.weight) -> k float32 2x16x8
    node_qs = Sin(q) -> qs float32 2x16x8
    @ pkg.torch.onnx.stack_trace File "<eval_with_key>.97", line 5, in forward\n    sin = torch.ops.aten.sin.default(q)
    node_ks = Sin(k) -> ks float32 2x16x8
    @ pkg.torch.onnx.stack_trace File "<eval_with_key>.98", line 5, in forward\n    sin = torch.ops.aten.sin.default(k)
    node_kt = Transpose(ks) -> kt float32 2x8x16 {perm: [0 2 1]}
    node_s = MatMul(qs, kt) -> s float32 2x16x16
    node_p = LAST(s) -> p float32 2x16x16 {axis: -1}
    node_pk = MatMul(p, k) -> y float32 2x16x8
    node_yq = Mul(y, q) -> z float32 2x16x8
    output z
  )";
  EXPECT_EQ(WithoutGradients(absl::StrReplaceAll(text, {{"LAST", "Softmax"}})), 0);
  EXPECT_EQ(WithoutGradients(absl::StrReplaceAll(text, {{"LAST", "Tanh"}, {" {axis: -1}", ""}})), 2);
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
