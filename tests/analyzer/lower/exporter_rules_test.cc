// What lowering says of the exporter's rewrites.
#include "analyzer/lower/facts/exporter_rules.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

Graph WithRules(const std::string& rules, const std::string& call_reads = "") {
  Graph graph;
  const TensorId x = graph.tensors.Add(Tensor());
  graph.tensors[x].name = "x";
  graph.tensors[x].role = TensorRole::kInput;
  Node node;
  node.op = "Clip";
  node.inputs = {x};
  node.metadata["pkg.onnxscript.rewriter.rule_name"] = rules;
  if (!call_reads.empty()) {
    node.metadata["pkg.torch.onnx.fx_node"] =
        "%clamp : [num_users=1] = call_function[target=torch.ops.aten.clamp.default](args = (%" + call_reads +
        ", 0, 6), kwargs = {})";
  }
  graph.nodes.Add(std::move(node));
  return graph;
}

TEST(ExporterRules, ViewsAndWhatIsUndoneAreNotReported) {
  EXPECT_TRUE(CheckExporterRules(WithRules("ReshapeReshape, MaterializeReshapeShape")).empty());
  EXPECT_TRUE(CheckExporterRules(WithRules("RemoveOptionalBiasFromConv, FuseBatchNormIntoConv, FuseConvPad")).empty());
}

TEST(ExporterRules, OperatorsThatAreGoneAreReported) {
  const std::vector<Diagnostic> reported = CheckExporterRules(WithRules("CastCast, FuseSuccessiveRelu, CastCast"));
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].code, Code::kExporterRule);
  EXPECT_EQ(reported[0].count, 3);
  EXPECT_EQ(reported[0].details[0],
            "what: CastCast: a conversion between two others (x2), FuseSuccessiveRelu: one of two activations (x1)");
}

TEST(ExporterRules, OneCallThatBecameTwoNodesAndOneAgainIsWhole) {
  EXPECT_TRUE(CheckExporterRules(WithRules("FuseMaxMinToClip", "x")).empty());
  EXPECT_EQ(CheckExporterRules(WithRules("FuseMaxMinToClip", "clamp_min")).size(), 1u);
}

TEST(ExporterRules, UnknownOnesAreNamed) {
  const std::vector<Diagnostic> reported = CheckExporterRules(WithRules("FuseEverything"));
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].code, Code::kExporterRuleUnknown);
  EXPECT_EQ(reported[0].details[0], "what: FuseEverything (x1)");
}

TEST(ExporterRules, HasRuleReadsWholeNames) {
  const Graph graph = WithRules("NormalizePadFormatConv, FuseConvPad");
  EXPECT_TRUE(HasRule(graph.nodes[NodeId(0)], "FuseConvPad"));
  EXPECT_FALSE(HasRule(graph.nodes[NodeId(0)], "FuseConv"));
}

}  // namespace
}  // namespace onnx_mem
