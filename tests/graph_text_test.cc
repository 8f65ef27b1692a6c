#include "tests/graph_text.h"

#include "analyzer/graph/dag.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

TEST(ParseGraphTest, BindsDimsNamesNodesAndKeepsWeightsWithoutData) {
  const Graph graph = ParseGraph(R"(
      mlp (float[N,784] x) => (float[N,10] y)
      <float[256,784] w1 = ["location": "none"], float[10,256] w2 = ["location": "none"]>
      { [fc1] h = Gemm <transB=1> (x, w1)   r = Relu(h)   y = Gemm <transB=1> (r, w2) })",
                                 {{"N", 8}});
  EXPECT_TRUE(VerifyGraph(graph).ok());
  EXPECT_EQ(DumpGraph(graph),
            "input x float32 8x784\n"
            "initializer w1 float32 256x784\n"
            "initializer w2 float32 10x256\n"
            "fc1 = Gemm(x, w1) -> h float32 8x256\n"
            "Relu(h) -> r float32 8x256\n"
            "Gemm(r, w2) -> y float32 8x10\n"
            "outputs y\n");
}

TEST(ParseGraphTest, AnOwnHeaderIsKept) {
  const auto model = ImportText(R"(<ir_version: 8, opset_import: ["" : 13]>
      g (float[2] x) => (float[2] y) { y = Relu(x) })");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->info.opsets.at(""), 13);
}

TEST(ParseGraphTest, TheAddedHeaderSelectsTheOpset) {
  const auto model = ImportText("g (float[2] x) => (float[2] y) { y = Relu(x) }", {}, 17);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->info.opsets.at(""), 17);
}

TEST(ParseGraphDeathTest, ABrokenTextSaysWhere) {
  EXPECT_DEATH(ParseGraph("g (float[2] x) => (float[2] y) { y = Relu(x }"), "Expected character");
}

}  // namespace
}  // namespace onnx_mem
