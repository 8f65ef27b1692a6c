#include "analyzer/onnx/strict/onnx_checker.h"

#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/build/import.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

onnx::ModelProto Product() {
  return ModelOfText(
      R"(g (float[N, 3] x) => (float[N, 5] y) <float[3, 5] w = ["location": "none"]> { y = MatMul(x, w) })");
}

// What --strict says of it; "" for nothing.
std::string Strictly(const onnx::ModelProto& model) {
  const auto file = ModelFile::Parse(model.SerializeAsString(), "m.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  return DiagnosticOf(CheckAsOnnxDoes(file->Annotated({}), "m.onnx")).message;
}

// Warnings that every question gets.
std::string Warned(const onnx::ModelProto& model) {
  const auto file = ModelFile::Parse(model.SerializeAsString(), "m.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  const auto imported = file->Import({.batch = 2});
  EXPECT_TRUE(imported.ok()) << imported.status();
  std::string messages;
  for (const Diagnostic& diagnostic : imported->diagnostics) {
    if (diagnostic.severity == Severity::kWarning) messages += diagnostic.message + "\n";
  }
  return messages;
}

TEST(OnnxChecker, WeightsNeedNotBeThere) {
  EXPECT_EQ(Strictly(Product()), "");
  onnx::ModelProto bare = Product();
  bare.mutable_graph()->mutable_initializer(0)->clear_external_data();
  bare.mutable_graph()->mutable_initializer(0)->clear_data_location();
  EXPECT_EQ(Strictly(bare), "");
}

TEST(OnnxChecker, NamesThatStandForTwoTensors) {
  onnx::ModelProto twice = Product();
  *twice.mutable_graph()->add_initializer() = twice.graph().initializer(0);
  twice.mutable_graph()->mutable_initializer(1)->set_dims(1, 7);
  EXPECT_TRUE(absl::StrContains(Strictly(twice), "'m.onnx' is no valid ONNX: w initializer name is not unique"))
      << Strictly(twice);
}

TEST(OnnxChecker, NodesThatReadWhatNothingMakes) {
  onnx::ModelProto model = Product();
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type("Add");
  node.add_input("y");
  node.add_input("y");
  node.add_output("y");
  EXPECT_TRUE(absl::StrContains(DiagnosticOf(CheckAsOnnxDoes(model.SerializeAsString(), "m.onnx")).message, "SSA"));
}

// Exporters' own files are valid, weights or no weights.
TEST(OnnxChecker, TakesTheCommittedModels) {
  int64_t models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ONNX_MEM_SOURCE_DIR "/testdata/models")) {
    if (entry.path().extension() != ".onnx") continue;
    const auto file = ModelFile::Open(entry.path().string());
    ASSERT_TRUE(file.ok()) << file.status();
    const absl::Status status = CheckAsOnnxDoes(file->Annotated({}), entry.path().filename().string());
    EXPECT_TRUE(status.ok()) << status;
    ++models;
  }
  EXPECT_GT(models, 30);
}

TEST(OnnxChecker, ATrainingStepInTheFileIsReported) {
  onnx::ModelProto model = Product();
  EXPECT_EQ(Warned(model), "");
  *model.add_training_info()->mutable_algorithm() = model.graph();
  EXPECT_EQ(Warned(model), "the file holds a training step of its own (training_info), which is not read\n");
}

TEST(OnnxChecker, TensorsOnSeveralDevicesAreReported) {
  onnx::ModelProto model = Product();
  model.mutable_graph()->mutable_node(0)->add_device_configurations()->set_configuration_id("tp");
  model.add_configuration()->set_num_devices(4);
  EXPECT_EQ(Warned(model),
            "the file spreads its tensors over 4 devices (device_configurations): they are counted whole, on one\n");
}

}  // namespace
}  // namespace onnx_mem
