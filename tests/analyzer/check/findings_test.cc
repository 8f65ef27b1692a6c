#include "analyzer/check/findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace onnx_mem {
namespace {

struct Checked {
  Analysis analysis;
  std::vector<Diagnostic> findings;
  const Diagnostic* Find(Code code, std::string_view rewrite = "") const {
    const auto found = std::find_if(findings.begin(), findings.end(), [&](const Diagnostic& d) {
      return d.code == code && (rewrite.empty() || d.rewrite == rewrite);
    });
    return found == findings.end() ? nullptr : &*found;
  }
};

Checked Check(const std::string& name, Workload workload = {}) {
  const std::string path = std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + name + ".onnx";
  const absl::StatusOr<ModelFile> file = ModelFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  Study study(*file);
  absl::StatusOr<Analysis> analysis = study.Expected(workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  std::vector<Diagnostic> findings = CheckExport(study, workload, *analysis);
  return {*std::move(analysis), std::move(findings)};
}

int64_t Peak(const std::string& name, const Workload& workload) {
  const std::string path = std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + name + ".onnx";
  return Analyze(*ModelFile::Open(path), workload)->training()->peak_bytes;
}

int64_t Saved(const std::string& name, const Workload& workload) {
  const std::string path = std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + name + ".onnx";
  return Analyze(*ModelFile::Open(path), workload)->saved_activation_bytes;
}

// The bytes of a finding are the difference of two runs.
TEST(CheckExport, FoldedBatchNormsWithTheirBytes) {
  const Checked checked = Check("resnet18.eval.ts.op17");
  const Diagnostic* folded = checked.Find(Code::kBnFolded);
  ASSERT_NE(folded, nullptr);
  EXPECT_EQ(folded->count, 20);
  Workload as_is;
  as_is.run.batch_norm = BatchNormMode::kAsIs;
  EXPECT_EQ(folded->bytes, checked.analysis.training()->peak_bytes - Peak("resnet18.eval.ts.op17", as_is));
  EXPECT_GT(*folded->bytes, 0);
}

// Every rewrite that applied, with what the peak would be without it.
TEST(CheckExport, RewritesWithTheirBytes) {
  Workload workload;
  workload.bindings.batch = 8;
  const Checked checked = Check("vit_b_16.train.ts.op17", workload);
  for (const char* name : {"gelu", "attention", "linear-bias"}) {
    const Diagnostic* rewrite = checked.Find(Code::kRewrite, name);
    ASSERT_NE(rewrite, nullptr) << name;
    Workload without = workload;
    without.run.disabled_rewrites = {name};
    EXPECT_EQ(rewrite->bytes, checked.analysis.training()->peak_bytes - Peak("vit_b_16.train.ts.op17", without))
        << name;
  }
  EXPECT_LT(*checked.Find(Code::kRewrite, "gelu")->bytes, 0);
}

TEST(CheckExport, DropoutThatAnEvaluationExportLost) {
  Workload workload;
  workload.bindings.batch = 2;
  workload.bindings.dims["seq"] = 32;
  const Checked checked = Check("gpt2_sdpa.eval.ts.op17", workload);
  const Diagnostic* dropout = checked.Find(Code::kDropoutAssumed);
  ASSERT_NE(dropout, nullptr);
  Workload without = workload;
  without.run.dropout = 0.0;
  EXPECT_EQ(dropout->bytes, Saved("gpt2_sdpa.eval.ts.op17", workload) - Saved("gpt2_sdpa.eval.ts.op17", without));
  EXPECT_GT(dropout->bytes.value_or(0), 0);
}

TEST(CheckExport, ABatchThatTheFileFixes) {
  const Checked fixed = Check("resnet18.eval.ts.op13.b8");
  ASSERT_NE(fixed.Find(Code::kBakedBatch), nullptr);
  EXPECT_NE(fixed.Find(Code::kBakedBatch)->message.find("batch of 8"), std::string::npos);
  EXPECT_EQ(Check("resnet18.eval.ts.op17").Find(Code::kBakedBatch), nullptr);
}

TEST(CheckExport, NamesOfTheExportersMaking) {
  Checked folded = Check("resnet18.eval.ts.op17");
  EXPECT_EQ(folded.Find(Code::kWeightNames), nullptr);  // they go by their modules
  EXPECT_EQ(Check("resnet18.train.ts.op17").Find(Code::kWeightNames), nullptr);
  int64_t renamed = 0;
  for (Parameter& parameter : folded.analysis.parameters) {  // as in a file that tells no modules
    renamed += parameter.name != parameter.file_name;
    parameter.name = parameter.file_name;
  }
  const absl::StatusOr<ModelFile> file =
      ModelFile::Open(ONNX_MEM_SOURCE_DIR "/testdata/models/resnet18.eval.ts.op17.onnx");
  Study study(*file);
  folded.findings = CheckExport(study, Workload(), folded.analysis);
  ASSERT_NE(folded.Find(Code::kWeightNames), nullptr);
  EXPECT_EQ(folded.Find(Code::kWeightNames)->count, renamed);
}

TEST(CheckExport, OperatorsThatAHalfPrecisionExportKept) {
  const Checked half = Check("resnet18.fp16.train.ts.op17");
  if (const Diagnostic* islands = half.Find(Code::kFp32Islands)) {
    EXPECT_GE(*islands->bytes, 0);
  }
  EXPECT_EQ(Check("resnet18.train.ts.op17").Find(Code::kFp32Islands), nullptr);
}

TEST(CheckExport, WarningsFirstThenByBytes) {
  const Checked checked = Check("resnet18.eval.ts.op13.b8");
  ASSERT_GE(checked.findings.size(), 2u);
  for (size_t i = 1; i < checked.findings.size(); ++i) {
    const Diagnostic &a = checked.findings[i - 1], &b = checked.findings[i];
    EXPECT_GE(a.severity, b.severity);
    if (a.severity == b.severity) {
      EXPECT_GE(a.bytes.value_or(0), b.bytes.value_or(0));
    }
    EXPECT_FALSE(a.message.empty());
  }
}

// Every finding says what to do.
TEST(CheckExport, EveryFindingHasAFix) {
  for (const char* name : {"resnet18.eval.ts.op13.b8", "resnet18.eval.dynamo.op18", "resnet18.train.ts.op17"}) {
    for (const Diagnostic& finding : Check(name).findings) {
      const bool fix = std::any_of(finding.details.begin(), finding.details.end(), [](const std::string& line) {
        return line.starts_with("try: ") || line.starts_with("way out: ");
      });
      EXPECT_TRUE(fix) << name << " " << CodeOf(finding);
    }
  }
}

}  // namespace
}  // namespace onnx_mem
