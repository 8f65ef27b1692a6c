// Published figures of real cards to the byte: testdata/cards/README.md says who measured what.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "analyzer/study/study.h"

namespace onnx_mem {
namespace {

// One training step with AdamW of the record, as the Trainer of Hugging Face runs it with PyTorch `torch` on `card`.
PeakFigures StepOn(const std::string& record, const std::string& card, TorchVersion torch) {
  const absl::StatusOr<ModelFile> file = ModelFile::Open(ONNX_MEM_SOURCE_DIR "/testdata/cards/" + record + ".eager");
  EXPECT_TRUE(file.ok()) << file.status();
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.bindings.batch = 2;
  workload.optimizer.name = "adamw";
  workload.platform.card = KindOf(*FindGpu(card));
  workload.platform.torch = torch;
  const absl::StatusOr<Analysis> analysis = Analyze(*file, workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return *analysis->training();
}

TEST(RealCards, ReservedIsExactWithTwoWorkspacesOnAnA10G) {
  EXPECT_EQ(StepOn("vit_b16", "A10G", {2, 4}).reserved_peak_bytes, 1956642816);
  EXPECT_EQ(StepOn("gpt2", "A10G", {2, 4}).reserved_peak_bytes, 2910846976);
}

TEST(RealCards, ReservedIsExactWithoutWorkspacesOnAnMI250) {
  EXPECT_EQ(StepOn("vit_b16", "MI250X", {2, 2}).reserved_peak_bytes, 1935671296);
  EXPECT_EQ(StepOn("gpt2", "MI250X", {2, 2}).reserved_peak_bytes, 2889875456);
}

// Two runs that were published differ by 258,048 bytes.
TEST(RealCards, AllocatedIsWithinAFiftiethOfAPercent) {
  const PeakFigures vit = StepOn("vit_b16", "MI250X", {2, 2});
  for (const double published : {1738014208.0, 1738272256.0}) {
    EXPECT_NEAR(static_cast<double>(vit.allocated_peak_bytes), published, published / 5000);
  }
}

}  // namespace
}  // namespace onnx_mem
