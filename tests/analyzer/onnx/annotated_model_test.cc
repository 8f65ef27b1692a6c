#include "analyzer/onnx/read/annotated_model.h"

#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

TEST(AnnotatedModel, TellsANodeByItsNameOrItsFirstOutput) {
  onnx::ModelProto model = ModelOfText("g (float[N, 4] x) => (float[N, 4] z) { y = Relu(x) z = Neg(y) }");
  model.mutable_graph()->mutable_node(0)->set_name("act");
  onnx::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(AnnotatedModel(
      model.SerializeAsString(), {{"act", {"makes 16 B", {{"onnx_mem.output_bytes", "16"}}}}, {"z", {"makes 8 B"}}})));
  EXPECT_EQ(read.graph().node(0).doc_string(), "makes 16 B");
  ASSERT_EQ(read.graph().node(0).metadata_props_size(), 1);
  EXPECT_EQ(read.graph().node(0).metadata_props(0).value(), "16");
  EXPECT_EQ(read.graph().node(1).doc_string(), "makes 8 B");
  // And nothing else has changed.
  for (onnx::NodeProto& node : *read.mutable_graph()->mutable_node()) {
    node.clear_doc_string();
    node.clear_metadata_props();
  }
  EXPECT_EQ(read.SerializeAsString(), model.SerializeAsString());
}

TEST(AnnotatedModel, LeavesExternalDataWhereItIs) {
  onnx::ModelProto model = ModelOfText("g (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }");
  onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& location = *weight.add_external_data();
  location.set_key("location");
  location.set_value("w.bin");
  onnx::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(AnnotatedModel(model.SerializeAsString(), {})));
  EXPECT_EQ(read.graph().initializer(0).external_data(0).value(), "w.bin");
}

TEST(AnnotatedModel, OfNoModelIsNothing) { EXPECT_EQ(AnnotatedModel("not a model", {}), ""); }

}  // namespace
}  // namespace onnx_mem
