#include "analyzer/lower/facts/session_graph.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// "y = MatMul(x, wt)" per node that is left.
std::vector<std::string> NodesOf(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Node& node : graph.nodes) {
    if (node.op == "Constant") continue;
    std::string line = graph.tensors[node.outputs.front()].name + " = " + node.op.str() + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      line += (i == 0 ? "" : ", ") + (node.inputs[i].valid() ? graph.tensors[node.inputs[i]].name : std::string("-"));
    }
    lines.push_back(line + ")");
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(SessionGraph, FoldsWeightsAndDropsIdentities) {
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[8,4] x) => (float[8,6] y)
      <float[6,4] w = ["location": "none"]>
      { wt = Transpose <perm=[1,0]> (w)  a = Identity(x)  b = Dropout(a)  y = MatMul(b, wt) })"), true);
  EXPECT_EQ(NodesOf(graph), (Lines{"y = MatMul(x, wt)"}));
  int stored = 0;
  for (const Tensor& tensor : graph.tensors) stored += tensor.role == TensorRole::kInitializer ? 1 : 0;
  EXPECT_EQ(stored, 1);  // wt in place of w
}

TEST(SessionGraph, ScalesGoIntoTheProduct) {
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[2,8,4] q, float[2,4,8] k) => (float[2,8,8] y)
      { s = Constant <value_float=0.5> ()  a = Mul(q, s)  p = MatMul(a, k)  m = Div(p, s)  y = Softmax(m) })"), true);
  EXPECT_EQ(NodesOf(graph), (Lines{"m = MatMul(q, k)", "y = Softmax(m)"}));
}

TEST(SessionGraph, AGeluIsOneNodeWithItsBias) {
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[8,4] x) => (float[8,4] y)
      <float[4,4] w = ["location": "none"], float[4] bias = ["location": "none"]>
      { root = Constant <value_float=1.41421> ()  one = Constant <value_float=1.0> ()
        half = Constant <value_float=0.5> ()
        h = MatMul(x, w)  z = Add(h, bias)  a = Div(z, root)  b = Erf(a)  c = Add(b, one)  d = Mul(z, c)
        e = Mul(d, half)  y = Relu(e) })"), true);
  EXPECT_EQ(NodesOf(graph), (Lines{"h = MatMul(x, w)", "e = Gelu(h)", "y = Relu(e)"}));
}

TEST(SessionGraph, AConvolutionAddsToTheShortcut) {
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[1,16,8,8] x) => (float[1,16,8,8] y)
      <float[16,16,1,1] w = ["location": "none"]>
      { r = Relu(x)  c = Conv(r, w)  s = Add(c, r)  y = Relu(s) })"), true);
  EXPECT_EQ(NodesOf(graph), (Lines{"r = Relu(x)", "s = Conv(r, w, -, r)", "y = Relu(s)"}));
}

TEST(SessionGraph, HalfPrecisionIsSingleOnTheCpuAlone) {
  const Graph graph = ParseGraph("g (float16[8,4] x) => (float16[8,4] y) { a = Relu(x) y = Relu(a) }");
  for (bool on_cpu : {false, true}) {
    for (const Tensor& tensor : SessionGraph(graph, on_cpu).tensors) {
      const bool widened = on_cpu && tensor.name != "x";  // x is the caller's
      EXPECT_EQ(tensor.dtype, widened ? DType::kFloat32 : DType::kFloat16) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace onnx_mem
