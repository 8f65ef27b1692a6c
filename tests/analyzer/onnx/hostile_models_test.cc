// Models that no exporter writes: each is an error with a code, or the conservative default, and never more work than a
// model of its size.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/run/work.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// "CODE: message" of reading the model, or the number of its nodes.
std::string Read(const onnx::ModelProto& model, const Bindings& bindings = {}) {
  auto file = ModelFile::Parse(model.SerializeAsString(), "m.onnx");
  absl::StatusOr<ImportedModel> imported = file.ok() ? file->Import(bindings) : file.status();
  if (imported.ok()) return absl::StrCat(imported->graph.nodes.size(), " nodes");
  return absl::StrCat(CodeOf(DiagnosticOf(imported.status())), ": ", DiagnosticOf(imported.status()).message);
}

onnx::ModelProto Model(const std::string& text) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(ModelBytes(text)));
  return model;
}

std::string Read(const std::string& text, const Bindings& bindings = {}) { return Read(Model(text), bindings); }

TEST(HostileModels, MoreOrFewerInputsAndOutputsThanTheOperatorHas) {
  EXPECT_EQ(Read("g (float[2] x) => (y) { [n] y = Relu(x, x) }"),
            "bad-model: node 'n' (Relu): it has 2 inputs, and at most 1 belong to the operator");
  EXPECT_EQ(Read("g (float[2] x) => (y) { [n] y, z = Relu(x) }"),
            "bad-model: node 'n' (Relu): it has 2 outputs, and at most 1 belong to the operator");
  EXPECT_EQ(Read("g (float[2] x) => (y) { [n] y = Relu() }"), "bad-shape: node 'n' (Relu): input 0 (X) is missing");
  EXPECT_EQ(Read("g (float[2] x) => (y) { [n] y = Concat<axis = 0>() }"),
            "bad-model: node 'n' (Concat): it has 0 inputs and needs 1");
  EXPECT_EQ(Read("g (float[2] x, float m) => (y) { [n] y = Clip(x, , m) }"), "1 nodes");
}

TEST(HostileModels, AttributesThatAreNotTheOperators) {
  EXPECT_EQ(Read("g (float[2] x) => (y) { [n] y = Softmax<axis = 0.5>(x) }"),
            "bad-model: node 'n' (Softmax): attribute 'axis' is of type FLOAT instead of INT");
  EXPECT_EQ(Read("g (float[2] x) => (y) { [n] y = Concat(x, x) }"),
            "bad-model: node 'n' (Concat): attribute 'axis' is missing");
  EXPECT_EQ(Read("g (bool c) => (y) { [n] y = If(c) }").substr(0, 43), "bad-model: node 'n' (If): attribute 'else_b");
  EXPECT_EQ(Read("g (float[1,4,2,2] x) => (y) <float[4] w> { [n] y = GroupNormalization<num_groups = -1>(x, w, w) }"),
            "bad-model: node 'n' (GroupNormalization): num_groups is -1");
}

TEST(HostileModels, AxesBeyondTheRank) {
  for (const char* node : {"Softmax<axis = -9223372036854775808>(x)", "Concat<axis = 9223372036854775807>(x, x)"}) {
    EXPECT_EQ(Read(absl::StrCat("g (float[2, 3] x) => (y) { [n] y = ", node, " }")).substr(0, 20),
              "bad-model: node 'n' ");
  }
  EXPECT_EQ(Read("g (float[2, 3] x) => (y) { [n] y = Softmax<axis = 2>(x) }"),
            "bad-shape: node 'n' (Softmax): axis is 2 for 2 dimensions");
  EXPECT_EQ(Read("g (float[2, 3] x) => (y) { [n] y = Flatten<axis = 2>(x) }"), "1 nodes");
}

TEST(HostileModels, ARecurrentLayerWhoseHiddenSizeIsNotThatOfItsWeights) {
  EXPECT_EQ(Read("g (float[1, 3, 2] x) => (y) <float[1, 15, 2] w, float[1, 15, 5] r> "
                 "{ [n] , y = GRU<hidden_size = 2147483647>(x, w, r) }"),
            "bad-shape: node 'n' (GRU): hidden_size and size of the recurrent weights differ: 2147483647 and 5");
}

TEST(HostileModels, AnOpsetBelowZero) {
  EXPECT_EQ(Read("<ir_version: 8, opset_import: [\"\" : -1]> g (float[2] x) => (y) { y = Relu(x) }"),
            "bad-model: 'm.onnx' imports version -1 of the operators of domain ''");
}

TEST(HostileModels, AnEinsumOfTwoEllipsesInOneOperand) {
  EXPECT_EQ(Read("g (float[2, 3] x) => (y) { [n] y = Einsum<equation = \"i...j...->ij\">(x) }"),
            "bad-shape: node 'n' (Einsum): the equation is malformed");
}

// Each function calls the one before twice: 2^depth nodes.
onnx::ModelProto Doubling(int depth) {
  onnx::ModelProto model = Model("g (float[2] x) => (y) { y = Relu(x) }");
  const auto add = [](auto& nodes, const std::string& op, const std::string& domain, const char* in, const char* out) {
    onnx::NodeProto& node = *nodes.Add();
    node.set_op_type(op);
    node.set_domain(domain);
    node.add_input(in);
    node.add_output(out);
  };
  for (int k = 0; k <= depth; ++k) {
    onnx::FunctionProto& function = *model.add_functions();
    function.set_domain("my");
    function.set_name(absl::StrCat("f", k));
    function.add_input("a");
    function.add_output("b");
    const std::string before = k == 0 ? "Relu" : absl::StrCat("f", k - 1);
    if (k > 0) add(*function.mutable_node(), before, "my", "a", "t");
    add(*function.mutable_node(), before, k > 0 ? "my" : "", k > 0 ? "t" : "a", "b");
  }
  model.mutable_graph()->clear_node();
  add(*model.mutable_graph()->mutable_node(), absl::StrCat("f", depth), "my", "x", "y");
  return model;
}

TEST(HostileModels, FunctionsThatStandForMoreNodesThanAModelHas) {
  EXPECT_EQ(Read(Doubling(8)), "256 nodes");
  EXPECT_EQ(Read(Doubling(40)).substr(0, 33), "too-large: inlining function 'f1'");
}

TEST(HostileModels, ALongNameThatEveryInlinedNodeInherits) {
  onnx::ModelProto model = Doubling(10);
  model.mutable_graph()->mutable_node(0)->set_name(std::string(60'000, 'L'));
  EXPECT_EQ(Read(model).substr(0, 9), "too-large");
}

TEST(HostileModels, SizesBeyondAnyMemory) {
  const std::string text = "g (float[N, 4] x) => (y) { y = Relu(x) }";
  EXPECT_EQ(Read(text, {.batch = int64_t{1} << 40}), "1 nodes");
  EXPECT_EQ(Read(text, {.batch = int64_t{1} << 53}).substr(0, 29), "too-large: with tensor 'x' [9");
}

TEST(HostileModels, MoreDimensionsThanAFrameworkHas) {
  const std::string many = absl::StrJoin(std::vector<int>(65, 1), ",");
  EXPECT_EQ(Read(absl::StrCat("g (float[", many, "] x) => (y) { y = Relu(x) }")),
            "too-large: input 'x': a tensor with 65 dimensions");
  EXPECT_EQ(Read(absl::StrCat("g (float[1] x) => (y) <int64[65] s = {", many, "}> { [n] y = Reshape(x, s) }")),
            "too-large: node 'n' (Reshape): a tensor with 65 dimensions");
  EXPECT_EQ(Read(absl::StrCat("g (float[1] x) => (y) <float[", many, "] w> { [n] y = Add(x, w) }")),
            "too-large: graph 'g': a tensor with 65 dimensions");
  EXPECT_EQ(Read(absl::StrCat("g (float[", many.substr(2), "] x) => (y) { y = Relu(x) }")), "1 nodes");
}

// A path of so many modules has as many prefixes, each as long: such a name is no path, and stays apart from others.
TEST(HostileModels, NamesThatTellOfThousandsOfModules) {
  onnx::ModelProto model = Model("g (float[2] x) => (z) { [first] y = Relu(x) [second] z = Relu(y) }");
  std::string deep;
  for (int k = 0; k < 60'000; ++k) absl::StrAppend(&deep, "/a", k);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_name(deep + "/Relu");
  graph.mutable_node(0)->set_output(0, deep + "/y");
  graph.mutable_node(1)->set_input(0, deep + "/y");
  graph.mutable_node(1)->set_name("/layers" + deep + "/Relu");
  auto file = ModelFile::Parse(model.SerializeAsString(), "m.onnx");
  ASSERT_TRUE(file.ok());
  const auto imported = file->Import({});
  ASSERT_TRUE(imported.ok());
  const Node& first = imported->graph.nodes[NodeId(0)];
  const Node& second = imported->graph.nodes[NodeId(1)];
  EXPECT_EQ(first.name.substr(0, 9), "_a0_a1_a2");
  EXPECT_LT(first.name.size(), 100u);
  EXPECT_NE(first.name, second.name);
  EXPECT_EQ(first.outputs[0], second.inputs[0]);
}

// What the reader cannot hold against a definition, the table of lowerings does.
std::string LoweringOf(const std::string& text) {
  auto file = ModelFile::Parse(ModelBytes(text), "m.onnx");
  if (!file.ok()) return std::string(file.status().message());
  auto imported = file->Import({});
  if (!imported.ok()) return std::string(imported.status().message());
  const auto enacted = Enact(imported->graph, {});
  return enacted.ok() ? "ok" : std::string(enacted.status().message());
}

TEST(HostileModels, ASumThatBecomesMoreAdditionsThanAModelHas) {
  const auto sum = [](int operands) {
    return absl::StrCat("g (float[2] x) => (y) { [n] y = Sum(",
                        absl::StrJoin(std::vector<std::string>(static_cast<size_t>(operands), "x"), ","), ") }");
  };
  EXPECT_EQ(LoweringOf(sum(1000)), "ok");
  EXPECT_EQ(LoweringOf(sum(30'000)),
            "node 'n' (Sum) and those before it become more than 20020 operators of the framework");
}

TEST(HostileModels, OperatorsOfAnotherDomainWithoutTheirInputs) {
  for (const char* node : {"BiasAdd(x)", "BiasGelu(, x)", "BiasDropout()", "FusedConv(x)", "SkipLayerNormalization(x)",
                           "GroupNorm(x)", "EmbedLayerNormalization(x)", "QAttention(x)", "FusedMatMul(x)"}) {
    const std::string text = absl::StrCat(
        "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (float[2, 3] x) => (y) { [n] y = "
        "com.microsoft.",
        node, " }");
    EXPECT_TRUE(absl::StrContains(LoweringOf(text), "is missing")) << node << ": " << LoweringOf(text);
  }
}

TEST(HostileModels, AnOperatorThatItsOpsetDoesNotHaveIsAssumed) {
  EXPECT_EQ(LoweringOf("<ir_version: 8, opset_import: [\"\" : 17]> g (float[2, 4] x) => (float[2, 4] y) "
                       "{ y = Attention(x, x, x) }"),
            "ok");
}

// What is reshaped to sizes that an unknown operator gives has no rank that a group norm's pattern could read.
TEST(HostileModels, AGroupNormWhoseGroupsNobodyKnows) {
  EXPECT_EQ(LoweringOf("<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]> "
                       "g (float[2, 8, 4, 4] x) => (float[2, 8, 4, 4] y) "
                       "{ scale = Constant <value = float[2] {1, 1}> () shift = Constant <value = float[2] {0, 0}> () "
                       "s = my.Sizes () r = Reshape (x, s) n = InstanceNormalization (r, scale, shift) "
                       "h = Shape (x) y = Reshape (n, h) }"),
            "ok");
}

TEST(HostileModels, ElementTypesThatDoNotExist) {
  onnx::ModelProto model =
      Model(R"(g (float[2, 3] x) => (y) <float[3, 5] w = ["location": "none"]> { y = MatMul(x, w) })");
  EXPECT_EQ(Read(model), "1 nodes");
  model.mutable_graph()->mutable_initializer(0)->set_data_type(99);
  EXPECT_EQ(Read(model), "bad-model: 'm.onnx' gives 'w' elements of type 99, which ONNX does not have");
  model.mutable_graph()->mutable_initializer(0)->set_data_type(1);
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(-7);
  EXPECT_EQ(Read(model), "bad-model: 'm.onnx' gives 'x' elements of type -7, which ONNX does not have");
}

// Loops within loops, each of so many trips.
std::string LoopsWithin(int depth, int trips) {
  std::string body = "p = Relu(v)";
  for (int k = depth; k-- > 0;) {
    const std::string value = k == 0 ? "x" : "v";
    body =
        absl::StrCat("t", k, " = Constant<value = int64 {", trips, "}>()  ", k == 0 ? "y" : "p", " = Loop<body = b", k,
                     " (int64 i, bool go, float[1, 4] v) => (bool go, p) { ", body, " }>(t", k, ", , ", value, ")");
  }
  return absl::StrCat("g (float[1, 4] x) => (y) { ", body, " }");
}

// Fewer inferences than the written-out loops have nodes, however deep they stand.
TEST(HostileModels, LoopsWithinLoopsAreLittleWork) {
  for (const auto& [depth, trips] : {std::pair(6, 10), std::pair(12, 2), std::pair(3, 1000)}) {
    const work::Counting counting;
    (void)Read(LoopsWithin(depth, trips));
    EXPECT_LT(work::Current().spent, 2 * work::kBudget) << depth << " loops";
  }
}

// A question that asks again and again ends.
TEST(HostileModels, LoopsWithinLoopsUseUpTheWorkOfAQuestion) {
  auto file = ModelFile::Parse(ModelBytes(LoopsWithin(12, 2)), "m.onnx");
  ASSERT_TRUE(file.ok()) << file.status();
  const work::Counting counting;
  absl::Status status;
  int requested = 0;
  for (; requested < 1000 && status.ok(); ++requested) status = file->Import({.batch = 1}).status();
  EXPECT_EQ(CodeOf(DiagnosticOf(status)), "too-large") << status;
  EXPECT_GT(requested, 1);
  EXPECT_LT(requested, 1000);
}

// The files of exporters do not get there.
TEST(HostileModels, AnOrdinaryModelAnswersAsOftenAsOneLikes) {
  auto file = ModelFile::Open(ONNX_MEM_SOURCE_DIR "/testdata/models/lstm_lm.eval.ts.op17.onnx");
  ASSERT_TRUE(file.ok()) << file.status();
  const work::Counting counting;
  for (int requested = 0; requested < 50; ++requested) {
    const absl::StatusOr<ImportedModel> model = file->Import({.batch = requested + 1});
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(Enact(model->graph, onnx_mem::Run()).ok());
  }
  EXPECT_TRUE(work::HasLeft(0.1)) << work::Current().spent;
}

TEST(HostileModels, RecurrencesOverBillionsOfPositions) {
  const auto enact = [](int64_t positions) {
    const std::string text = absl::StrCat(
        "g (float[", positions, ", 1, 2] x) => (y) <float[1, 20, 2] w = [\"location\": ",
        "\"none\"], float[1, 20, 5] r = [\"location\": \"none\"]> ", "{ y = LSTM<hidden_size = 5>(x, w, r) }");
    return Enact(ParseGraph(text), onnx_mem::Run());
  };
  EXPECT_GT(enact(1000)->program.steps.size(), 1000u);
  const absl::StatusOr<Enacted> billions = enact(int64_t{1} << 31);
  ASSERT_TRUE(billions.ok()) << billions.status();
  EXPECT_LT(billions->program.steps.size(), 100u);
  EXPECT_EQ(CodeOf(billions->diagnostics.front()), "assumed-op");
}

}  // namespace
}  // namespace onnx_mem
