#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/dag.h"
#include "analyzer/onnx/build/import.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

absl::StatusOr<ImportedModel> Import(const std::string& bytes, const Bindings& bindings = {}) {
  auto file = ModelFile::Parse(bytes, "m.onnx");
  if (!file.ok()) return file.status();
  auto imported = file->Import(bindings);
  if (imported.ok()) {
    EXPECT_TRUE(VerifyGraph(imported->graph).ok()) << VerifyGraph(imported->graph);
  }
  return imported;
}

std::string Dump(const std::string& text, const Bindings& bindings = {}) {
  const auto imported = Import(ModelBytes(text), bindings);
  return imported.ok()
             ? DumpGraph(imported->graph)
             : absl::StrCat(CodeOf(DiagnosticOf(imported.status())), ": ", DiagnosticOf(imported.status()).message);
}

TEST(Import, NodesTensorsAndRoles) {
  EXPECT_EQ(
      Dump(
          R"(g (float[N, 3, 8, 8] x) => (float[N, 4, 6, 6] y) <float[4, 3, 3, 3] w = ["location": "none"]> { h = Conv(x, w)  y = Relu(h) })",
          {.batch = 2}),
      "input x float32 2x3x8x8\n"
      "initializer w float32 4x3x3x3\n"
      "Conv(x, w) -> h float32 2x4x6x6\n"
      "Relu(h) -> y float32 2x4x6x6\n"
      "outputs y\n");
}

TEST(Import, InitializersAmongTheInputsAreNoInputs) {
  onnx::ModelProto model = ModelOfText(
      R"(g (float[N, 3] x, float[3, 4] w) => (float[N, 4] y) <float[3, 4] w = ["location": "none"]> { y = MatMul(x, w) })");
  const auto imported = Import(model.SerializeAsString());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.inputs.size(), 1U);
  EXPECT_EQ(imported->graph.initializers.size(), 1U);
}

TEST(Import, AttributesVersionsAndMetadata) {
  onnx::ModelProto model = ModelOfText(R"(g (float[N, 8] x) => (float[N, 8] y)
      { h = Elu<alpha = 2.0>(x)  c = Constant<value = int64[2] {0, 8}>()  y = Reshape<allowzero = 0>(h, c) })");
  auto& entry = *model.mutable_graph()->mutable_node(0)->add_metadata_props();
  entry.set_key("namespace");
  entry.set_value("layer1");
  const auto imported = Import(model.SerializeAsString(), {.batch = 2});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Graph& graph = imported->graph;
  EXPECT_EQ(FloatAttribute(graph.nodes[NodeId(0)], "alpha", 0), 2.0);
  EXPECT_EQ(graph.nodes[NodeId(0)].since_version, 6);
  EXPECT_EQ(graph.nodes[NodeId(0)].metadata.at("namespace"), "layer1");
  EXPECT_TRUE(imported->info.has_exporter_metadata);
  const Tensor& constant = graph.tensors[graph.nodes[NodeId(1)].outputs[0]];
  EXPECT_EQ(constant.role, TensorRole::kConstant);
  ASSERT_NE(constant.value, nullptr);
  EXPECT_EQ(*constant.value->ints(), (std::vector<int64_t>{0, 8}));
  EXPECT_TRUE(std::holds_alternative<LiteralPtr>(graph.nodes[NodeId(1)].attributes.at("value")));
}

TEST(Import, ABranchThatAlwaysRunsReplacesItsIf) {
  EXPECT_EQ(Dump(R"(g (float[N] x) => (float[N] y) <bool c = {1}> {
              h = Relu(x)
              y = If (c) <then_branch = t () => (float[N] r) <float w = {2}> { a = Mul(h, w)  r = Neg(a) },
                          else_branch = e () => (float[N] s) { s = Neg(h) }>
            })"),
            "input x float32 1\n"
            "initializer c bool scalar\n"
            "initializer w float32 scalar\n"
            "Relu(x) -> h float32 1\n"
            "Mul(h, w) -> a float32 1\n"
            "Neg(a) -> y float32 1\n"
            "outputs y\n");
}

TEST(Import, ABranchThatHandsThroughIsAnIdentity) {
  EXPECT_EQ(Dump(R"(g (float[N] x) => (float[N] y) <bool c = {0}> {
              h = Relu(x)
              y = If (c) <then_branch = t () => (float[N] r) { r = Neg(h) }, else_branch = e () => (float[N] h) { unused = Abs(h) }>
            })"),
            "input x float32 1\n"
            "initializer c bool scalar\n"
            "Relu(x) -> h float32 1\n"
            "Abs(h) -> unused float32 1\n"
            "/y = Identity(h) -> y float32 1\n"
            "outputs y\n");
}

TEST(Import, ARangeFromOneEndOfInt64ToTheOtherHasTheElementsItNames) {
  const auto elements = [](const std::string& numbers) {
    const auto imported =
        Import(ModelBytes(absl::StrCat(R"(g (float[N] x) => (float[M] y) <int64 from = {)", numbers, R"(}> {
              r = Range (from, to, step)
              n = Shape (r)
              y = Expand (x, n)
            })")),
               {.batch = 1});
    return imported.ok() ? ToString(imported->graph.tensors[imported->graph.outputs[0]].shape)
                         : std::string(imported.status().message());
  };
  const std::string low = "-9223372036854775808", high = "9223372036854775807", half = "4611686018427387904";
  EXPECT_EQ(elements(low + "}, int64 to = {" + high + "}, int64 step = {" + half), "4");
  EXPECT_EQ(elements(high + "}, int64 to = {" + low + "}, int64 step = {-" + half), "4");
  EXPECT_EQ(elements("9007199254740993}, int64 to = {9007199254740995}, int64 step = {1"), "2");
  EXPECT_EQ(elements("3}, int64 to = {-3}, int64 step = {1"), "0");
}

TEST(Import, BranchesMayReuseNames) {
  const auto imported = Import(ModelBytes(R"(g (float[N] x) => (float[N] y) <bool c = {1}> {
              p = If (c) <then_branch = t () => (float[N] r) { a = Relu(x)  r = Neg(a) }, else_branch = e () => (float[N] s) { s = Neg(x) }>
              y = If (c) <then_branch = t () => (float[N] r) { a = Relu(p)  r = Neg(a) }, else_branch = e () => (float[N] s) { s = Neg(x) }>
            })"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.nodes.size(), 4U);
}

TEST(Import, BodiesCaptureOuterTensors) {
  const auto imported =
      Import(ModelBytes(R"(g (bool c, float[N] x) => (float[N] y) <float[1] w = ["location": "none"]> {
              h = Relu(x)
              y = If (c) <else_branch = e () => (float[N] s) { s = Neg(h) }, then_branch = t () => (float[N] r) { a = Mul(h, w)  r = Neg(a) }>
            })"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Node& node = imported->graph.nodes[NodeId(1)];
  ASSERT_EQ(node.subgraphs.size(), 2U);
  EXPECT_EQ(node.subgraphs[0]->nodes.size(), 2U);  // then comes first, whatever the file's order
  EXPECT_EQ(node.captures.size(), 2U);             // h and w, each once
  EXPECT_EQ(node.subgraphs[0]->inputs.size(), 2U);
  EXPECT_TRUE(VerifyGraph(*node.subgraphs[0]).ok());
  EXPECT_TRUE(VerifyGraph(*node.subgraphs[1]).ok());
}

TEST(Import, NestedBodiesCaptureThroughEachOther) {
  const auto imported = Import(ModelBytes(R"(g (bool c, float[N] x) => (float[N] y) {
              h = Relu(x)
              y = If (c) <then_branch = t () => (float[N] r) {
                            r = If (c) <then_branch = tt () => (float[N] q) { q = Neg(h) }, else_branch = te () => (float[N] q2) { q2 = Abs(h) }>
                          }, else_branch = e () => (float[N] s) { s = Neg(x) }>
            })"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.nodes[NodeId(1)].captures.size(), 3U);  // c, h, x
}

TEST(Import, UnsortedNodesAreSortedAndSaid) {
  const auto imported = Import(ModelBytes("g (float[N] x) => (float[N] y) { y = Neg(h)  h = Relu(x) }"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.nodes[NodeId(0)].op.str(), "Relu");
  ASSERT_EQ(imported->diagnostics.size(), 1U);
  EXPECT_EQ(imported->diagnostics[0].code, Code::kNodeOrder);
}

TEST(Import, LocalFunctionsAreInlined) {
  EXPECT_EQ(Dump(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
            g (float[N] x) => (float[N] y) { y = local.twice(x) }
            <domain: "local", opset_import: ["" : 17]> twice (a) => (b) { t = Relu(a)  b = Add(t, t) })"),
            "input x float32 1\n"
            "twice/Relu = Relu(x) -> twice/t float32 1\n"
            "twice/Add = Add(twice/t, twice/t) -> y float32 1\n"
            "outputs y\n");
}

TEST(Import, UnknownOperatorsAreAssumed) {
  const auto imported = Import(ModelBytes(R"(<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
            g (float[N] x) => (float[M] z) { y = com.acme.Fused(x)  z = Relu(y) })"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->graph.nodes[NodeId(0)].shapes_assumed);
  ASSERT_FALSE(imported->diagnostics.empty());
  EXPECT_EQ(imported->diagnostics[0].code, Code::kCustomOp);
  EXPECT_EQ(imported->diagnostics[0].message, "no shape rule for 1 op: com.acme::Fused (x1)");
}

TEST(Import, ErrorsNameTheirReason) {
  EXPECT_EQ(Dump(R"(g (float[2, 3] x) => (float[2, 3] y) <float[4, 5] w = ["location": "none"]> { y = MatMul(x, w) })")
                .substr(0, 9),
            "bad-shape");
  EXPECT_EQ(Dump(R"(g (float[2, 3] x, int64[4, 5] i) => (float[4] y) { y = GatherND(x, i) })").substr(0, 9),
            "bad-shape");
  EXPECT_EQ(Dump(R"(g (float[2, 3] x) => (float[y, 1, 2, 4] y) <float[1, 16, 3] w = ["location": "none"],
      float[1, 16, 4] r = ["location": "none"]> { y = LSTM <hidden_size = 4> (x, w, r) })")
                .substr(0, 9),
            "bad-shape");
  EXPECT_EQ(Dump("g (float[2, 3] x) => (float[2, 3] y) { [n] y = MatMul(x) }").substr(0, 52),
            "bad-shape: node 'n' (MatMul): input 1 (B) is missing");
  onnx::ModelProto empty = ModelOfText("g (float[N] x) => (float[N] x) { }");
  EXPECT_EQ(DiagnosticOf(Import(empty.SerializeAsString()).status()).message, "'m.onnx' has no nodes");
  EXPECT_EQ(
      Dump("<ir_version: 8, opset_import: [\"\" : 99]> g (float[N] x) => (float[N] y) { y = Relu(x) }").substr(0, 23),
      "opset-too-new: opset 99");
  onnx::ModelProto huge = ModelOfText(
      R"(g (float[N, 3] x) => (float[N, 4] y) <float[3, 4] w = ["location": "none"]> { y = MatMul(x, w) })");
  huge.mutable_graph()->mutable_initializer(0)->set_dims(0, -3);
  EXPECT_FALSE(Import(huge.SerializeAsString()).ok());
  huge.mutable_graph()->mutable_initializer(0)->set_dims(0, int64_t{1} << 62);
  EXPECT_FALSE(Import(huge.SerializeAsString()).ok());
}

TEST(Import, DamagedMessagesAreErrors) {
  const std::string bytes = ModelBytes(
      R"(g (float[N, 3] x) => (float[N, 4] y) <float[3, 4] w = ["location": "none"]> { h = MatMul(x, w)  y = Relu(h) })");
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (char change : {'\0', '\x7f', '\xff'}) {
      std::string broken = bytes;
      broken[i] = change;
      Import(broken, {.batch = 2}).status().IgnoreError();  // any answer but a crash
    }
  }
}

TEST(Import, DeepNestingIsAnErrorNotACrash) {
  onnx::GraphProto graph = ModelOfText("g (bool c, float[N] x) => (float[N] y) { y = Relu(x) }").graph();
  for (int depth = 0; depth < 200; ++depth) {
    onnx::GraphProto outer = ModelOfText(
                                 "g (bool c, float[N] x) => (float[N] y) { y = If (c) <then_branch = t () => (float[N] "
                                 "y) { y = Relu(x) }, else_branch = e () => (float[N] y) { y = Relu(x) }> }")
                                 .graph();
    *outer.mutable_node(0)->mutable_attribute(0)->mutable_g() = graph;
    graph = outer;
  }
  onnx::ModelProto model = ModelOfText("g (bool c, float[N] x) => (float[N] y) { y = Relu(x) }");
  *model.mutable_graph() = graph;
  EXPECT_EQ(DiagnosticOf(Import(model.SerializeAsString()).status()).code, Code::kDamaged);
}

}  // namespace
}  // namespace onnx_mem
