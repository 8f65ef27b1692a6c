#include "analyzer/onnx/load/functions.h"

#include "analyzer/graph/diagnostic.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

constexpr char kHeading[] = "<ir_version: 8, opset_import: [\"\" : 17, \"local\" : 1]>\n";

// "name: out, .. = Op(in, ..)" per node.
std::string Nodes(const onnx::GraphProto& graph) {
  std::string text;
  for (const auto& node : graph.node()) {
    text += node.name() + ":";
    for (const auto& output : node.output()) text += " " + output;
    text += " = " + node.op_type() + "(";
    for (const auto& input : node.input()) text += (text.back() == '(' ? "" : " ") + input;
    text += ")\n";
  }
  return text;
}

std::string Inlined(const std::string& text) {
  onnx::ModelProto model = ModelOfText(kHeading + text);
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.name().empty()) node.set_name("/" + node.op_type());
  }
  const auto inlined = InlineFunctions(model);
  if (!inlined.ok()) return CodeOf(DiagnosticOf(inlined.status()));
  EXPECT_EQ(model.functions_size(), 0);
  return Nodes(model.graph());
}

TEST(InlineFunctions, InnerNamesStandBehindTheCallsName) {
  EXPECT_EQ(Inlined(R"(g (float[N] x) => (float[N] y) { h = local.twice(x)  y = local.twice(h) }
            <domain: "local", opset_import: ["" : 17]>
            twice (a) => (b) { t = Relu(a)  b = Add(t, t) })"),
            "/twice/Relu: /twice/t = Relu(x)\n"
            "/twice/Add: h = Add(/twice/t /twice/t)\n"
            "/twice_1/Relu: /twice_1/t = Relu(h)\n"
            "/twice_1/Add: y = Add(/twice_1/t /twice_1/t)\n");
}

TEST(InlineFunctions, CallsWithinFunctions) {
  EXPECT_EQ(Inlined(R"(g (float[N] x) => (float[N] y) { y = local.outer(x) }
            <domain: "local", opset_import: ["" : 17]> inner (a) => (b) { b = Relu(a) }
            <domain: "local", opset_import: ["" : 17, "local" : 1]> outer (a) => (b) { t = local.inner(a)  b = local.inner(t) })"),
            "/outer/inner/Relu: /outer/t = Relu(x)\n"
            "/outer/inner_1/Relu: y = Relu(/outer/t)\n");
}

TEST(InlineFunctions, AttributesAreBound) {
  onnx::ModelProto model = ModelOfText(std::string(kHeading) + R"(
      g (float[N] x) => (float[N] y, float[N] z) { y = local.act<alpha = 2.0>(x)  z = local.act(x) }
      <domain: "local", opset_import: ["" : 17]> act <alpha> (a) => (b) { b = Elu<alpha: float = @alpha>(a) })");
  ASSERT_TRUE(InlineFunctions(model).ok());
  ASSERT_EQ(model.graph().node_size(), 2);
  EXPECT_EQ(model.graph().node(0).attribute(0).name(), "alpha");
  EXPECT_EQ(model.graph().node(0).attribute(0).f(), 2.0F);
  EXPECT_EQ(model.graph().node(1).attribute_size(), 0);  // not given: the operator's default
}

TEST(InlineFunctions, AnInputHandedThroughIsAnIdentity) {
  EXPECT_EQ(Inlined(R"(g (float[N] x) => (float[N] y, float[N] z) { y, z = local.both(x) }
            <domain: "local", opset_import: ["" : 17]> both (a) => (a, b) { b = Relu(a) })"),
            "/both/Relu: z = Relu(x)\n"
            "/both/a: y = Identity(x)\n");
}

TEST(InlineFunctions, TheCallsMetadataIsGivenToItsNodes) {
  onnx::ModelProto model = ModelOfText(std::string(kHeading) + R"(
      g (float[N] x) => (float[N] y) { y = local.act(x) }
      <domain: "local", opset_import: ["" : 17]> act (a) => (b) { b = Relu(a) })");
  auto& scope = *model.mutable_graph()->mutable_node(0)->add_metadata_props();
  scope.set_key("namespace");
  scope.set_value("layer1");
  ASSERT_TRUE(InlineFunctions(model).ok());
  ASSERT_EQ(model.graph().node(0).metadata_props_size(), 1);
  EXPECT_EQ(model.graph().node(0).metadata_props(0).value(), "layer1");
}

TEST(InlineFunctions, CallsInBodiesAndBodiesInFunctions) {
  onnx::ModelProto model = ModelOfText(std::string(kHeading) + R"(
      g (bool c, float[N] x) => (float[N] y) {
        y = If (c) <then_branch = t () => (float[N] r) { r = local.choose(c, x) }, else_branch = e () => (float[N] s) { s = Neg(x) }>
      }
      <domain: "local", opset_import: ["" : 17]> choose (k, a) => (b) {
        b = If (k) <then_branch = t () => (float[N] r) { q = Relu(a)  r = Abs(q) }, else_branch = e () => (float[N] s) { s = Neg(a) }>
      })");
  ASSERT_TRUE(InlineFunctions(model).ok());
  const auto& branch = model.graph().node(0).attribute(0).g();
  ASSERT_EQ(branch.node_size(), 1);
  EXPECT_EQ(branch.node(0).op_type(), "If");
  EXPECT_EQ(branch.node(0).input(0), "c");
  EXPECT_EQ(branch.node(0).output(0), "r");
  const auto& inner = branch.node(0).attribute(0).g();
  EXPECT_EQ(inner.node(0).input(0), "x");
  EXPECT_EQ(inner.node(1).input(0), inner.node(0).output(0));
  EXPECT_EQ(inner.output(0).name(), inner.node(1).output(0));
  EXPECT_NE(inner.output(0).name(), "r");  // taken by the call's output
}

TEST(InlineFunctions, AFunctionThatCallsItselfIsAnError) {
  EXPECT_EQ(Inlined(R"(g (float[N] x) => (float[N] y) { y = local.f(x) }
            <domain: "local", opset_import: ["" : 17, "local" : 1]> f (a) => (b) { b = local.f(a) })"),
            "bad-model");
}

}  // namespace
}  // namespace onnx_mem
