// Which kernel attention runs where keys have fewer heads than queries, by the version of PyTorch and the card.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "analyzer/onnx/build/import.h"
#include "analyzer/study/study.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

constexpr int kOpset = 23;
// 2 x 4 x 64 x 64 scores are 131,072 bytes; the queries are 32,768.
constexpr char kAttention[] = R"(
  attention (float[2,4,64,16] x, float[2,2,64,16] z) => (float[2,4,64,16] y)
  <float[16] wq = ["location": "none"], float[16] wk = ["location": "none"], float[16] wv = ["location": "none"]>
  { q = Mul(x, wq)  k = Mul(z, wk)  v = Mul(z, wv)  y = Attention <is_causal = 1> (q, k, v) })";

Workload Of(std::optional<TorchVersion> torch, const std::string& vendor = "") {
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.platform.torch = torch;
  if (!vendor.empty()) workload.platform.card = CardKind{vendor, "", 0};
  return workload;
}

bool IsFused(const RunFigures& figures) {
  for (const Step& step : figures.program->steps) {
    if (step.op == "_scaled_dot_product_efficient_attention") return true;
  }
  return false;
}

bool IsFused(const Workload& workload, const std::string& producer = "") {
  absl::StatusOr<ImportedModel> model = ImportText(kAttention, {}, kOpset);
  EXPECT_TRUE(model.ok()) << model.status();
  model->info.producer = producer;
  Study study(*std::move(model));
  const absl::StatusOr<int64_t> peak_bytes = study.PeakBytes(workload);
  const absl::StatusOr<Analysis> analysis = study.Ask(workload);
  EXPECT_TRUE(peak_bytes.ok() && analysis.ok()) << analysis.status();
  EXPECT_EQ(*peak_bytes, analysis->training()->peak_bytes) << "of one study";
  return IsFused(*analysis->training());
}

TEST(AttentionVersions, FewerKeyHeadsRunFusedFrom214On) {
  EXPECT_FALSE(IsFused(Of(TorchVersion{2, 13})));
  EXPECT_TRUE(IsFused(Of(TorchVersion{2, 14})));
  EXPECT_TRUE(IsFused(Of(std::nullopt))) << "the newest";
  EXPECT_FALSE(IsFused(Of(TorchVersion{2, 14}, "AMD")));
}

TEST(AttentionVersions, TheFilesVersionCountsWhereNoneIsGiven) {
  EXPECT_FALSE(IsFused(Of(std::nullopt), "pytorch 2.9.1"));
  EXPECT_TRUE(IsFused(Of(TorchVersion{2, 14}), "pytorch 2.9.1"));
}

// A record of a version whose kernel takes them, of a run in one whose kernel does not.
TEST(AttentionVersions, ARecordedKernelRunsAsMatricesInOlderVersions) {
  const std::string record =
      "eager 1\ntorch 2.15.0\nprogram train\n%0 param w f32[2,2,64,16]\n%1 input x f32[2,4,64,16]\n"
      "%2 f32[2,4,64,16]/[4096,16,64,1], %3 f32[2,4,64], %4 i64[], %5 i64[] = _scaled_dot_product_efficient_attention "
      "%1 %0 %0 - T drop %1\n%6 f32[] = sum %2 drop %2\nreturn %6\ntree 1\n";
  const absl::StatusOr<ModelFile> file = ModelFile::Parse(record, "attention.eager");
  ASSERT_TRUE(file.ok()) << file.status();
  for (const int minor : {13, 14}) {
    const absl::StatusOr<Analysis> analysis = Analyze(*file, Of(TorchVersion{2, minor}));
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    EXPECT_EQ(IsFused(*analysis->training()), minor == 14);
  }
}

}  // namespace
}  // namespace onnx_mem
