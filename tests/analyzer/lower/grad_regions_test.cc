// What ran under torch.no_grad() or torch.utils.checkpoint, known by the source lines of the graphs that torch.export
// made of it.
#include "analyzer/assume/regions/grad_regions.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
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

// "sin exp, tanh": the operators of each call, "!" behind those of use_reentrant=True.
std::string CheckpointedIn(const std::string& text) {
  absl::StatusOr<Lowered> lowered = Lower(ParseGraph(text), {});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  std::string found;
  for (const CheckpointCall& call : lowered->checkpointed) {
    absl::StrAppend(&found, found.empty() ? "" : ", ");
    for (int32_t i = call.span.first; i <= call.span.last; ++i)
      absl::StrAppend(&found, i == call.span.first ? "" : " ", lowered->graph.nodes[NodeId(i)].op.str());
    if (call.reentrant) absl::StrAppend(&found, "!");
  }
  return found;
}

// Four operators behind a layer, each on a line of its own.
std::string FourLines(const std::string& sin, const std::string& exp, const std::string& tanh, const std::string& abs) {
  constexpr char kText[] = R"(
    input x float32 2x8
    weight fc.weight float32 8x8
    node_fc = MatMul(x, fc.weight) -> h float32 2x8
    @ pkg.torch.onnx.stack_trace File "net.py", line 5, in forward\n    h = self.fc(x)
    node_sin = Sin(h) -> a float32 2x8
    @ pkg.torch.onnx.stack_trace SIN
    node_exp = Exp(a) -> b float32 2x8
    @ pkg.torch.onnx.stack_trace EXP
    node_tanh = Tanh(b) -> c float32 2x8
    @ pkg.torch.onnx.stack_trace TANH
    node_abs = Abs(c) -> y float32 2x8
    @ pkg.torch.onnx.stack_trace ABS
    output y
  )";
  return absl::StrReplaceAll(kText, {{"SIN", sin}, {"EXP", exp}, {"TANH", tanh}, {"ABS", abs}});
}

std::string Generated(int number, std::string_view reads) {
  return absl::StrCat("File \"<eval_with_key>.", number, "\", line 5, in forward\\n    y = torch.ops.aten.op.default(",
                      std::string(reads), ")");
}
std::string Line(std::string_view text) {
  return absl::StrCat("File \"net.py\", line 7, in forward\\n    ", std::string(text));
}

TEST(OwnCheckpoints, OfAReentrantCallTheCodeBehindItIsAGraphToo) {
  EXPECT_EQ(CheckpointedIn(FourLines(Generated(72, "p_w"), Generated(72, "h"), Generated(73, "g"), Generated(73, "g"))),
            "sin exp!");
}

TEST(OwnCheckpoints, NoCodeBetweenTwoLeavesANumberOut) {
  EXPECT_EQ(
      CheckpointedIn(FourLines(Generated(72, "p_w"), Generated(74, "p_v"), Generated(75, "g"), Line("y = abs(c)"))),
      "sin!, exp!");
}

TEST(OwnCheckpoints, NoGradBehindOneIsNone) {
  const std::string text = FourLines(Generated(72, "p_w"), Generated(73, "g"), Generated(74, "t"), Line("y = c.abs()"));
  EXPECT_EQ(CheckpointedIn(text), "sin!");
}

TEST(OwnCheckpoints, GraphsOfNoGradAndOfAutocastAreNone) {
  EXPECT_EQ(CheckpointedIn(FourLines(Generated(72, "p_w"), Generated(72, "h"), Line("c = b.tanh()"), Line("c.abs()"))),
            "");
  EXPECT_EQ(CheckpointedIn(FourLines(Generated(72, "arg6_1"), Generated(73, "h"), Generated(74, "g"), Line("c.abs()"))),
            "");
}

TEST(OwnCheckpoints, ALineNamesTheCallThatIsNotReentrant) {
  const std::string line = Line("x = cp.checkpoint(self.block, x, use_reentrant=False)");
  EXPECT_EQ(CheckpointedIn(FourLines(Line("a = h.sin()"), line, line, Line("y = c.abs()"))), "exp tanh");
  for (const char* other : {"x = self.checkpoint(x)", "x = load_checkpoint(x)", "x = checkpoints(x)"})
    EXPECT_EQ(CheckpointedIn(FourLines(Line("a = h.sin()"), Line(other), Line(other), Line("y"))), "") << other;
}

// for block in self.blocks: x = checkpoint(block, x)
TEST(OwnCheckpoints, EachRoundOfALoopIsACall) {
  std::string text = R"(
    input x float32 2x8
    weight blocks.0.weight float32 8x8
    weight blocks.1.weight float32 8x8
  )";
  for (const char* number : {"0", "1"}) {
    absl::StrAppend(&text, absl::StrReplaceAll(R"(
    node_fc_N = MatMul(aN, blocks.N.weight) -> bN float32 2x8
    @ pkg.torch.onnx.class_hierarchy ['net.Net', 'net.Block', 'aten.linear.default']
    @ pkg.torch.onnx.name_scopes ['', 'blocks.N', 'linear_N']
    @ pkg.torch.onnx.stack_trace LOOP    return F.linear(x, self.weight).tanh()
    node_tanh_N = Tanh(bN) -> aNEXT float32 2x8
    @ pkg.torch.onnx.class_hierarchy ['net.Net', 'net.Block', 'aten.tanh.default']
    @ pkg.torch.onnx.name_scopes ['', 'blocks.N', 'tanh_N']
    @ pkg.torch.onnx.stack_trace LOOP    return F.linear(x, self.weight).tanh()
)",
                                               {{"LOOP", absl::StrCat(Line("x = checkpoint(block, x)"),
                                                                      "\\nFile \"net.py\", line 3, in forward\\n")},
                                                {"aNEXT", number[0] == '0' ? "a1" : "y"},
                                                {"aN", number[0] == '0' ? "x" : "a1"},
                                                {"N", number}}));
  }
  EXPECT_EQ(CheckpointedIn(absl::StrCat(text, "\n    output y\n")), "matmul tanh, matmul tanh");
}

// Five layers, a call of checkpoint_sequential over all of them.
std::string FiveInSequence(const std::string& call) {
  std::string text = "    input a0 float32 2x8\n";
  for (int i = 0; i < 5; ++i) absl::StrAppend(&text, "    weight blocks.", i, ".weight float32 8x8\n");
  for (int i = 0; i < 5; ++i) {
    absl::StrAppend(
        &text, absl::StrReplaceAll(R"(
    node_fc_N = MatMul(aN, blocks.N.weight) -> aM float32 2x8
    @ pkg.torch.onnx.class_hierarchy ['net.Net', 'net.Block', 'aten.linear.default']
    @ pkg.torch.onnx.name_scopes ['', 'blocks.N', 'linear_N']
    @ pkg.torch.onnx.stack_trace CALL\nFile "/torch/utils/checkpoint.py", line 771, in forward\n    input = functions[j](input)\nFile "net.py", line 3, in forward\n    return F.linear(x, self.weight)
)",
                                   {{"CALL", Line(call)}, {"N", absl::StrCat(i)}, {"aM", absl::StrCat("a", i + 1)}}));
  }
  return absl::StrCat(text, "\n    output a5\n");
}

TEST(OwnCheckpoints, ASequenceIsCutIntoSegmentsOfWhichTheLastIsNone) {
  const auto found = [](const std::string& arguments) {
    return CheckpointedIn(FiveInSequence("return checkpoint_sequential(" + arguments + ", use_reentrant=False)"));
  };
  EXPECT_EQ(found("self.blocks, 2, x"), "matmul matmul");
  EXPECT_EQ(found("list(self.blocks.children()), segments=5, input=x"), "matmul, matmul, matmul, matmul");
  EXPECT_EQ(found("self.blocks, 1, x"), "");
  EXPECT_EQ(found("self.blocks, 6, x"), "");              // no function in a segment
  EXPECT_EQ(found("self.blocks, self.segments, x"), "");  // how many, the line does not say
}

}  // namespace
}  // namespace onnx_mem
