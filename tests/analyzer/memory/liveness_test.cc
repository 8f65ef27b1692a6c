#include "analyzer/memory/liveness.h"

#include <string>
#include <vector>

#include "analyzer/graph/dag.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/memory/verify_program.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

// Builds a graph of float32 vectors: a tensor is its name and its number of elements.
class GraphBuilder {
 public:
  TensorId Add(const std::string& name, TensorRole role, int64_t elements) {
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = DType::kFloat32;
    tensor.role = role;
    tensor.shape = Shape(Dims{elements});
    const TensorId id = graph.tensors.Add(tensor);
    if (role == TensorRole::kInput) graph.inputs.push_back(id);
    if (role == TensorRole::kInitializer) graph.initializers.push_back(id);
    return id;
  }
  TensorId Input(const std::string& name, int64_t elements) { return Add(name, TensorRole::kInput, elements); }
  TensorId Weight(const std::string& name, int64_t elements) { return Add(name, TensorRole::kInitializer, elements); }
  TensorId Node(const std::string& op, TensorIds inputs, const std::string& output, int64_t elements) {
    onnx_mem::Node node;
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {Add(output, TensorRole::kActivation, elements)};
    const TensorId id = node.outputs[0];
    graph.nodes.Add(std::move(node));
    return id;
  }
  const Graph& Finish(TensorIds outputs) {
    graph.outputs = std::move(outputs);
    LinkTensors(graph);
    EXPECT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
    return graph;
  }

  Graph graph;
};

const LivenessRules& Rules() {
  static const auto& rules = *new LivenessRules{
      .is_view = [](const Node& node) { return node.op == "view"; },
      .may_overwrite = nullptr,
      .weight_category = nullptr,
  };
  return rules;
}

LivenessRules InPlaceRules() {
  LivenessRules rules = Rules();
  rules.may_overwrite = [](const Node& node) { return node.op == "relu"; };
  return rules;
}

std::string Lives(const MemoryProgram& program) {
  EXPECT_TRUE(VerifyProgram(program).ok()) << VerifyProgram(program);
  std::string text;
  for (const Buffer& buffer : program.buffers) {
    text += buffer.name.str() + " " + std::to_string(buffer.bytes) + " [" + std::to_string(buffer.begin.value()) +
            ", " + std::to_string(buffer.end.value()) + ") " + std::string(NameOf(buffer.category)) +
            (buffer.assumed ? " assumed" : "") + "\n";
  }
  return text;
}

TEST(ComputeLiveness, FromTheProducerToTheLastReader) {
  GraphBuilder b;
  const TensorId x = b.Input("x", 10);
  const TensorId w = b.Weight("w", 5);
  const TensorId y = b.Node("conv", {x, w}, "y", 20);
  const TensorId z = b.Node("relu", {y}, "z", 20);
  const TensorId v = b.Node("view", {z}, "v", 20);
  const TensorId out = b.Node("gemm", {v, w}, "out", 3);
  const MemoryProgram program = ComputeLiveness(b.Finish({out}), Rules());
  EXPECT_EQ(Lives(program),
            "x 40 [0, 4) inputs\n"
            "w 20 [0, 4) parameters\n"
            "y 80 [0, 2) transient_activations\n"
            "z 80 [1, 4) transient_activations\n"
            "out 12 [3, 4) transient_activations\n");
  EXPECT_EQ(program.steps.size(), 4u);
  EXPECT_EQ(program.steps[StepId(3)].op.str(), "gemm");
  EXPECT_EQ(ComputeTimeline(program).peak_bytes, 220);
}

TEST(ComputeLiveness, SkipConnectionsAndViewsOfViews) {
  GraphBuilder b;
  const TensorId x = b.Input("x", 1);
  const TensorId a = b.Node("f", {x}, "a", 4);
  const TensorId v = b.Node("view", {a}, "v", 4);
  const TensorId vv = b.Node("view", {v}, "vv", 4);
  const TensorId c = b.Node("f", {x}, "c", 4);
  const TensorId d = b.Node("f", {c}, "d", 4);
  const TensorId out = b.Node("add", {d, vv}, "out", 4);
  EXPECT_EQ(Lives(ComputeLiveness(b.Finish({out}), Rules())),
            "x 4 [0, 6) inputs\n"
            "a 16 [0, 6) transient_activations\n"
            "c 16 [3, 5) transient_activations\n"
            "d 16 [4, 6) transient_activations\n"
            "out 16 [5, 6) transient_activations\n");
}

TEST(ComputeLiveness, ViewsOfInputsCostNothing) {
  GraphBuilder b;
  const TensorId x = b.Input("x", 8);
  const TensorId v = b.Node("view", {x}, "v", 8);
  const TensorId out = b.Node("f", {v}, "out", 2);
  EXPECT_EQ(Lives(ComputeLiveness(b.Finish({out, v}), Rules())),
            "x 32 [0, 2) inputs\n"
            "out 8 [1, 2) transient_activations\n");
}

TEST(ComputeLiveness, OutputsLiveToTheEndEvenThroughViews) {
  GraphBuilder b;
  const TensorId x = b.Input("x", 1);
  const TensorId a = b.Node("f", {x}, "a", 4);
  const TensorId v = b.Node("view", {a}, "v", 4);
  b.Node("f", {x}, "unread", 2);
  const TensorId out = b.Node("f", {x}, "out", 4);
  EXPECT_EQ(Lives(ComputeLiveness(b.Finish({v, out}), Rules())),
            "x 4 [0, 4) inputs\n"
            "a 16 [0, 4) transient_activations\n"
            "unread 8 [2, 3) transient_activations\n"
            "out 16 [3, 4) transient_activations\n");
}

TEST(ComputeLiveness, KnownValuesCostNothingAndUnknownSizesAreMarked) {
  GraphBuilder b;
  const TensorId x = b.Input("x", 1);
  const TensorId shape = b.Node("shape", {x}, "shape", 2);
  const TensorId unknown = b.Node("nonzero", {x}, "unknown", kUnknownDim);
  const TensorId bound = b.Node("nms", {x}, "bound", 6);
  const TensorId out = b.Node("f", {shape, unknown, bound}, "out", 1);
  Literal value;
  value.dtype = DType::kFloat32;
  value.dims = {2};
  value.data = std::vector<double>{1, 2};
  b.graph.tensors[shape].value = std::make_shared<const Literal>(value);
  b.graph.tensors[bound].upper_bound = true;
  EXPECT_EQ(Lives(ComputeLiveness(b.Finish({out}), Rules())),
            "x 4 [0, 4) inputs\n"
            "unknown 0 [1, 4) transient_activations assumed\n"
            "bound 24 [2, 4) transient_activations assumed\n"
            "out 4 [3, 4) transient_activations\n");
}

TEST(ComputeLiveness, WeightsAreWhatTheRulesSay) {
  GraphBuilder b;
  const TensorId x = b.Input("x", 1);
  const TensorId w = b.Weight("w", 3);
  const TensorId mean = b.Weight("running_mean", 3);
  const TensorId axes = b.Weight("axes", 1);
  const TensorId out = b.Node("f", {x, w, mean, axes}, "out", 1);
  LivenessRules rules = Rules();
  rules.weight_category = [](const Tensor& tensor) -> std::optional<Category> {
    if (tensor.name == "axes") return std::nullopt;
    return tensor.name == "w" ? Category::kParameters : Category::kBuffers;
  };
  const MemoryProgram program = ComputeLiveness(b.Finish({out}), rules);
  EXPECT_EQ(Lives(program),
            "x 4 [0, 1) inputs\n"
            "w 12 [0, 1) parameters\n"
            "running_mean 12 [0, 1) buffers\n"
            "out 4 [0, 1) transient_activations\n");
}

TEST(ComputeLiveness, OverwritesWhatNobodyReadsAnyMore) {
  GraphBuilder b;
  const TensorId x = b.Input("x", 1);
  const TensorId a = b.Node("f", {x}, "a", 4);
  const TensorId r = b.Node("relu", {a}, "r", 4);  // over a
  const TensorId s = b.Node("relu", {r}, "s", 4);  // not over r, which `out` reads
  const TensorId out = b.Node("add", {r, s}, "out", 4);
  EXPECT_EQ(Lives(ComputeLiveness(b.Finish({out}), InPlaceRules())),
            "x 4 [0, 4) inputs\n"
            "a 16 [0, 4) transient_activations\n"
            "s 16 [2, 4) transient_activations\n"
            "out 16 [3, 4) transient_activations\n");
}

TEST(ComputeLiveness, NeverOverwritesInputsOutputsOrOtherSizes) {
  GraphBuilder b;
  const TensorId x = b.Input("x", 4);
  const TensorId a = b.Node("relu", {x}, "a", 4);
  const TensorId c = b.Node("relu", {a}, "c", 4);
  const TensorId d = b.Node("relu", {c}, "d", 2);
  EXPECT_EQ(Lives(ComputeLiveness(b.Finish({a, d}), InPlaceRules())),
            "x 16 [0, 3) inputs\n"
            "a 16 [0, 3) transient_activations\n"
            "c 16 [1, 3) transient_activations\n"
            "d 8 [2, 3) transient_activations\n");
}

TEST(ComputeLiveness, BodiesReadWhatTheyCapture) {
  GraphBuilder b;
  const TensorId x = b.Input("x", 1);
  const TensorId a = b.Node("f", {x}, "a", 4);
  b.Node("f", {x}, "c", 4);
  const TensorId out = b.Node("if", {x}, "out", 1);
  b.graph.nodes[NodeId(2)].captures = {a};
  EXPECT_EQ(Lives(ComputeLiveness(b.Finish({out}), Rules())),
            "x 4 [0, 3) inputs\n"
            "a 16 [0, 3) transient_activations\n"
            "c 16 [1, 2) transient_activations\n"
            "out 4 [2, 3) transient_activations\n");
}

TEST(ComputeLiveness, OfAGraphWithoutNodes) {
  GraphBuilder b;
  const TensorId x = b.Input("x", 2);
  EXPECT_EQ(Lives(ComputeLiveness(b.Finish({x}), Rules())), "x 8 [0, 1) inputs\n");
}

}  // namespace
}  // namespace onnx_mem
