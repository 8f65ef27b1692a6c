// Default exports of modules that were just made (testdata/fresh): the exporter's optimizer folds every BatchNorm,
// drops biases of zeros and merges equal tensors. What the module has is counted all the same. Peaks were measured with
// PyTorch: a batch of 4, the sum of the output as loss, Adam.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analyzer/study/study.h"

namespace onnx_mem {
namespace {

Workload Measured() {
  Workload workload;
  workload.bindings.batch = 4;
  workload.run.loss = LossKind::kSum;
  return workload;
}

Analysis Analyzed(const std::string& name, const Workload& workload) {
  const absl::StatusOr<ModelFile> file =
      ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/fresh/" + name + ".onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  absl::StatusOr<Analysis> analysis = Analyze(*file, workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return *std::move(analysis);
}

std::map<std::string, Dims> Shapes(const Analysis& analysis) {
  std::map<std::string, Dims> shapes;
  for (const Parameter& parameter : analysis.parameters) {
    EXPECT_TRUE(parameter.has_gradient) << parameter.name;
    EXPECT_TRUE(shapes.emplace(parameter.name, parameter.dims).second) << parameter.name;
  }
  return shapes;
}

const Diagnostic* Find(const std::vector<Diagnostic>& diagnostics, Code code) {
  const auto it = std::find_if(diagnostics.begin(), diagnostics.end(), [&](const auto& d) { return d.code == code; });
  return it == diagnostics.end() ? nullptr : &*it;
}

TEST(FreshExports, FoldedNormsHaveTheirNamesAndOnlyWhatTheyHave) {
  constexpr int64_t kUnused = 21;  // a layer that is never called: nothing in the file says how large it is
  for (const char* name : {"fresh_norms.train", "fresh_norms.eval"}) {
    const Analysis analysis = Analyzed(name, Measured());
    EXPECT_EQ(analysis.parameter_count, 2131 - kUnused) << name;
    EXPECT_EQ(analysis.buffer_bytes, 544) << name << ": six norms and their counters";
    EXPECT_EQ(analysis.training()->peak_bytes, 1'153'368 - 4 * kUnused) << name;
    const std::map<std::string, Dims> shapes = Shapes(analysis);
    for (const auto& [norm, channels] : {std::pair("bn1", 8), {"bn2", 12}, {"bn4", 10}, {"pre", 10}, {"bn5", 6}}) {
      EXPECT_EQ(shapes.at(std::string(norm) + ".weight"), Dims{channels}) << name;
      EXPECT_EQ(shapes.at(std::string(norm) + ".bias"), Dims{channels}) << name;
    }
    EXPECT_FALSE(shapes.contains("bn3.weight")) << "affine=False";
    EXPECT_EQ(shapes.at("conv2.bias"), Dims{12}) << "in front of a norm, of zeros";
    EXPECT_EQ(shapes.at("head.bias"), Dims{4});
    EXPECT_FALSE(shapes.contains("conv1.bias"));
    ASSERT_NE(Find(analysis.diagnostics, Code::kBnFolded), nullptr);
    EXPECT_EQ(Find(analysis.diagnostics, Code::kBnFolded)->count, 5);
    ASSERT_NE(Find(analysis.diagnostics, Code::kParameterUnread), nullptr);
    EXPECT_EQ(Find(analysis.diagnostics, Code::kParameterUnread)->details[0], "what: unused.weight, unused.bias");
  }
}

TEST(FreshExports, FoldedPadsAreCopies) {
  const Analysis analysis = Analyzed("fresh_pads.train", Measured());
  EXPECT_EQ(analysis.training()->peak_bytes, 336'716);
  EXPECT_EQ(analysis.parameter_count, 2424);
  EXPECT_EQ(Find(analysis.diagnostics, Code::kExporterRule), nullptr);
}

TEST(FreshExports, EqualTensorsOfDifferentModulesAreTheirs) {
  const Analysis analysis = Analyzed("fresh_tokens.train", Measured());
  EXPECT_EQ(analysis.training()->peak_bytes, 35'056);
  EXPECT_EQ(analysis.parameter_count, 1424) << "the head shares the embedding's weight";
  const std::map<std::string, Dims> shapes = Shapes(analysis);
  for (const char* name : {"scale", "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias", "fc1.bias", "fc2.bias"})
    EXPECT_TRUE(shapes.contains(name)) << name;
  EXPECT_EQ(Find(analysis.diagnostics, Code::kParameterUnread), nullptr) << "embed.weight is head.weight";
  EXPECT_EQ(Find(analysis.plain_rewrites, Code::kMergedTensors)->count, 4);
  EXPECT_EQ(Find(analysis.plain_rewrites, Code::kDroppedBias)->count, 1);
}

}  // namespace
}  // namespace onnx_mem
