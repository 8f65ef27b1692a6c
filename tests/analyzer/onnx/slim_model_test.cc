#include "analyzer/onnx/read/slim_model.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

absl::StatusOr<onnx::ModelProto> SlimAndParse(const std::string& bytes) {
  ByteWindow window = ByteWindow::OverMemory(bytes);
  auto slim = SlimModel(window, "m.onnx");
  if (!slim.ok()) return slim.status();
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(*slim));
  return model;
}

Code CodeOfBytes(const std::string& bytes) { return DiagnosticOf(SlimAndParse(bytes).status()).code; }

onnx::ModelProto SlimNode() { return ModelOfText("g (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }"); }

onnx::TensorProto& AddInitializer(onnx::ModelProto& model, const std::string& name, int type, int64_t count) {
  onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.add_dims(count);
  return tensor;
}

TEST(SlimModel, LeavesASmallModelAsItIs) {
  const onnx::ModelProto model = SlimNode();
  const auto slim = SlimAndParse(model.SerializeAsString());
  ASSERT_TRUE(slim.ok()) << slim.status();
  EXPECT_EQ(slim->SerializeAsString(), model.SerializeAsString());
}

TEST(SlimModel, LeavesLargePayloadsBehind) {
  onnx::ModelProto model = SlimNode();
  AddInitializer(model, "raw", onnx::TensorProto::FLOAT, 4096).set_raw_data(std::string(16384, 'w'));
  auto& typed = AddInitializer(model, "typed", onnx::TensorProto::FLOAT, 1000);
  for (int i = 0; i < 1000; ++i) typed.add_float_data(1.0F);
  AddInitializer(model, "small", onnx::TensorProto::FLOAT, 2).set_raw_data("12345678");
  auto& constant = *model.mutable_graph()->add_node();
  constant.set_op_type("Constant");
  constant.add_output("c");
  auto& attribute = *constant.add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  attribute.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  attribute.mutable_t()->add_dims(5000);
  attribute.mutable_t()->set_raw_data(std::string(20000, 'w'));

  onnx::ModelProto expected = model;
  expected.mutable_graph()->mutable_initializer(0)->clear_raw_data();
  expected.mutable_graph()->mutable_initializer(1)->clear_float_data();
  expected.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_t()->clear_raw_data();
  const auto slim = SlimAndParse(model.SerializeAsString());
  ASSERT_TRUE(slim.ok()) << slim.status();
  EXPECT_EQ(slim->SerializeAsString(), expected.SerializeAsString());
}

TEST(SlimModel, KeepsIntegersThatShapesMayNeed) {
  onnx::ModelProto model = SlimNode();
  AddInitializer(model, "table", onnx::TensorProto::INT64, 8192).set_raw_data(std::string(65536, '\1'));
  AddInitializer(model, "tokens", onnx::TensorProto::INT64, 8193).set_raw_data(std::string(65544, '\1'));
  const auto slim = SlimAndParse(model.SerializeAsString());
  ASSERT_TRUE(slim.ok());
  EXPECT_EQ(slim->graph().initializer(0).raw_data().size(), 65536U);
  EXPECT_FALSE(slim->graph().initializer(1).has_raw_data());
}

// The wire format does not prescribe an order of fields: here the payload stands before the data type.
TEST(SlimModel, DecidesAfterTheWholeTensorIsSeen) {
  onnx::TensorProto payload, head;
  payload.set_raw_data(std::string(4096, '\1'));
  head.set_data_type(onnx::TensorProto::INT64);
  head.add_dims(512);
  const std::string tensor = payload.SerializeAsString() + head.SerializeAsString();
  onnx::GraphProto graph = SlimNode().graph();
  std::string graph_bytes = graph.SerializeAsString() + "\x2a";  // field 5, length-delimited
  for (size_t n = tensor.size();; n >>= 7) {
    graph_bytes.push_back(static_cast<char>(n < 128 ? n : (n & 127) | 128));
    if (n < 128) break;
  }
  graph_bytes += tensor;
  onnx::ModelProto model;
  model.set_ir_version(8);
  ASSERT_TRUE(model.mutable_graph()->ParseFromString(graph_bytes));
  const auto slim = SlimAndParse(model.SerializeAsString());
  ASSERT_TRUE(slim.ok());
  EXPECT_EQ(slim->graph().initializer(0).raw_data().size(), 4096U);
}

TEST(SlimModel, DropsDocStringsAndEmbeddedBlobs) {
  onnx::ModelProto model = SlimNode();
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  node.set_doc_string(std::string(2000, 'd'));
  auto& blob = *node.add_attribute();
  blob.set_name("engine");
  blob.set_s(std::string(1 << 20, 'b'));
  const auto slim = SlimAndParse(model.SerializeAsString());
  ASSERT_TRUE(slim.ok());
  EXPECT_FALSE(slim->graph().node(0).has_doc_string());
  EXPECT_FALSE(slim->graph().node(0).attribute(0).has_s());
}

TEST(SlimModel, EveryPrefixIsAnErrorOrTheWholeModel) {
  onnx::ModelProto model = SlimNode();
  AddInitializer(model, "w", onnx::TensorProto::FLOAT, 1024).set_raw_data(std::string(4096, 'w'));
  const std::string bytes = model.SerializeAsString();
  const std::string graph_end = bytes.substr(0, bytes.size());
  int truncated = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto slim = SlimAndParse(bytes.substr(0, n));
    if (slim.ok()) {
      EXPECT_TRUE(slim->has_graph());  // cut between two fields of the model
      continue;
    }
    const Code code = DiagnosticOf(slim.status()).code;
    EXPECT_TRUE(code == Code::kTruncated || code == Code::kNotOnnx) << NameOf(code);
    truncated += code == Code::kTruncated;
  }
  EXPECT_GT(truncated, 4000);  // everywhere within the graph
}

TEST(SlimModel, RefusesWhatIsNoModel) {
  EXPECT_EQ(CodeOfBytes("hello world, this is a text"), Code::kNotOnnx);
  EXPECT_EQ(CodeOfBytes(std::string(300, '\0')), Code::kNotOnnx);
  EXPECT_EQ(CodeOfBytes(std::string(300, '\xff')), Code::kNotOnnx);
  EXPECT_EQ(CodeOfBytes("\x08\x09"), Code::kNotOnnx);  // an IR version and no graph
}

TEST(SlimModel, RefusesAFieldThatLeavesItsMessage) {
  onnx::ModelProto model = SlimNode();
  model.mutable_graph()->mutable_node(0)->set_doc_string(std::string(2000, 'd'));
  std::string bytes = model.SerializeAsString();
  const size_t doc = bytes.find("\x32\xd0\x0f");  // doc_string, 2000 bytes
  ASSERT_NE(doc, std::string::npos);
  bytes[doc + 2] = '\x7f';
  EXPECT_EQ(CodeOfBytes(bytes), Code::kDamaged);
}

TEST(SlimModel, ReadsAFileLikeMemory) {
  onnx::ModelProto model = SlimNode();
  for (int i = 0; i < 50; ++i) {
    AddInitializer(model, absl::StrCat("w", i), onnx::TensorProto::FLOAT, 50'000)
        .set_raw_data(std::string(200'000, 'w'));
  }
  const std::string bytes = model.SerializeAsString();
  const std::string path = testing::TempDir() + "/slim_model_test.onnx";
  std::ofstream(path, std::ios::binary) << bytes;
  auto file = ByteWindow::OverFile(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ByteWindow memory = ByteWindow::OverMemory(bytes);
  const auto from_file = SlimModel(*file, path);
  ASSERT_TRUE(from_file.ok()) << from_file.status();
  EXPECT_EQ(*from_file, *SlimModel(memory, path));
  EXPECT_LT(from_file->size(), 4000U);
  std::remove(path.c_str());
}

TEST(ByteWindow, AFileThatShrinksGivesNoBytes) {
  const std::string path = testing::TempDir() + "/shrinking.onnx";
  std::ofstream(path, std::ios::binary) << std::string(1 << 20, 'x');
  auto file = ByteWindow::OverFile(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->At(900'000, 100).size(), 100U);
  ASSERT_EQ(truncate(path.c_str(), 1000), 0);
  EXPECT_EQ(file->At(0, 1000).size(), 1000U);
  EXPECT_TRUE(file->At(500'000, 100).empty());
  std::remove(path.c_str());
}

TEST(ByteWindow, MissingFileSuggestsItsNeighbour) {
  const std::string path = testing::TempDir() + "/resnet50_small.onnx";
  std::ofstream(path, std::ios::binary) << "x";
  const Diagnostic error = DiagnosticOf(ByteWindow::OverFile(testing::TempDir() + "/resnet50_smal.onx").status());
  EXPECT_EQ(error.code, Code::kNotFound);
  ASSERT_EQ(error.details.size(), 1U);
  EXPECT_NE(error.details[0].find("resnet50_small.onnx"), std::string::npos);
  std::remove(path.c_str());
  EXPECT_EQ(DiagnosticOf(ByteWindow::OverFile(testing::TempDir()).status()).code, Code::kNotOnnx);  // a folder
}

}  // namespace
}  // namespace onnx_mem
