// What the signature of an exported program says of stored tensors.
#include "analyzer/onnx/build/graph_signature.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace onnx_mem {
namespace {

constexpr std::string_view kText = R"(
# inputs
p_fc_weight: PARAMETER target='fc.weight'
p_table: PARAMETER target='attn.rel_pos'
b_scale: BUFFER target='scale' persistent=False
x: USER_INPUT

# outputs
linear: USER_OUTPUT
)";

Graph OneNode(std::string_view signature) {
  Graph graph;
  graph.signature = ProgramSignature::Parse(signature);
  Node node;
  node.metadata["pkg.torch.onnx.name_scopes"] = "['', 'attn', 'linear']";
  for (const char* name : {"fc.weight", "scale"}) {
    Tensor tensor;
    tensor.name = name;
    tensor.role = TensorRole::kInitializer;
    const TensorId id = graph.tensors.Add(std::move(tensor));
    graph.initializers.push_back(id);
    node.inputs.push_back(id);
  }
  graph.nodes.Add(std::move(node));
  LinkTensors(graph);
  return graph;
}

TEST(GraphSignature, MarksModulesThatLostAParameter) {
  Graph graph = OneNode(kText);
  MarkLostParameters(graph);
  EXPECT_EQ(graph.nodes[NodeId(0)].lost_parameter, "attn.rel_pos") << "the file has no such tensor";
}

TEST(GraphSignature, TextOfAnotherFormMarksNothing) {
  Graph graph = OneNode("fc.weight is a PARAMETER of target='");
  MarkLostParameters(graph);
  EXPECT_EQ(graph.nodes[NodeId(0)].lost_parameter, "");
}

// attn.table, an nn.Embedding, was computed with what attn made of it: no node of it is left.
TEST(GraphSignature, TheCallerLostWhatItsModuleHeld) {
  Graph graph = OneNode("# inputs\np_t: PARAMETER target='attn.table.weight'\np_f: PARAMETER target='fc.weight'\n");
  MarkLostParameters(graph);
  EXPECT_EQ(graph.nodes[NodeId(0)].lost_parameter, "attn.table.weight");
}

}  // namespace
}  // namespace onnx_mem
