#include "analyzer/onnx/read/tied_weights.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/onnx/build/import.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

constexpr int64_t kWords = 128, kWidth = 40;

std::vector<float> Table() {
  std::vector<float> values(kWords * kWidth);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.25f;
  return values;
}

std::vector<float> Transposed(const std::vector<float>& table) {
  std::vector<float> values(table.size());
  for (int64_t row = 0; row < kWords; ++row) {
    for (int64_t column = 0; column < kWidth; ++column) values[column * kWords + row] = table[row * kWidth + column];
  }
  return values;
}

std::string BytesOf(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

onnx::TensorProto& AddMatrix(onnx::ModelProto& model, const std::string& name, int64_t rows, int64_t columns) {
  onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(rows);
  tensor.add_dims(columns);
  return tensor;
}

// A table and a head with the contents given.
onnx::ModelProto LanguageModel(const std::vector<float>& table, const std::vector<float>& head,
                               bool transposed = true) {
  onnx::ModelProto model = ModelOfText(
      transposed ? "g (int64[2] ids) => (float y) { e = Gather(table, ids) y = MatMul(e, head) }"
                 : "g (int64[2] ids) => (float y) { e = Gather(table, ids) y = Gemm<transB = 1>(e, head) }");
  AddMatrix(model, "table", kWords, kWidth).set_raw_data(BytesOf(table));
  AddMatrix(model, "head", transposed ? kWidth : kWords, transposed ? kWords : kWidth).set_raw_data(BytesOf(head));
  return model;
}

ImportedModel ImportOrDie(const onnx::ModelProto& model) {
  auto file = ModelFile::Parse(model.SerializeAsString(), "lm.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  auto imported = file->Import({});
  EXPECT_TRUE(imported.ok()) << imported.status();
  return *std::move(imported);
}

bool Says(const ImportedModel& model, std::string_view code) {
  for (const Diagnostic& diagnostic : model.diagnostics) {
    if (CodeOf(diagnostic) == code) return true;
  }
  return false;
}

TEST(TiedWeights, ATransposedCopyIsATransposeOfTheTable) {
  const ImportedModel model = ImportOrDie(LanguageModel(Table(), Transposed(Table())));
  EXPECT_EQ(model.graph.initializers.size(), 1u);
  EXPECT_EQ(model.graph.nodes[NodeId(0)].op.str(), "Transpose");
  EXPECT_TRUE(Says(model, "tied-weights"));
}

TEST(TiedWeights, AnEqualCopyIsTheTable) {
  const ImportedModel model = ImportOrDie(LanguageModel(Table(), Table(), /*transposed=*/false));
  EXPECT_EQ(model.graph.initializers.size(), 1u);
  EXPECT_EQ(model.graph.nodes[NodeId(0)].op.str(), "Identity");
}

Contents ContentsOf(const Graph& graph, std::string_view name) {
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.name == name) return tensor.contents;
  }
  ADD_FAILURE() << "no tensor " << name;
  return Contents::kUnseen;
}

TEST(TiedWeights, PackedFloatsAreReadAsWell) {
  onnx::ModelProto proto = LanguageModel(Table(), Transposed(Table()));
  for (onnx::TensorProto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    for (float value : tensor.name() == "table" ? Table() : Transposed(Table())) tensor.add_float_data(value);
    tensor.clear_raw_data();
  }
  EXPECT_EQ(ImportOrDie(proto).graph.initializers.size(), 1u);
}

TEST(TiedWeights, OtherContentsAreAWeightOfItsOwnAndSaySo) {
  std::vector<float> head = Transposed(Table());
  for (float& value : head) value += 0.125f;
  const ImportedModel model = ImportOrDie(LanguageModel(Table(), head));
  EXPECT_EQ(model.graph.initializers.size(), 2u);
  EXPECT_FALSE(Says(model, "tied-weights"));
  EXPECT_EQ(ContentsOf(model.graph, "head"), Contents::kNoEmbedding);
  EXPECT_EQ(ContentsOf(model.graph, "table"), Contents::kUnseen);
}

TEST(TiedWeights, ZerosAreNoEvidence) {
  const std::vector<float> zeros(Table().size(), 0.0f);
  const ImportedModel model = ImportOrDie(LanguageModel(zeros, zeros));
  EXPECT_EQ(model.graph.initializers.size(), 2u);
  EXPECT_EQ(ContentsOf(model.graph, "head"), Contents::kUnseen);
}

TEST(TiedWeights, AbsentContentsAreNoEvidence) {
  const Graph graph = ParseGraph(R"(g (int64[2] ids) => (float y)
      <float[128,40] table = ["location": "none"], float[40,128] head = ["location": "none"]>
      { e = Gather(table, ids) y = MatMul(e, head) })");
  EXPECT_EQ(graph.initializers.size(), 2u);
}

// A folder with a model and its weights beside it; removed at the end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / absl::StrCat("onnx_mem_tied_", getpid())) {
    std::filesystem::create_directories(path_ / "inner");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

size_t WeightsOf(const std::string& path) {
  auto file = ModelFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  auto imported = file->Import({});
  EXPECT_TRUE(imported.ok()) << imported.status();
  return imported->graph.initializers.size();
}

TEST(TiedWeights, ContentsBesideTheFileCountAndThoseElsewhereAreNotRead) {
  const Folder folder;
  const std::string table = BytesOf(Table());
  folder.Write("weights.bin", table + BytesOf(Transposed(Table())));
  onnx::ModelProto model = LanguageModel({}, {});
  const auto place = [&](const std::string& location) {
    int64_t offset = 0;
    for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
      tensor.clear_raw_data();
      tensor.clear_external_data();
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      for (const auto& [key, value] : {std::pair("location", location), std::pair("offset", absl::StrCat(offset))}) {
        auto& entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
      }
      offset += static_cast<int64_t>(table.size());
    }
    return model.SerializeAsString();
  };
  EXPECT_EQ(WeightsOf(folder.Write("lm.onnx", place("weights.bin"))), 1u);
  EXPECT_EQ(WeightsOf(folder.Write("inner/lm.onnx", place("../weights.bin"))), 2u);
  EXPECT_EQ(WeightsOf(folder.Write("lm.onnx", place("absent.bin"))), 2u);
}

}  // namespace
}  // namespace onnx_mem
