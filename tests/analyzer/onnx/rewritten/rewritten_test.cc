// The same model in another file: each committed model, by each rewrite that changes nothing of what runs. What
// a rewrite does not take away stays to the byte; where it takes what a figure was read from (a name, an order), the
// interval holds the figure of the file as it was, or a warning that was not there tells.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/study/study.h"
#include "onnx/onnx_pb.h"
#include "tests/analyzer/onnx/rewritten/file_rewrites.h"

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> CommittedModels() {
  std::vector<std::string> models;
  for (const auto& entry : fs::directory_iterator(ONNX_MEM_SOURCE_DIR "/testdata/models")) {
    if (entry.path().extension() == ".onnx") models.push_back(entry.path().filename().string());
  }
  std::sort(models.begin(), models.end());
  return models;
}

onnx::ModelProto ReadModel(const std::string& name) {
  std::ifstream in(ONNX_MEM_SOURCE_DIR "/testdata/models/" + name, std::ios::binary);
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromIstream(&in)) << name;
  return model;
}

// A batch of 4, every other free dimension 64.
Bindings BindingsOf(const onnx::ModelProto& model) {
  Bindings bindings;
  std::set<std::string> batches, lengths;
  for (const auto& input : model.graph().input()) {
    const auto& dims = input.type().tensor_type().shape().dim();
    for (int i = 0; i < dims.size(); ++i) {
      const std::string& name = dims[i].dim_param();  // a name, or a formula of others
      if (!name.empty() && name.find(' ') == std::string::npos) (i == 0 ? batches : lengths).insert(name);
    }
  }
  if (!batches.empty()) bindings.batch = 4;
  for (const std::string& name : lengths) {
    if (!batches.contains(name)) bindings.dims[name] = 64;
  }
  return bindings;
}

absl::StatusOr<Analysis> AnalysisOf(const onnx::ModelProto& model) {
  absl::StatusOr<ModelFile> file = ModelFile::Parse(model.SerializeAsString(), "model.onnx");
  if (!file.ok()) return file.status();
  Workload workload;
  workload.bindings = BindingsOf(model);
  return Study(*file).AskWithRange(workload);
}

std::set<std::string> Warnings(const Analysis& analysis) {
  std::set<std::string> codes;
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    if (diagnostic.severity != Severity::kNote) codes.insert(CodeOf(diagnostic));
  }
  return codes;
}

std::string Show(const RunFigures& figures) {
  return absl::StrCat(figures.peak_bytes, " (", figures.peak_low_bytes, " to ", figures.peak_high_bytes, ")");
}

// "" where `after` keeps the promise of `before`; else what it says instead.
std::string Broken(const RunFigures& before, const RunFigures& after, bool is_reported) {
  const bool holds = after.peak_low_bytes <= before.peak_bytes && before.peak_bytes <= after.peak_high_bytes;
  if (before.peak_bytes == after.peak_bytes || holds || is_reported) return "";
  return absl::StrCat(Show(after), " instead of ", Show(before));
}

class Rewritten : public testing::TestWithParam<std::string> {};

TEST_P(Rewritten, FilesOfOneModelAnswerAlike) {
  const onnx::ModelProto model = ReadModel(GetParam());
  const absl::StatusOr<Analysis> before = AnalysisOf(model);
  ASSERT_TRUE(before.ok()) << before.status();
  for (const FileRewrite& rewrite : FileRewrites()) {
    onnx::ModelProto other = model;
    rewrite.apply(other);
    const absl::StatusOr<Analysis> after = AnalysisOf(other);
    ASSERT_TRUE(after.ok()) << rewrite.name << ": " << after.status();
    const std::set<std::string> known = Warnings(*before), codes = Warnings(*after);
    const bool is_reported = !std::includes(known.begin(), known.end(), codes.begin(), codes.end());
    EXPECT_EQ(Broken(*before->training(), *after->training(), is_reported), "") << rewrite.name << ", training";
    EXPECT_EQ(Broken(*before->inference(), *after->inference(), is_reported), "") << rewrite.name << ", inference";
    if (!rewrite.is_exact) continue;
    EXPECT_EQ(before->training()->peak_bytes, after->training()->peak_bytes) << rewrite.name;
    EXPECT_EQ(before->inference()->peak_bytes, after->inference()->peak_bytes) << rewrite.name;
    EXPECT_EQ(before->parameter_count, after->parameter_count) << rewrite.name;
    EXPECT_EQ(before->buffer_bytes, after->buffer_bytes) << rewrite.name;
  }
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Committed, Rewritten, testing::ValuesIn(CommittedModels()), TestName);

}  // namespace
}  // namespace onnx_mem
