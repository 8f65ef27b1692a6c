#include "analyzer/runtimes/session_graph.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// "y = MatMul(x, wt)" per node that is left, by its first result.
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
      { wt = Transpose <perm=[1,0]> (w)  a = Identity(x)  b = Dropout(a)  y = MatMul(b, wt) })"),
                                   true);
  EXPECT_EQ(NodesOf(graph), (Lines{"y = MatMul(x, wt)"}));
  int stored = 0;
  for (const Tensor& tensor : graph.tensors) stored += tensor.role == TensorRole::kInitializer ? 1 : 0;
  EXPECT_EQ(stored, 1);  // wt in place of w
}

// Nodes that the optimizer makes are numbered behind those of the file.
TEST(SessionGraph, ScalesGoIntoTheProduct) {
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[2,8,4] q, float[2,4,8] k) => (float[2,8,8] y)
      { s = Constant <value_float=0.5> ()  a = Mul(q, s)  p = MatMul(a, k)  m = Div(p, s)  y = Softmax(m) })"),
                                   true);
  EXPECT_EQ(NodesOf(graph), (Lines{"y = Softmax(m)", "m = MatMul(q, k)"}));
}

TEST(SessionGraph, AGeluIsOneNodeWithItsBias) {
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[8,4] x) => (float[8,4] y)
      <float[4,4] w = ["location": "none"], float[4] bias = ["location": "none"]>
      { root = Constant <value_float=1.41421> ()  one = Constant <value_float=1.0> ()
        half = Constant <value_float=0.5> ()
        h = MatMul(x, w)  z = Add(h, bias)  a = Div(z, root)  b = Erf(a)  c = Add(b, one)  d = Mul(z, c)
        e = Mul(d, half)  y = Relu(e) })"),
                                   true);
  EXPECT_EQ(NodesOf(graph), (Lines{"h = MatMul(x, w)", "y = Relu(e)", "e = BiasGelu(h)"}));
}

TEST(SessionGraph, ASigmoidGateIsOneNode) {
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[8,4] x, float[8,4] z) => (float[8,4] y)
      { c = Constant <value_float=1.702> ()
        a = Mul(x, c)  b = Sigmoid(a)  d = Mul(x, b)  e = Sigmoid(d)  f = Mul(e, d)  g = Sigmoid(f)  y = Mul(g, z) })"),
                                   true);
  // The last one gates another tensor: it stays as it is.
  EXPECT_EQ(NodesOf(graph), (Lines{"g = Sigmoid(f)", "y = Mul(g, z)", "d = QuickGelu(x)", "f = QuickGelu(d)"}));
}

TEST(SessionGraph, AGemmTakesItsActivationOnTheCpu) {
  const char* text = R"(g (float[8,4] x) => (float[8,6] y)
      <float[4,6] w = ["location": "none"]> { h = Gemm(x, w)  a = Tanh(h)  y = Relu(a) })";
  EXPECT_EQ(NodesOf(SessionGraph(ParseGraph(text), true)), (Lines{"y = Relu(a)", "a = Gemm(x, w)"}));
  EXPECT_EQ(NodesOf(SessionGraph(ParseGraph(text), false)), (Lines{"h = Gemm(x, w)", "a = Tanh(h)", "y = Relu(a)"}));
}

TEST(SessionGraph, GathersOfAllSlicesAreOneSplit) {
  const char* text = R"(g (float[3,8,4] x) => (float[8,4] y)
      { i = Constant <value_int=0> ()  j = Constant <value_int=1> ()  k = Constant <value_int=2> ()
        r = Relu(x)  q = Gather(r, i)  v = Gather(r, k)  w = Gather(r, j)  p = Mul(q, w)  y = Mul(p, v) })";
  EXPECT_EQ(NodesOf(SessionGraph(ParseGraph(text), false)),
            (Lines{"r = Relu(x)", "q split = Split(r)", "q = Squeeze(q split)", "v = Squeeze(v split)",
                   "w = Squeeze(w split)", "p = Mul(q, w)", "y = Mul(p, v)"}));
}

// Convolutions compute in blocks of 16 channels; the sum is merged into the one that made an operand.
TEST(SessionGraph, AConvolutionAddsToTheShortcut) {
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[1,3,8,8] x) => (float[1,16,8,8] y)
      <float[16,3,1,1] v = ["location": "none"], float[16,16,1,1] w = ["location": "none"]>
      { a = Conv(x, v)  r = Relu(a)  c = Conv(r, w)  s = Add(c, r)  y = Relu(s) })"),
                                   true);
  EXPECT_EQ(NodesOf(graph), (Lines{"a in blocks = Conv(x, v)", "r in blocks = Relu(a in blocks)",
                                   "c in blocks = Conv(r in blocks, w, -, r in blocks)",
                                   "y in blocks = Relu(c in blocks)", "y = ReorderOutput(y in blocks)"}));
}

TEST(SessionGraph, TensorsAreCopiedBetweenLayoutsOnceForAllReaders) {
  // Elu knows no blocks: a is copied back once for both, e into blocks once for both convolutions.
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[1,3,8,8] x) => (float[1,20,8,8] y)
      <float[20,3,1,1] v = ["location": "none"], float[20,20,1,1] w = ["location": "none"]>
      { a = Conv(x, v)  e = Elu(a)  f = Elu(a)  b = Conv(e, w)  c = Conv(e, w)  d = Mul(b, c)
        y = Add(d, f) })"),
                                   true);
  EXPECT_EQ(NodesOf(graph), (Lines{"e = Elu(a)", "f = Elu(a)", "y = Add(d, f)", "a in blocks = Conv(x, v)",
                                   "e reordered = ReorderInput(e)", "c in blocks = Conv(e reordered, w)",
                                   "b in blocks = Conv(e reordered, w)", "d in blocks = Mul(b in blocks, c in blocks)",
                                   "a = ReorderOutput(a in blocks)", "d = ReorderOutput(d in blocks)"}));
  int padded = 0;
  for (const Tensor& tensor : graph.tensors) padded += tensor.shape.dims == Dims{1, 32, 8, 8} ? 1 : 0;
  EXPECT_EQ(padded, 5);
}

TEST(SessionGraph, PoolingsOfOddChannelsAndConcatenationsOfPartsOfBlocksStayPlain) {
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[1,3,8,8] x) => (float[1,52,8,8] y)
      <float[20,3,1,1] v = ["location": "none"], float[16,3,1,1] w = ["location": "none"]>
      { a = Conv(x, v)  b = Conv(x, w)
        p = MaxPool <kernel_shape=[1,1]> (a)  q = MaxPool <kernel_shape=[1,1]> (b)
        c = Concat <axis=1> (q, b)  y = Concat <axis=1> (c, p) })"),
                                   true);
  EXPECT_EQ(NodesOf(graph),
            (Lines{"p = MaxPool(a)", "y = Concat(c, p)", "b in blocks = Conv(x, w)",
                   "q in blocks = MaxPool(b in blocks)", "c in blocks = Concat(q in blocks, b in blocks)",
                   "a in blocks = Conv(x, v)", "a = ReorderOutput(a in blocks)", "c = ReorderOutput(c in blocks)"}));
}

// On a card the layout stays.
TEST(SessionGraph, AConvolutionOnACardAddsToTheShortcut) {
  const Graph graph = SessionGraph(ParseGraph(R"(g (float[1,16,8,8] x) => (float[1,16,8,8] y)
      <float[16,16,1,1] w = ["location": "none"]>
      { r = Relu(x)  c = Conv(r, w)  s = Add(c, r)  y = Relu(s) })"),
                                   false);
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
