#include "analyzer/lower/adapters/lora.h"

#include <string>

#include "analyzer/analysis/enact.h"
#include "analyzer/graph/dag.h"
#include "gtest/gtest.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

Graph TwoLayers() {
  return ParseGraph(R"(mlp (float[N,8] x) => (float[N,2] y)
                       <float[16,8] a_weight = ["location": "none"], float[16] a_bias = ["location": "none"],
                        float[2,16] b_weight = ["location": "none"]>
                       { [a] h = Gemm <transB=1> (x, a_weight, a_bias)   r = Relu(h)
                         [b] y = Gemm <transB=1> (r, b_weight) })",
                    {{"N", 4}});
}

Lowered WithLora(const Graph& graph, const Lora& lora, onnx_mem::Run run = {}) {
  run.lora = {lora};
  absl::StatusOr<Lowered> lowered = Prepare(graph, run);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return lowered.ok() ? *std::move(lowered) : Lowered();
}

TEST(Lora, StandsBesideTheLayersThatMatchAndAloneIsTrained) {
  const Lowered lowered = WithLora(TwoLayers(), {.rank = 3, .dropout = 0.1, .weights = "^a"});
  EXPECT_EQ(DumpGraph(lowered.graph),
            "input x float32 4x8\n"
            "initializer a_weight float32 16x8\n"
            "initializer a_bias float32 16\n"
            "initializer b_weight float32 2x16\n"
            "initializer a_weight.lora_A.default.weight float32 3x8\n"
            "initializer a_weight.lora_B.default.weight float32 16x3\n"
            "a = linear(x, a_weight, a_bias) -> a_weight without adapter float32 4x16\n"
            "a.lora.1 = dropout(x) -> a.lora.1 float32 4x8\n"
            "a.lora.2 = linear(a.lora.1, a_weight.lora_A.default.weight) -> a.lora.2 float32 4x3\n"
            "a.lora.3 = linear(a.lora.2, a_weight.lora_B.default.weight) -> a.lora.3 float32 4x16\n"
            "a.lora.4 = mul_scalar(a.lora.3) -> a.lora.4 float32 4x16\n"
            "a.lora.5 = add(a_weight without adapter, a.lora.4) -> h float32 4x16\n"
            "relu(h) -> r float32 4x16\n"
            "b = linear(r, b_weight) -> y float32 4x2\n"
            "outputs y\n");
  EXPECT_TRUE(VerifyGraph(lowered.graph).ok()) << VerifyGraph(lowered.graph);
  EXPECT_EQ(lowered.frozen.size(), 3u);
}

// What is passed to a call is freed when it returns, the layer's own result when the sum has its name.
TEST(Lora, ReleasesWhatNoNameHolds) {
  const Lowered lowered = WithLora(TwoLayers(), {.rank = 3, .dropout = 0.1, .weights = "^a"});
  const auto released = [&](const std::string& name) {
    for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
      if (lowered.graph.tensors[id].name == name) return lowered.releases[id];
    }
    return -2;
  };
  EXPECT_EQ(released("a.lora.1"), 2);
  EXPECT_EQ(released("a.lora.2"), 3);
  EXPECT_EQ(released("a.lora.3"), 4);
  EXPECT_EQ(released("a.lora.4"), 5);
  EXPECT_EQ(released("a_weight without adapter"), 5);
}

// Adapters of a model in half precision are in float32: x is cast for them, and the sum back.
TEST(Lora, IsInFloat32BesideHalfPrecision) {
  onnx_mem::Run run;
  run.dtype = DType::kBFloat16;
  const Lowered lowered = WithLora(TwoLayers(), {.rank = 3, .weights = "^a"}, run);
  const std::string dump = DumpGraph(lowered.graph);
  EXPECT_NE(dump.find("initializer a_weight.lora_A.default.weight float32 3x8\n"), std::string::npos) << dump;
  EXPECT_NE(dump.find("cast(x) -> a.lora.1 float32 4x8\n"), std::string::npos) << dump;
  EXPECT_NE(dump.find("-> h bfloat16 4x16\n"), std::string::npos) << dump;
}

TEST(Lora, OfAConvolutionKeepsItsKernelInTheFirstAdapter) {
  const Graph graph = ParseGraph(R"(cnn (float[N,4,6,6] x) => (float[N,8,4,4] y)
                                    <float[8,4,3,3] c_weight = ["location": "none"]>
                                    { [c] y = Conv (x, c_weight) })",
                                 {{"N", 2}});
  const std::string dump = DumpGraph(WithLora(graph, {.rank = 2, .weights = "c"}).graph);
  EXPECT_NE(dump.find("initializer c_weight.lora_A.default.weight float32 2x4x3x3\n"), std::string::npos) << dump;
  EXPECT_NE(dump.find("initializer c_weight.lora_B.default.weight float32 8x2x1x1\n"), std::string::npos) << dump;
  EXPECT_NE(dump.find("c.lora.1 = conv(x, c_weight.lora_A.default.weight) -> c.lora.1 float32 2x2x4x4\n"),
            std::string::npos)
      << dump;
}

TEST(Lora, RefusesAPatternThatMatchesNoLayer) {
  onnx_mem::Run run;
  run.lora = {{.rank = 3, .weights = "q_proj"}};
  const absl::StatusOr<Lowered> lowered = Prepare(TwoLayers(), run);
  ASSERT_FALSE(lowered.ok());
  EXPECT_NE(std::string(lowered.status().message()).find("--lora 'q_proj' matches the weight of no linear layer"),
            std::string::npos)
      << lowered.status();
}

TEST(Lora, NamesOfStrangersAreMatchedInTimeThatTheirLengthTakes) {
  const std::string name(60'000, 'a');
  const Graph graph = ParseGraph("g (float[4,8] x) => (y) <float[16,8] " + name +
                                 " = [\"location\": \"none\"]> { y = Gemm <transB=1> (x, " + name + ") }");
  EXPECT_EQ(WithLora(graph, {.rank = 3, .weights = "(a|b)*"}).frozen.size(), 1u);
  onnx_mem::Run run;
  run.lora = {{.rank = 3, .weights = "(a*)*x"}};
  EXPECT_EQ(CodeOf(DiagnosticOf(Prepare(graph, run).status())), "no-match");
  run.lora = {{.rank = 3, .weights = "(a"}};
  EXPECT_EQ(DiagnosticOf(Prepare(graph, run).status()).message, "--lora: '(a' is not a regular expression");
}

}  // namespace
}  // namespace onnx_mem
