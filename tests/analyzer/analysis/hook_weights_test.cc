// Weights that torch.nn.utils sets by a hook live until the module's next run: a training step has them at its peak in
// the optimizer, and an inference has those of the run before until each is made anew.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/runtimes/figures.h"
#include "analyzer/study/study.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

constexpr int64_t kWeightBytes = 512 * 512 * 4;
constexpr int64_t kResultBytes = 2 * 512 * 4;  // of the layer, which runs beside the weight alone

// A weight that is a quotient or a product, as torch.nn.utils.spectral_norm and prune make it.
std::string Net(std::string_view op, std::string_view parameter) {
  constexpr std::string_view kNet = R"(g (float[2,512] x) => (float[2,8] y)
    <float[512,512] PARAMETER = ["location": "none"], float[512,512] other = ["location": "none"],
     float[8,512] head = ["location": "none"]>
    { w = OP(PARAMETER, other)
      h = Gemm <transB=1> (x, w)
      r = Relu(h)
      y = Gemm <transB=1> (r, head) })";
  return absl::StrReplaceAll(absl::string_view(kNet.data(), kNet.size()),
                             {{"OP", absl::string_view(op.data(), op.size())},
                              {"PARAMETER", absl::string_view(parameter.data(), parameter.size())}});
}

int64_t PeakOf(std::string_view op, std::string_view parameter, bool training) {
  Workload workload;
  workload.run.training = training;
  const absl::StatusOr<Lowered> lowered = Prepare(ParseGraph(Net(op, parameter)), workload.run);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  const absl::StatusOr<Enacted> enacted = EnactLowered(*lowered, workload.run);
  EXPECT_TRUE(enacted.ok()) << enacted.status();
  return training ? *TrainingPeak(*enacted, workload) : ComputeTimeline(enacted->program).peak_bytes;
}

TEST(HookWeights, TheOptimizersStepRunsBesideThem) {
  for (const std::string_view op : {"Div", "Mul"}) {
    EXPECT_EQ(PeakOf(op, "weight_orig", true), PeakOf(op, "weight", true) + kWeightBytes) << op;
  }
}

TEST(HookWeights, AnInferenceHasThatOfTheRunBeforeToo) {
  EXPECT_EQ(PeakOf("Div", "weight_orig", false), PeakOf("Div", "weight", false) + kWeightBytes - kResultBytes);
}

}  // namespace
}  // namespace onnx_mem
