// Shapes and dtypes of every value against what onnxruntime computed for the same file and inputs (format:
// shapes.py in testdata/truth.tar.xz).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "analyzer/onnx/infer/shapes.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "onnx/inliner/inliner.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

const std::string kTruth = ONNX_MEM_UNPACKED_DIR "/truth";

std::vector<std::string> Recordings(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(kTruth + folder, absent)) {
    files.push_back(folder + "/" + entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string RecordedDType(const std::string& recorded) {
  if (recorded == "float") return "float32";
  return recorded == "double" ? "float64" : recorded;
}

onnx::ModelProto ReadModel(const std::string& path) {
  onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(model.ParseFromIstream(&file)) << path;
  if (model.functions_size() > 0) onnx::inliner::InlineLocalFunctions(model);
  return model;
}

// "wanted, got" for every recorded value that differs. Inner values of inlined functions are not recorded.
std::vector<std::string> Differences(const InferredGraph& inferred, const nlohmann::json& recorded,
                                     bool& upper_bounds) {
  std::vector<std::string> differences;
  for (const auto& [name, truth] : recorded.items()) {
    // Sequences and maps are recorded by their type alone: they have no shape.
    if (std::string(truth[0]).find('(') != std::string::npos) continue;
    const auto found = inferred.values.find(name);
    const ValueFact fact = found != inferred.values.end() ? found->second : ValueFact();
    const Dims dims(truth[1].begin(), truth[1].end());
    const std::string dtype = RecordedDType(truth[0]);
    if (fact.upper_bound && NameOf(fact.dtype) == dtype && fact.shape.rank() == dims.size()) {
      upper_bounds = true;
      for (size_t i = 0; i < dims.size(); ++i) {
        if (fact.shape.dims[i] >= 0 && fact.shape.dims[i] < dims[i]) differences.push_back(name + ": bound too small");
      }
      continue;
    }
    if (fact.shape == Shape(dims) && NameOf(fact.dtype) == dtype) continue;
    differences.push_back(name + ": want " + dtype + " " + ToString(Shape(dims)) + ", got " +
                          std::string(NameOf(fact.dtype)) + " " + ToString(fact.shape));
  }
  return differences;
}

class RecordedShapes : public testing::TestWithParam<std::string> {};

TEST_P(RecordedShapes, AreInferred) {
  std::ifstream file(kTruth + GetParam());
  const nlohmann::json record = nlohmann::json::parse(file);
  const std::string root = GetParam().rfind("/wild/", 0) == 0 ? kTruth + "/wild/" : kTruth + "/";
  const std::string name = record["model"];
  const onnx::ModelProto model = ReadModel(std::filesystem::exists(root + name) ? root + name : kTruth + "/" + name);
  for (const auto& run : record["runs"]) {
    absl::flat_hash_map<std::string, Shape> inputs;
    for (const auto& [input, type] : run["inputs"].items()) {
      inputs[input] = Shape(Dims(type[1].begin(), type[1].end()));
    }
    absl::StatusOr<InferredGraph> inferred = InferShapes(model, {&inputs});
    ASSERT_TRUE(inferred.ok()) << inferred.status();
    bool upper_bounds = false;
    const std::vector<std::string> differences = Differences(*inferred, run["values"], upper_bounds);
    for (size_t i = 0; i < std::min<size_t>(differences.size(), 12); ++i) ADD_FAILURE() << differences[i];
    EXPECT_EQ(differences.size(), 0u) << "of " << run["values"].size();
  }
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RecordedShapes);
INSTANTIATE_TEST_SUITE_P(Zoo, RecordedShapes, testing::ValuesIn(Recordings("/shapes")), TestName);
INSTANTIATE_TEST_SUITE_P(Wild, RecordedShapes, testing::ValuesIn(Recordings("/wild/shapes")), TestName);

}  // namespace
}  // namespace onnx_mem
