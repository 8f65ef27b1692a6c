#include "analyzer/lower/facts/scopes.h"

#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "analyzer/prepare/source.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

using Strings = std::vector<std::string>;

Node NodeOf(std::string name) {
  Node node;
  node.name = std::move(name);
  return node;
}

TEST(Scopes, SequentialChildrenRepeatTheirParent) {
  Graph graph;
  ScopeReader reader(graph);
  const CallScope scope = reader.Of(NodeOf("/layer1/layer1.0/conv1/Conv"));
  EXPECT_EQ(scope.module, "layer1.0.conv1");
  EXPECT_EQ(scope.calls, (Strings{"layer1", "layer1.0", "layer1.0.conv1"}));
  EXPECT_EQ(reader.Of(NodeOf("/seq/seq.0/seq.0.0/Gemm")).module, "seq.0.0");
  EXPECT_EQ(reader.Of(NodeOf("/f/f.1/f.1.1/block/block.0/block.0.1/Conv")).module, "f.1.1.block.0.1");
  EXPECT_EQ(reader.Of(NodeOf("/blocks.0/fc/Gemm")).module, "blocks.0.fc");
}

TEST(Scopes, OperatorsOfTheRootAndNodesWithoutAPathHaveNoModule) {
  Graph graph;
  ScopeReader reader(graph);
  EXPECT_EQ(reader.Of(NodeOf("/Add_1")).module, "");
  EXPECT_TRUE(reader.Of(NodeOf("/Add_1")).calls.empty());
  EXPECT_EQ(reader.Of(NodeOf("Constant_12")).module, "");
  EXPECT_EQ(reader.Of(NodeOf("")).module, "");
}

TEST(Scopes, NamesWithoutTheirClassesAreEnough) {
  Graph graph;
  Node node;
  node.metadata["pkg.torch.onnx.name_scopes"] = "['', 'layer1', 'relu']";
  EXPECT_EQ(ScopeReader(graph).Of(node).module, "layer1");
}

TEST(Scopes, ASecondCallIsTheSameModuleUnlessTheNameIsReal) {
  const Graph graph = ParseGraph(R"(
    weight layer1.0.conv1.weight float32 1
    weight encoder.block_1.fc.weight float32 1
  )");
  ScopeReader reader(graph);
  EXPECT_EQ(reader.Of(NodeOf("/layer1/layer1.0/relu/Relu")).module, "layer1.0.relu");
  const CallScope second = reader.Of(NodeOf("/layer1/layer1.0/relu_1/Relu"));
  EXPECT_EQ(second.module, "layer1.0.relu");
  EXPECT_EQ(second.calls.back(), "layer1.0.relu_1");
  EXPECT_EQ(reader.Of(NodeOf("/encoder/block_1/fc/Gemm")).module, "encoder.block_1.fc");
  EXPECT_EQ(reader.Of(NodeOf("/encoder/act_1/Relu")).module, "encoder.act_1") << "no other call shows that it is act";
}

constexpr std::string_view kCalledTwice = R"(
    input x float32 2x4x8x8
    weight b.0.weight float32 4x4x1x1
    weight b.7.weight float32 8x8
    /b/b.0/Conv = Conv(x, b.0.weight) -> a float32 2x4x8x8
    /b/b.2/MaxPool = MaxPool(a) -> p float32 2x4x8x8
    /b/b.7/MatMul = MatMul(p, b.7.weight) -> c float32 2x4x8x8
    /b/b.0_1/Conv = Conv(c, b.0.weight) -> d float32 2x4x8x8
    /b/b.2_1/MaxPool = MaxPool(d) -> q float32 2x4x8x8
    /b/b.7_1/MatMul = MatMul(q, b.7.weight) -> y float32 2x4x8x8
    output y
)";

std::vector<Strings> ScopesOf(std::string_view text) {
  const Graph graph = ParseGraph(text);
  ScopeReader reader(graph);
  std::vector<Strings> calls;
  for (const Node& node : graph.nodes) calls.push_back(reader.Of(node).calls);
  return calls;
}

TEST(Scopes, ContainersCalledTwiceAreDistinguishedByTheirLeaves) {
  EXPECT_EQ(ScopesOf(kCalledTwice),
            (std::vector<Strings>{
                {"b", "b.0"}, {"b", "b.2"}, {"b", "b.7"}, {"b_1", "b.0_1"}, {"b_1", "b.2_1"}, {"b_1", "b.7_1"}}));
  const Graph graph = ParseGraph(kCalledTwice);
  EXPECT_EQ(ScopeReader(graph).Of(*(graph.nodes.end() - 1)).module, "b.7");
}

TEST(Scopes, ALeafThatIsCalledMoreOftenThanOthersIsCalledTwiceByItsModule) {
  const std::vector<Strings> calls = ScopesOf(R"(
    input ids int64 2x8
    weight e.x.weight float32 16x4
    weight e.h.weight float32 16x4
    /e/x/Gather = Gather(e.x.weight, ids) -> a float32 2x8x4
    /e/x_1/Gather = Gather(e.x.weight, ids) -> b float32 2x8x4
    /e/h/Gather = Gather(e.h.weight, ids) -> c float32 2x8x4
    /e/Add = Add(a, b) -> d float32 2x8x4
    /e/Add_1 = Add(d, c) -> y float32 2x8x4
    output y
  )");
  EXPECT_EQ(calls, (std::vector<Strings>{{"e", "e.x"}, {"e", "e.x_1"}, {"e", "e.h"}, {"e"}, {"e"}}));
}

// for x in features: out.append(self.conv(x).flatten(2)): the function's own operators have no numbers, so it runs
// once.
TEST(Scopes, AModuleWithOperatorsOfItsOwnIsCalledAsOftenAsTheySay) {
  const Graph graph = ParseGraph(R"(
    input x float32 2x4
    weight head.conv.weight float32 4x4
    weight body.conv.weight float32 4x4
    /head/conv/Gemm = Gemm(x, head.conv.weight) -> a float32 2x4
    /head/Relu = Relu(a) -> b float32 2x4
    /head/conv_1/Gemm = Gemm(b, head.conv.weight) -> c float32 2x4
    /head/Relu_1 = Relu(c) -> d float32 2x4
    /body/conv/Gemm = Gemm(d, body.conv.weight) -> e float32 2x4
    /body/Relu = Relu(e) -> f float32 2x4
    /body/conv_1/Gemm = Gemm(f, body.conv.weight) -> g float32 2x4
    /body_1/Relu = Relu(g) -> h float32 2x4
    output h
  )");
  ScopeReader reader(graph);
  std::vector<std::string> outermost;
  for (const Node& node : graph.nodes) outermost.push_back(reader.Of(node).calls[0]);
  EXPECT_EQ(outermost, (Strings{"head", "head", "head", "head", "body", "body", "body_1", "body_1"}));
}

TEST(Scopes, AModuleDictIsRecoveredFromTheWeightThatIsRead) {
  const Graph graph = ParseGraph(R"(
    input x float32 2x4
    weight d.a.fc.weight float32 4x4
    /a/fc/Gemm = Gemm(x, d.a.fc.weight) -> y float32 2x4
    output y
  )");
  ScopeReader reader(graph);
  EXPECT_EQ(reader.Of(graph.nodes[NodeId(0)]).module, "d.a.fc");
  EXPECT_EQ(reader.Of(NodeOf("/a/act/Relu")).module, "d.a.act");
}

TEST(Scopes, DynamoMetadataNamesModuleAndOperatorCall) {
  Graph graph;
  ScopeReader reader(graph);
  Node node = NodeOf("node_Erf_12");
  node.metadata["pkg.torch.onnx.name_scopes"] = "['', 'blocks.0', 'blocks.0.act', 'gelu_3']";
  node.metadata["pkg.torch.onnx.class_hierarchy"] = "['m.Net', 'm.Block', 'torch.nn.GELU', 'aten.gelu.default']";
  const CallScope scope = reader.Of(node);
  EXPECT_EQ(scope.module, "blocks.0.act");
  EXPECT_EQ(scope.calls, (Strings{"blocks.0", "blocks.0.act"}));
  EXPECT_EQ(scope.framework_op, "gelu#gelu_3");
}

TEST(Scopes, NamespaceSaysTheSame) {
  Graph graph;
  ScopeReader reader(graph);
  Node node = NodeOf("node_Erf_12");
  node.metadata["namespace"] = ": m.Net/blocks.0: m.Block/blocks.0.act: torch.nn.GELU/gelu_3: aten.gelu.default";
  const CallScope scope = reader.Of(node);
  EXPECT_EQ(scope.module, "blocks.0.act");
  EXPECT_EQ(scope.framework_op, "gelu#gelu_3");
  node.metadata["namespace"] =
      "_empty_nn_module_stack_from_metadata_hook: _empty_nn_module_stack_from_metadata_hook/sym: aten.sym_size.int";
  EXPECT_EQ(reader.Of(node).module, "");
}

TEST(Scopes, PythonListsOfStrings) {
  EXPECT_EQ(ParsePythonList("['', 'a.b', \"it's\"]"), (Strings{"", "a.b", "it's"}));
  EXPECT_TRUE(ParsePythonList("nothing").empty());
  EXPECT_TRUE(ParsePythonList("[]").empty());
  EXPECT_EQ(ParsePythonList("['open").size(), 0u);
  EXPECT_EQ(ParsePythonList("['a', 'open]").size(), 2u);
}

// y = snake(x, self.alpha), a function that torch.jit.script compiled: its operators have no scope of their own.
constexpr std::string_view kScripted = R"(
    input x float32 2x4x8
    weight b.0.alpha float32 1x4x1
    weight b.1.weight float32 4x4x1
    weight b.2.alpha float32 1x4x1
    Mul_1 = Mul(b.0.alpha, x) -> a float32 2x4x8
    Sin_2 = Sin(a) -> s float32 2x4x8
    Add_3 = Add(x, s) -> c float32 2x4x8
    /b/b.1/Conv = Conv(c, b.1.weight) -> d float32 2x4x8
    Mul_4 = Mul(b.SECOND.alpha, d) -> e float32 2x4x8
    Sin_5 = Sin(e) -> y float32 2x4x8
    output y
)";

std::vector<CallScope> ScriptedScopes(absl::string_view second) {
  const Graph graph =
      ParseGraph(absl::StrReplaceAll(absl::string_view(kScripted.data(), kScripted.size()), {{"SECOND", second}}));
  const Source source = SourceOf(graph);
  return {source.scopes.begin(), source.scopes.end()};
}

Strings ModulesOf(const std::vector<CallScope>& scopes) {
  Strings modules;
  for (const CallScope& scope : scopes) modules.push_back(scope.module);
  return modules;
}

TEST(Scopes, AScriptedFunctionRunsInTheModuleWhoseParametersItReads) {
  const std::vector<CallScope> scopes = ScriptedScopes("2");
  EXPECT_EQ(ModulesOf(scopes), (Strings{"b.0", "b.0", "b.0", "b.1", "b.2", "b.2"}));
  EXPECT_EQ(scopes[0].calls, (Strings{"b", "b.0"})) << "b has a call, by the convolution";
}

TEST(Scopes, InAFileWithMetadataNodesWithoutScopesAreAnOptimizers) {
  const Graph graph = ParseGraph(R"(
    input x float32 2x4
    weight a.weight float32 8x4
    /a/Relu = Relu(x) -> r float32 2x4
    @ pkg.torch.onnx.name_scopes ['', 'a', 'relu']
    Slice_1 = Abs(a.weight) -> w float32 8x4
    /a/MatMul = MatMul(w, r) -> y float32 8x2
    @ pkg.torch.onnx.name_scopes ['', 'a', 'linear']
    output y
  )");
  EXPECT_EQ(SourceOf(graph).scopes[NodeId(1)].module, "");
}

TEST(Scopes, AScriptedFunctionOfAModuleThatIsCalledAgainIsNotPlaced) {
  EXPECT_EQ(ModulesOf(ScriptedScopes("0")), (Strings{"", "", "", "b.1", "", ""}));
}

}  // namespace
}  // namespace onnx_mem
