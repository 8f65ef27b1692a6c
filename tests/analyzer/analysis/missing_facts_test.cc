// What a file has not, and what its interval is then.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis/peak_bounds.h"
#include "tests/analyzer/analysis/bounded.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

Bounded BoundsOf(const std::string& text, std::string_view signature) {
  Graph graph = ParseGraph(text);
  graph.signature = ProgramSignature::Parse(signature);
  graph.nodes[NodeId(0)].metadata[std::string(kFxNode)] =  // where calls are known, so is what they do not read
      "%first : [num_users=1] = call_function[target=torch.ops.aten.first.default](args = (%x,), kwargs = {})";
  return BoundsIn(graph);
}

// All parameters were computed with and none is in the file: a softmax of constants, offsets that became one tensor.
TEST(MissingFacts, WhereNoListedParameterIsLeftNothingBoundsWhatTheyLedTo) {
  constexpr char kText[] = R"(g (float[64,32] x) => (float[64,32] y)
      <float[32] kept = ["location": "none"]>
      { h = Mul(x, kept)
        y = Tanh(h) })";
  constexpr char kNothing[] = "g (float[64,32] x) => (float[64,32] y) { h = Sin(x) y = Tanh(h) }";
  const Bounded none = BoundsOf(kNothing, "# inputs\np_c: PARAMETER target='c'\n");
  EXPECT_GE(none.all.high_bytes, 4 * none.peak_bytes - 300) << "bytes beyond whole hundreds";
  const Bounded one = BoundsOf(kText, "# inputs\np_kept: PARAMETER target='kept'\np_c: PARAMETER target='c'\n");
  EXPECT_LT(one.all.high_bytes, 2 * one.peak_bytes) << "what the others led to is in the file";
}

// 1 - self.alpha, which the exporter computed: a stored number beside alpha, of its shape. It may be trained, and the
// product with it then saves x.
TEST(MissingFacts, WhatLiesBesideAParameterOfItsShapeMayBeComputedOfIt) {
  const auto raised = [](const std::string& shape) {
    const Bounded bounded = BoundsOf(R"(g (float[64,32] x) => (float[64,32] y)
        <float[32] alpha = ["location": "none"], float)" +
                                         shape + R"( sub = ["location": "none"]>
        { a = Relu(x)
          b = Tanh(x)
          c = Mul(a, alpha)
          d = Mul(b, sub)
          y = Add(c, d) })",
                                     "# inputs\np_alpha: PARAMETER target='alpha'\n");
    return bounded.bounds.high_bytes - bounded.peak_bytes;
  };
  EXPECT_GE(raised("[32]"), 2 * 32 * 4) << "its gradient and its momentum";
  EXPECT_LT(raised("[1,32]"), raised("[32]")) << "another shape";
}

// x.reshape(B, H, W, -1).permute(0, 3, 1, 2), which einops leaves a view: batch norm copies its gradient into that
// layout, which a copy of the map spares it. So it does with that of a Tanh; that of a ReLU has it already.
TEST(MissingFacts, ACopyThatWasNotMadeMayCostABatchNormOne) {
  const Bounded bounded = BoundsOf(R"(g (float[4,1024,32] x) => (float[4,32,32,32] y)
      <float[32,32] w = ["location": "none"], float[32] scale = ["location": "none"],
       float[32] bias = ["location": "none"], float[32] mean = ["location": "none"], float[32] var = ["location": "none"],
       int64[4] shape = {4, 32, 32, 32}>
      { h = MatMul(x, w)
        m = Reshape(h, shape)
        t = Transpose <perm = [0, 3, 1, 2]> (m)
        n, rm, rv = BatchNormalization <training_mode = 1> (t, scale, bias, mean, var)
        y = Tanh(n) })",
                                   "");
  EXPECT_GE(bounded.bounds.high_bytes, bounded.peak_bytes + 4 * 1024 * 32 * 4);
}

// What alternatives take off in bytes may be more than there is.
TEST(MissingFacts, NoPeakIsBelowNothing) {
  Graph graph = ParseGraph(R"(g (float[64,32] x) => (float[64,32] y) { y = Tanh(x) })");
  const Workload workload;
  absl::StatusOr<Lowered> lowered = Prepare(graph, workload.run);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  lowered->computed_bytes = int64_t{1} << 30;
  std::vector<Diagnostic> diagnostics;
  const absl::StatusOr<PeakBounds> bounds = BoundRun(
      *lowered, workload, {10'000, true}, [&](const onnx_mem::Run& run) { return Prepare(graph, run); }, diagnostics);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  EXPECT_EQ(bounds->low_bytes, 0);
}

}  // namespace
}  // namespace onnx_mem
