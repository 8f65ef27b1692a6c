// The plan of tensor parallelism that a graph suggests, and what one rank of it has.
#include "analyzer/lower/adapters/tensor_parallel.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/lower/adapters/split_modules.h"
#include "analyzer/run/layout.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

Lowered LowerOf(const std::string& text) {
  absl::StatusOr<Lowered> lowered = Lower(ParseGraph(text), {});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  // Python's names are of no interest here: everything is held.
  const auto nodes = static_cast<int32_t>(lowered->graph.nodes.size());
  while (lowered->releases.size() < lowered->graph.tensors.size()) lowered->releases.Add(nodes);
  return *std::move(lowered);
}

TensorLayout Over(int64_t ranks, bool sequence = false) {
  TensorLayout layout;
  layout.ranks = ranks;
  layout.sequence = sequence;
  return layout;
}

std::string ShapeOf(const Lowered& lowered, const std::string& name) {
  for (const Tensor& tensor : lowered.graph.tensors) {
    if (tensor.name == name) return ToString(tensor.shape);
  }
  return "no tensor " + name;
}

int64_t NodesOf(const Lowered& lowered, std::string_view op) {
  int64_t count = 0;
  for (const FrameworkNode& node : lowered.graph.nodes) count += node.op == op ? 1 : 0;
  return count;
}

// 4 heads of 4, whose query, key and value `cut` takes out of one layer's output y, [2, 8, 48].
std::string OneLayerForAll(std::string_view cut) {
  return absl::StrCat(R"(
    input x float32 2x8x16
    weight attn.qkv.weight float32 48x16
    weight attn.out.weight float32 16x16
    /attn/qkv/Transpose = Transpose(attn.qkv.weight) -> w1 float32 16x48 {perm: [1 0]}
    /attn/qkv/MatMul = MatMul(x, w1) -> y float32 2x8x48
)",
                      std::string(cut), R"(
    /attn/Mul = Mul(q, k) -> s float32 2x8x4x4
    /attn/Mul_1 = Mul(s, v) -> t float32 2x8x4x4
    const flat int64 3 = 2 8 16
    /attn/Reshape_9 = Reshape(t, flat) -> u float32 2x8x16
    /attn/out/Transpose = Transpose(attn.out.weight) -> w2 float32 16x16 {perm: [1 0]}
    /attn/out/MatMul = MatMul(u, w2) -> z float32 2x8x16
    output z
)");
}

constexpr std::string_view kSplitIntoThree = R"(
    const sizes int64 3 = 16 16 16
    /attn/Split = Split(y, sizes) -> a float32 2x8x16, b float32 2x8x16, c float32 2x8x16 {axis: -1}
    const heads int64 4 = 2 8 4 4
    /attn/Reshape = Reshape(a, heads) -> q float32 2x8x4x4
    /attn/Reshape_1 = Reshape(b, heads) -> k float32 2x8x4x4
    /attn/Reshape_2 = Reshape(c, heads) -> v float32 2x8x4x4
)";

constexpr std::string_view kThreeInFront = R"(
    const heads int64 5 = 2 8 3 4 4
    const i0 int64 scalar = 0
    const i1 int64 scalar = 1
    const i2 int64 scalar = 2
    /attn/Reshape = Reshape(y, heads) -> r float32 2x8x3x4x4
    /attn/Gather = Gather(r, i0) -> q float32 2x8x4x4 {axis: 2}
    /attn/Gather_1 = Gather(r, i1) -> k float32 2x8x4x4 {axis: 2}
    /attn/Gather_2 = Gather(r, i2) -> v float32 2x8x4x4 {axis: 2}
)";

constexpr std::string_view kHeadsInFront = R"(
    const heads int64 5 = 2 8 4 3 4
    const i0 int64 scalar = 0
    const i1 int64 scalar = 1
    const i2 int64 scalar = 2
    /attn/Reshape = Reshape(y, heads) -> r float32 2x8x4x3x4
    /attn/Gather = Gather(r, i0) -> q float32 2x8x4x4 {axis: 3}
    /attn/Gather_1 = Gather(r, i1) -> k float32 2x8x4x4 {axis: 3}
    /attn/Gather_2 = Gather(r, i2) -> v float32 2x8x4x4 {axis: 3}
)";

// Each rank has its heads of all three.
TEST(TensorParallel, ALayerForQueryKeyAndValueIsSplitByHeads) {
  for (const std::string_view cut : {kSplitIntoThree, kThreeInFront}) {
    Lowered lowered = LowerOf(OneLayerForAll(cut));
    const size_t notes = lowered.diagnostics.size();
    const absl::Status status = SplitTensors(lowered, Over(2));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(ShapeOf(lowered, "attn.qkv.weight"), "24x16");
    EXPECT_EQ(ShapeOf(lowered, "q"), "2x8x2x4");
    EXPECT_EQ(ShapeOf(lowered, "attn.out.weight"), "16x8");
    EXPECT_EQ(ShapeOf(lowered, "z"), "2x8x16");
    EXPECT_EQ(NodesOf(lowered, "all_reduce"), 1);
    ASSERT_EQ(lowered.diagnostics.size(), notes + 1);  // what torch's own plan does not do
    EXPECT_TRUE(Has(lowered.diagnostics.back().message, "'attn.qkv'"));
  }
}

// "attn.qkv torch, attn.out other".
std::string SplitBy(const std::string& text) {
  const absl::StatusOr<std::vector<SplitModule>> modules = SplitModulesOf(LowerOf(text), Over(2));
  EXPECT_TRUE(modules.ok()) << modules.status();
  std::string found;
  for (const SplitModule& module : *modules) {
    absl::StrAppend(&found, found.empty() ? "" : ", ", module.path, module.in_torch ? " torch" : " other");
  }
  return found;
}

// What parallelize_module splits the same way.
TEST(SplitModulesOf, TorchSplitsALinearWithOneProjection) {
  EXPECT_EQ(SplitBy(OneLayerForAll(kSplitIntoThree)), "attn.qkv other, attn.out torch");
  EXPECT_EQ(SplitBy(OneLayerForAll(kHeadsInFront)), "attn.qkv torch, attn.out torch");
  // A Conv1D stores its weight the other way round.
  std::string stored = OneLayerForAll(kHeadsInFront);
  stored.replace(stored.find("attn.qkv.weight float32 48x16"), 29, "attn.qkv.weight float32 16x48");
  const size_t line = stored.find("/attn/qkv/Transpose =");
  stored.erase(line, stored.find('\n', line) - line);
  for (size_t at = stored.find(" w1"); at != std::string::npos; at = stored.find(" w1", at + 1)) {
    stored.replace(at, 3, " attn.qkv.weight");
  }
  EXPECT_EQ(SplitBy(stored), "attn.qkv other, attn.out torch");
}

// A shard of the rows as they lie is a shard of the heads: nothing more is to be done.
TEST(TensorParallel, HeadsThatLieSideBySideNeedNoNote) {
  Lowered lowered = LowerOf(OneLayerForAll(kHeadsInFront));
  const size_t notes = lowered.diagnostics.size();
  const absl::Status status = SplitTensors(lowered, Over(2));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ShapeOf(lowered, "q"), "2x8x2x4");
  EXPECT_EQ(lowered.diagnostics.size(), notes);
}

// Two heads of 8; what is added to the scores of head h is column h of a table.
TEST(TensorParallel, ATableOfWhatScoresAddIsSplitByHeads) {
  Lowered lowered = LowerOf(R"(
    input x float32 2x8x16
    weight attn.q.weight float32 16x16
    weight attn.v.weight float32 16x16
    weight attn.o.weight float32 16x16
    weight attn.bias.weight float32 32x2
    weight places int64 8x8
    const heads int64 4 = 2 8 2 8
    const flat int64 3 = 2 8 16
    const front int64 1 = 0
    /attn/q/MatMul = MatMul(x, attn.q.weight) -> q0 float32 2x8x16
    /attn/Reshape = Reshape(q0, heads) -> q1 float32 2x8x2x8
    /attn/Transpose = Transpose(q1) -> q float32 2x2x8x8 {perm: [0 2 1 3]}
    /attn/v/MatMul = MatMul(x, attn.v.weight) -> v0 float32 2x8x16
    /attn/Reshape_1 = Reshape(v0, heads) -> v1 float32 2x8x2x8
    /attn/Transpose_1 = Transpose(v1) -> v float32 2x2x8x8 {perm: [0 2 1 3]}
    /attn/bias/Gather = Gather(attn.bias.weight, places) -> b0 float32 8x8x2
    /attn/Transpose_2 = Transpose(b0) -> b1 float32 2x8x8 {perm: [2 0 1]}
    /attn/Unsqueeze = Unsqueeze(b1, front) -> b float32 1x2x8x8
    /attn/MatMul = MatMul(q, v) -> s float32 2x2x8x8
    /attn/Add = Add(s, b) -> t float32 2x2x8x8
    /attn/Softmax = Softmax(t) -> p float32 2x2x8x8 {axis: -1}
    /attn/MatMul_1 = MatMul(p, v) -> c0 float32 2x2x8x8
    /attn/Transpose_3 = Transpose(c0) -> c1 float32 2x8x2x8 {perm: [0 2 1 3]}
    /attn/Reshape_2 = Reshape(c1, flat) -> c float32 2x8x16
    /attn/o/MatMul = MatMul(c, attn.o.weight) -> z float32 2x8x16
    output z
)");
  const absl::Status status = SplitTensors(lowered, Over(2));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ShapeOf(lowered, "attn.bias.weight"), "32x1");
  EXPECT_EQ(ShapeOf(lowered, "b"), "1x1x8x8");
  EXPECT_EQ(ShapeOf(lowered, "attn.q.weight"), "16x8");
  EXPECT_EQ(ShapeOf(lowered, "attn.o.weight"), "8x16");
  EXPECT_EQ(ShapeOf(lowered, "p"), "2x1x8x8");
  EXPECT_EQ(ShapeOf(lowered, "z"), "2x8x16");
}

TEST(TensorParallel, HeadsThatRanksDoNotShareEvenlyAreRefused) {
  Lowered lowered = LowerOf(OneLayerForAll(kThreeInFront));
  EXPECT_FALSE(SplitTensors(lowered, Over(3)).ok());
}

// A plan that is given splits as ColwiseParallel does, across query, key and value.
TEST(TensorParallel, AGivenPlanSplitsALayerAsItLies) {
  Lowered lowered = LowerOf(OneLayerForAll(kSplitIntoThree));
  TensorLayout layout = Over(2);
  layout.plan = {{"attn\\.qkv", TensorStyle::kColwise}, {"attn\\.out", TensorStyle::kRowwise}};
  const absl::Status status = SplitTensors(lowered, layout);
  EXPECT_TRUE(Has(std::string(status.message()), "'split'")) << status;
}

// What two layers of a module read is gathered once, around it; what a row-wise layer gives is a shard of the sequence.
TEST(TensorParallel, TheSequenceIsGatheredAroundAModule) {
  const auto layers = [](std::string_view x, int first) {
    return absl::StrCat("    /m", first, "/a/MatMul = MatMul(", std::string(x), ", wa) -> a", first,
                        " float32 2x8x32\n", "    /m", first, "/b/MatMul = MatMul(", std::string(x), ", wb) -> b",
                        first, " float32 2x8x32\n", "    /m", first, "/Mul = Mul(a", first, ", b", first, ") -> c",
                        first, " float32 2x8x32\n", "    /m", first, "/o/MatMul = MatMul(c", first, ", wo) -> d", first,
                        " float32 2x8x16\n");
  };
  Lowered lowered = LowerOf(absl::StrCat(R"(
    input x float32 2x8x16
    weight wa float32 16x32
    weight wb float32 16x32
    weight wo float32 32x16
)",
                                         layers("x", 1), "    /n/Relu = Relu(d1) -> r float32 2x8x16\n", layers("r", 2),
                                         "    output d2\n"));
  const absl::Status status = SplitTensors(lowered, Over(2, /*sequence=*/true));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(NodesOf(lowered, "all_gather"), 1);
  EXPECT_EQ(NodesOf(lowered, "reduce_scatter"), 2);
  EXPECT_EQ(ShapeOf(lowered, "r"), "2x4x16");
  EXPECT_EQ(ShapeOf(lowered, "a2"), "2x8x16");
}

}  // namespace
}  // namespace onnx_mem
