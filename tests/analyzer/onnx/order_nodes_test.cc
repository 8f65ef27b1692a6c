#include "analyzer/onnx/load/order_nodes.h"

#include "analyzer/graph/diagnostic.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// The outputs in the order in which nodes make them; "!" in front where they had to be sorted; an error's text.
std::string Order(const std::string& body) {
  onnx::ModelProto model = ModelOfText("g (bool c, float[N] x) => (float[N] y) {" + body + "}");
  const auto sorted = OrderNodes(*model.mutable_graph());
  if (!sorted.ok()) return CodeOf(DiagnosticOf(sorted.status())) + ": " + DiagnosticOf(sorted.status()).message;
  std::string text = *sorted ? "!" : "";
  for (const auto& node : model.graph().node()) text += node.output(0);
  return text;
}

TEST(OrderNodes, LeavesASortedGraphAlone) { EXPECT_EQ(Order("b = Relu(x) a = Relu(b) y = Relu(a)"), "bay"); }

TEST(OrderNodes, SortsStably) {
  EXPECT_EQ(Order("y = Add(a, d) d = Relu(b) a = Relu(x) b = Relu(a) e = Relu(x)"), "!abdye");
}

TEST(OrderNodes, BodiesReadOuterValues) {
  EXPECT_EQ(Order("y = If (c) <then_branch = t () => (float[N] r) { r = Relu(a) }, else_branch = e () => (float[N] s) "
                  "{ s = Neg(x) }>"
                  "a = Relu(x)"),
            "!ay");
}

TEST(OrderNodes, SortsWithinBodies) {
  EXPECT_EQ(Order("y = If (c) <then_branch = t () => (float[N] r) { r = Relu(a) a = Neg(x) }, else_branch = e () => "
                  "(float[N] s) { s = Neg(x) }>"),
            "!y");
}

TEST(OrderNodes, Errors) {
  EXPECT_EQ(Order("a = Relu(b) b = Relu(a) y = Relu(x)"), "bad-model: the graph has a cycle through node #0 (Relu)");
  EXPECT_EQ(Order("y = Relu(nowhere)"), "bad-model: node #0 (Relu) reads 'nowhere', which nothing makes");
  EXPECT_EQ(Order("y = Relu(x) y = Neg(x)"), "bad-model: value 'y' is made twice, the second time by node #1 (Neg)");
  EXPECT_EQ(Order("x = Relu(y) y = Neg(c)"), "bad-model: value 'x' is made twice, the second time by node #0 (Relu)");
  EXPECT_EQ(Order("z = Relu(x)"), "bad-model: graph output 'y' is made by no node");
}

}  // namespace
}  // namespace onnx_mem
