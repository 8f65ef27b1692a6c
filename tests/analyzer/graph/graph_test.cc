#include "analyzer/graph/graph.h"

#include <functional>
#include <string>

#include "analyzer/graph/dag.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

TensorId AddTensor(Graph& graph, std::string name, Dims dims, TensorRole role = TensorRole::kActivation) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = DType::kFloat32;
  tensor.shape = Shape(std::move(dims));
  tensor.role = role;
  return graph.tensors.Add(std::move(tensor));
}

NodeId AddNode(Graph& graph, std::string name, std::string op, TensorIds inputs, TensorIds outputs) {
  Node node;
  node.name = std::move(name);
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return graph.nodes.Add(std::move(node));
}

// x --conv1(w)--> y --relu--> z, and z + z as an unnamed node.
Graph ConvReluDouble() {
  Graph graph;
  const TensorId x = AddTensor(graph, "x", {8, 3, 32, 32}, TensorRole::kInput);
  const TensorId w = AddTensor(graph, "w", {64, 3, 3, 3}, TensorRole::kInitializer);
  const TensorId y = AddTensor(graph, "y", {8, 64, 30, 30});
  const TensorId z = AddTensor(graph, "z", {8, 64, 30, 30});
  const TensorId sum = AddTensor(graph, "sum", {8, 64, 30, 30});
  AddNode(graph, "conv1", "Conv", {x, w, TensorId()}, {y});
  AddNode(graph, "relu", "Relu", {y}, {z});
  AddNode(graph, "", "Add", {z, z}, {sum});
  graph.inputs = {x};
  graph.initializers = {w};
  graph.outputs = {sum};
  LinkTensors(graph);
  return graph;
}

TEST(DumpGraphTest, OneLinePerTensorAndNode) {
  EXPECT_EQ(DumpGraph(ConvReluDouble()),
            "input x float32 8x3x32x32\n"
            "initializer w float32 64x3x3x3\n"
            "conv1 = Conv(x, w, -) -> y float32 8x64x30x30\n"
            "relu = Relu(y) -> z float32 8x64x30x30\n"
            "Add(z, z) -> sum float32 8x64x30x30\n"
            "outputs sum\n");
}

TEST(DumpGraphTest, ShowsDomainBoundAndOmittedOutput) {
  Graph graph;
  const TensorId x = AddTensor(graph, "x", {4}, TensorRole::kInput);
  const TensorId y = AddTensor(graph, "y", {4});
  graph.tensors[y].upper_bound = true;
  const NodeId node = AddNode(graph, "", "Pick", {x}, {TensorId(), y});
  graph.nodes[node].domain = "com.example";
  graph.inputs = {x};
  graph.outputs = {y};
  EXPECT_EQ(DumpGraph(graph),
            "input x float32 4\n"
            "com.example::Pick(x) -> -, y float32 4 at most\n"
            "outputs y\n");
}

TEST(LinkTensorsTest, OneConsumerPerUseInNodeOrder) {
  const Graph graph = ConvReluDouble();
  EXPECT_FALSE(graph.tensors[TensorId(0)].producer.valid());
  EXPECT_EQ(graph.tensors[TensorId(2)].producer, NodeId(0));
  EXPECT_EQ(graph.tensors[TensorId(2)].consumers, NodeIds{NodeId(1)});
  EXPECT_EQ(graph.tensors[TensorId(3)].consumers, (NodeIds{NodeId(2), NodeId(2)}));
  EXPECT_TRUE(graph.tensors[TensorId(4)].consumers.empty());
}

TEST(LinkTensorsTest, CapturesCountAsUses) {
  Graph graph = ConvReluDouble();
  graph.nodes[NodeId(2)].captures = {TensorId(0)};
  LinkTensors(graph);
  EXPECT_EQ(graph.tensors[TensorId(0)].consumers, (NodeIds{NodeId(0), NodeId(2)}));
}

TEST(LinkTensorsTest, IsIdempotent) {
  Graph graph = ConvReluDouble();
  LinkTensors(graph);
  EXPECT_EQ(graph.tensors[TensorId(3)].consumers.size(), 2u);
  EXPECT_TRUE(VerifyGraph(graph).ok());
}

TEST(VerifyGraphTest, AcceptsAWellFormedGraphAndTheEmptyOne) {
  EXPECT_TRUE(VerifyGraph(ConvReluDouble()).ok());
  EXPECT_TRUE(VerifyGraph(Graph()).ok());
}

struct Damage {
  std::string name;
  std::function<void(Graph&)> apply;
  std::string message;  // expected, after "graph is inconsistent: "
};

class VerifyGraphDamageTest : public testing::TestWithParam<Damage> {};

TEST_P(VerifyGraphDamageTest, NamesWhatIsWrong) {
  Graph graph = ConvReluDouble();
  GetParam().apply(graph);
  const absl::Status status = VerifyGraph(graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(std::string(status.message()), "graph is inconsistent: " + GetParam().message);
}

LiteralPtr Ints(Dims dims, std::vector<int64_t> values) {
  return std::make_shared<Literal>(Literal{DType::kInt64, std::move(dims), std::move(values)});
}

INSTANTIATE_TEST_SUITE_P(
    Damages, VerifyGraphDamageTest,
    testing::Values(Damage{"UnknownInput", [](Graph& g) { g.inputs.push_back(TensorId(99)); },
                           "an input or initializer is no tensor of the graph"},
                    Damage{"InvalidInitializer", [](Graph& g) { g.initializers.push_back(TensorId()); },
                           "an input or initializer is no tensor of the graph"},
                    Damage{"ReadsUnknown", [](Graph& g) { g.nodes[NodeId(1)].inputs = {TensorId(99)}; },
                           "node 'relu' (Relu) reads an unknown tensor"},
                    Damage{"ReadsLater", [](Graph& g) { g.nodes[NodeId(0)].inputs[0] = TensorId(3); },
                           "node 'conv1' (Conv) reads 'z' before it is made"},
                    Damage{"ReadsItself", [](Graph& g) { g.nodes[NodeId(1)].inputs = {TensorId(3)}; },
                           "node 'relu' (Relu) reads 'z' before it is made"},
                    Damage{"CapturesLater", [](Graph& g) { g.nodes[NodeId(0)].captures = {TensorId(4)}; },
                           "node 'conv1' (Conv) reads 'sum' before it is made"},
                    Damage{"MakesUnknown", [](Graph& g) { g.nodes[NodeId(2)].outputs = {TensorId(99)}; },
                           "node #2 (Add) makes an unknown tensor"},
                    Damage{"MadeTwice", [](Graph& g) { g.nodes[NodeId(2)].outputs = {TensorId(3)}; },
                           "tensor 'z' is made twice"},
                    Damage{"OverwritesInput", [](Graph& g) { g.nodes[NodeId(2)].outputs = {TensorId(0)}; },
                           "tensor 'x' is made twice"},
                    Damage{"OutputNotMade", [](Graph& g) { g.nodes[NodeId(2)].outputs = {TensorId()}; },
                           "a graph output is made by no node"},
                    Damage{"StaleConsumer", [](Graph& g) { g.tensors[TensorId(3)].consumers.pop_back(); },
                           "links of tensor 'z' disagree with the nodes"},
                    Damage{"StaleProducer", [](Graph& g) { g.tensors[TensorId(0)].producer = NodeId(1); },
                           "links of tensor 'x' disagree with the nodes"},
                    Damage{"LiteralTooShort", [](Graph& g) { g.tensors[TensorId(1)].value = Ints({3}, {1, 2}); },
                           "value of 'w' has 2 elements"},
                    Damage{"LiteralOfOtherShape", [](Graph& g) { g.tensors[TensorId(1)].value = Ints({2}, {1, 2}); },
                           "value of 'w' has another shape than the tensor"}),
    [](const testing::TestParamInfo<Damage>& info) { return info.param.name; });

TEST(AttributeTest, FallsBackWhenAbsentOrOfAnotherType) {
  Node node;
  node.attributes["axis"] = int64_t{2};
  node.attributes["alpha"] = 0.5;
  node.attributes["mode"] = std::string("nearest");
  node.attributes["pads"] = std::vector<int64_t>{1, 1};
  EXPECT_EQ(IntAttribute(node, "axis", -1), 2);
  EXPECT_EQ(IntAttribute(node, "alpha", -1), -1);
  EXPECT_EQ(FloatAttribute(node, "alpha", 1.0), 0.5);
  EXPECT_EQ(FloatAttribute(node, "axis", 1.0), 1.0);
  EXPECT_EQ(StringAttribute(node, "mode", "linear"), "nearest");
  EXPECT_EQ(StringAttribute(node, "absent", "linear"), "linear");
  EXPECT_EQ(IntsAttribute(node, "pads"), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(IntsAttribute(node, "axis", {7}), std::vector<int64_t>{7});
}

TEST(DescribeTest, UsesThePositionOfAnUnnamedNode) {
  const Graph graph = ConvReluDouble();
  EXPECT_EQ(Describe(graph, NodeId(0)), "node 'conv1' (Conv)");
  EXPECT_EQ(Describe(graph, NodeId(2)), "node #2 (Add)");
}

}  // namespace
}  // namespace onnx_mem
