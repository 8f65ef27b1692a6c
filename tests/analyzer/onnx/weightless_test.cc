// Models that were saved without their weights.
#include "analyzer/onnx/read/weightless.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// A convolution whose weight's and bias's places are to be named, and a parameter of the model itself.
onnx::ModelProto Weightless() {
  onnx::ModelProto model = ModelOfText(R"(g (float[N,3,8,8] x, float[1,8,8,8] place, float[8,3,3,3] w, float[8] b)
      => (float[N,8,8,8] y)
      { c = Conv <pads = [1, 1, 1, 1]> (x, w, b)
        y = Add(c, place) })");
  for (onnx::ValueInfoProto& input : *model.mutable_graph()->mutable_input()) {
    if (input.name() == "w") input.set_name("conv.weight");
    if (input.name() == "b") input.set_name("conv.bias");
  }
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  node.set_input(1, "conv.weight");
  node.set_input(2, "conv.bias");
  return model;
}

absl::StatusOr<ImportedModel> ImportWeightless(const onnx::ModelProto& model, const Bindings& bindings) {
  absl::StatusOr<ModelFile> file = ModelFile::Parse(model.SerializeAsString(), "m.onnx");
  if (!file.ok()) return file.status();
  return file->Import(bindings);
}

std::string Initializers(const ImportedModel& imported) {
  std::string names;
  for (TensorId id : imported.graph.initializers)
    absl::StrAppend(&names, imported.graph.tensors[id].name, " ", ToString(imported.graph.tensors[id].shape), "; ");
  return names;
}

TEST(Weightless, InputsWithNamesOfParametersAreWeights) {
  const absl::StatusOr<ImportedModel> imported = ImportWeightless(Weightless(), {.batch = 4});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.inputs.size(), 1u);
  EXPECT_EQ(Initializers(*imported), "place 1x8x8x8; conv.weight 8x3x3x3; conv.bias 8; ");
  const auto& notes = imported->diagnostics;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const auto& d) { return d.code == Code::kWeightsAsInputs; }));
}

// What is called weight and read as an activation is an input, and so is the cache of a language model.
TEST(Weightless, InputsStayInputs) {
  const absl::StatusOr<ImportedModel> imported = ImportText(R"(g (float[N,8] x, float[4,8] w) => (float[N,8] y)
      { t = Transpose(w)
        s = MatMul(x, t)
        y = MatMul(s, w) })",
                                                            {.batch = 2});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.inputs.size(), 2u);
}

// dynamo's include_initializers=False: shapes in value_info are enough.
TEST(Weightless, ValueInfoOfAWeightThatIsLeftOut) {
  onnx::ModelProto model = Weightless();
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 1; i < graph.input_size(); ++i) *graph.add_value_info() = graph.input(i);
  graph.mutable_input()->DeleteSubrange(1, graph.input_size() - 1);
  const absl::StatusOr<ImportedModel> imported = ImportWeightless(model, {.batch = 4});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.initializers.size(), 3u);
}

TEST(Weightless, WithoutShapesItSaysHowToSaveThem) {
  onnx::ModelProto model = Weightless();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_input()->DeleteSubrange(1, graph.input_size() - 1);
  const absl::StatusOr<ImportedModel> imported = ImportWeightless(model, {.batch = 4});
  ASSERT_FALSE(imported.ok());
  const Diagnostic d = DiagnosticOf(imported.status());
  EXPECT_EQ(d.code, Code::kNoWeights);
  ASSERT_FALSE(d.details.empty());
  EXPECT_TRUE(absl::StrContains(d.details[0], "keep_initializers_as_inputs=True"));
}

}  // namespace
}  // namespace onnx_mem
