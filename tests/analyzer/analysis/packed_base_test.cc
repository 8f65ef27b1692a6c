#include "analyzer/lower/adapters/packed_base.h"

#include <string>

#include "analyzer/analysis/enact.h"
#include "analyzer/graph/dag.h"
#include "gtest/gtest.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

Graph ThreeLayers() {
  return ParseGraph(R"(mlp (float[N,8] x) => (float[N,2] y)
                       <float[16,8] a_weight = ["location": "none"], float[16] a_bias = ["location": "none"],
                        float[16,16] b_weight = ["location": "none"], float[2,16] c_weight = ["location": "none"]>
                       { [a] h = Gemm <transB=1> (x, a_weight, a_bias)   r = Relu(h)
                         [b] i = Gemm <transB=1> (r, b_weight)           s = Relu(i)
                         [c] y = Gemm <transB=1> (s, c_weight) })",
                    {{"N", 4}});
}

absl::StatusOr<Lowered> Packed(BaseBits bits, const std::string& version = "") {
  onnx_mem::Run run;
  run.bitsandbytes = version;
  run.lora = {{.rank = 3, .weights = "^a"}};
  run.base_bits = bits;
  return Prepare(ThreeLayers(), run);
}

// The layer that gives the model's output stays as it is, and so do the adapters.
TEST(PackedBase, StoresFrozenLayersInFourBitsBesideTheirScales) {
  const absl::StatusOr<Lowered> lowered = Packed(BaseBits::kFour);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(DumpGraph(lowered->graph),
            "input x float32 4x8\n"
            "initializer a_weight int4 16x8\n"
            "initializer a_bias float32 16\n"
            "initializer b_weight int4 16x16\n"
            "initializer c_weight float32 2x16\n"
            "initializer a_weight.absmax float32 2\n"
            "initializer a_weight.quant_map float32 16\n"
            "initializer b_weight.absmax float32 4\n"
            "initializer b_weight.quant_map float32 16\n"
            "initializer a_weight.lora_A.default.weight float32 3x8\n"
            "initializer a_weight.lora_B.default.weight float32 16x3\n"
            "a = packed_linear(x, a_weight, a_bias) -> a_weight without adapter float32 4x16\n"
            "a.lora.1 = clone(a_weight without adapter) -> a.lora.1 float32 4x16\n"
            "a.lora.2 = linear(x, a_weight.lora_A.default.weight) -> a.lora.2 float32 4x3\n"
            "a.lora.3 = linear(a.lora.2, a_weight.lora_B.default.weight) -> a.lora.3 float32 4x16\n"
            "a.lora.4 = mul_scalar(a.lora.3) -> a.lora.4 float32 4x16\n"
            "a.lora.5 = add(a.lora.1, a.lora.4) -> h float32 4x16\n"
            "relu(h) -> r float32 4x16\n"
            "b = packed_linear(r, b_weight) -> i float32 4x16\n"
            "relu(i) -> s float32 4x16\n"
            "c = linear(s, c_weight) -> y float32 4x2\n"
            "outputs y\n");
  EXPECT_TRUE(VerifyGraph(lowered->graph).ok()) << VerifyGraph(lowered->graph);
}

TEST(PackedBase, UnpacksForEveryProductBeforeVersion050) {
  for (const auto& [version, unpacks] : std::vector<std::pair<std::string, bool>>{
           {"", false}, {"0.41.1", true}, {"0.49.2", true}, {"0.5", true}, {"0.50.0", false}, {"1.0", false}}) {
    const absl::StatusOr<Lowered> lowered = Packed(BaseBits::kFour, version);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    int found = 0;
    for (const FrameworkNode& node : lowered->graph.nodes) {
      if (node.op == "packed_linear") found += IntAttribute(node, "unpacks", 0) != 0 ? 1 : 0;
    }
    EXPECT_EQ(found, unpacks ? 2 : 0) << version;
  }
}

TEST(PackedBase, HasAScaleForEachRowInEightBits) {
  const absl::StatusOr<Lowered> lowered = Packed(BaseBits::kEight);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string dump = DumpGraph(lowered->graph);
  EXPECT_NE(dump.find("initializer a_weight int8 16x8\n"), std::string::npos) << dump;
  EXPECT_NE(dump.find("initializer a_weight.SCB float32 16\n"), std::string::npos) << dump;
}

// Scales of 256 blocks share one of their own.
TEST(PackedBase, PacksTheScalesToo) {
  const absl::StatusOr<Lowered> lowered = Packed(BaseBits::kFourDouble);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string dump = DumpGraph(lowered->graph);
  EXPECT_NE(dump.find("initializer b_weight.absmax uint8 4\n"
                      "initializer b_weight.quant_map float32 16\n"
                      "initializer b_weight.nested_absmax float32 1\n"
                      "initializer b_weight.nested_quant_map float32 256\n"
                      "initializer b_weight.nested_offset float32 scalar\n"),
            std::string::npos)
      << dump;
}

// A layer whose weight something else reads is left as it is: a tied embedding.
TEST(PackedBase, LeavesWeightsThatAnythingElseReads) {
  const Graph graph = ParseGraph(R"(tied (float[N,8] x, int64[N] i) => (float[N,8] y)
                                    <float[8,8] a_weight = ["location": "none"],
                                     float[8,8] b_weight = ["location": "none"]>
                                    { e = Gather(a_weight, i)   h = Gemm <transB=1> (x, a_weight)   s = Add(h, e)
                                      t = Gemm <transB=1> (s, b_weight)   y = Relu(t) })",
                                 {{"N", 4}});
  onnx_mem::Run run;
  run.lora = {{.rank = 3, .weights = "^b"}};
  run.base_bits = BaseBits::kFour;
  const absl::StatusOr<Lowered> lowered = Prepare(graph, run);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string dump = DumpGraph(lowered->graph);
  EXPECT_NE(dump.find("initializer a_weight float32 8x8\ninitializer b_weight int4 8x8\n"), std::string::npos) << dump;
}

// What a card holds of a packed layer: nothing of x in four bits, x itself in eight.
TEST(PackedBase, KeepsTheInputInEightBitsAlone) {
  const auto peak = [](BaseBits bits) {
    onnx_mem::Run run;
    run.training = true;
    run.lora = {{.rank = 1, .weights = "^a"}};
    run.base_bits = bits;
    const Graph graph = ParseGraph(R"(mlp (float[N,64] x) => (float[N,64] y)
                                      <float[64,64] a_weight = ["location": "none"],
                                       float[64,64] b_weight = ["location": "none"]>
                                      { [a] h = Gemm <transB=1> (x, a_weight)   r = Exp(h)   q = Mul(r, h)
                                        [b] i = Gemm <transB=1> (q, b_weight)   y = Exp(i) })",
                                   {{"N", 256}});
    const absl::StatusOr<Enacted> enacted = Enact(graph, run);
    EXPECT_TRUE(enacted.ok()) << enacted.status();
    return enacted.ok() ? enacted->end_of_forward_bytes : 0;
  };
  EXPECT_GT(peak(BaseBits::kEight), peak(BaseBits::kFour) + 256 * 64 * 4);
}

TEST(PackedBase, SaysWhereNothingIsFrozen) {
  onnx_mem::Run run;
  run.base_bits = BaseBits::kFour;
  const absl::StatusOr<Lowered> lowered = Prepare(ThreeLayers(), run);
  ASSERT_FALSE(lowered.ok());
  EXPECT_NE(lowered.status().message().find("--base-bits"), std::string::npos) << lowered.status();
}

}  // namespace
}  // namespace onnx_mem
