// Measured runs of torch.utils.checkpoint over chains of modules (peak of the second step, FLOPs computed twice)
// against the accountant with the same segments. The measurements are beside the checkout of a developer; without them
// there is nothing to test.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/study/study.h"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

// "boundaries": the elements of the chain that begin a segment; "last_plain": the last segment is not checkpointed.
std::vector<Segment> SegmentsOf(const Json& run, int elements) {
  std::vector<int> cuts = {0};
  for (const Json& boundary : run.at("boundaries")) cuts.push_back(boundary.get<int>());
  cuts.push_back(elements);
  std::vector<Segment> segments;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    Segment segment;
    for (int k = cuts[i]; k < cuts[i + 1]; ++k) segment.modules.push_back(std::to_string(k));
    segments.push_back(std::move(segment));
  }
  if (run.at("last_plain").get<bool>()) segments.pop_back();
  return segments;
}

AttentionKernel AttentionOf(const Json& run) {
  const Json name = run.value("attention", Json());
  if (name == "eager") return AttentionKernel::kEager;
  if (name == "math") return AttentionKernel::kMath;
  if (name == "flash") return AttentionKernel::kFlash;
  if (name == "efficient") return AttentionKernel::kEfficient;
  return AttentionKernel::kAuto;
}

Bindings BindingsOf(const Json& model, const Json& file, const Json& run) {
  Bindings bindings;
  bindings.batch = run.at("batch").get<int64_t>();
  if (!run.contains("seq") || run.at("seq").is_null()) return bindings;
  if (file.value("seq", Json()) == "dynamic") {
    bindings.dims["seq"] = run.at("seq").get<int64_t>();
    return bindings;
  }
  for (const Json& measured : model.at("measurements")) {
    if (measured.at("batch") != run.at("batch") || measured.value("seq", Json()) != run.at("seq")) continue;
    for (size_t i = 0; i < measured.at("input_shapes").size(); ++i) {
      bindings.inputs[file.at("graph_inputs").at(i)] = measured.at("input_shapes").at(i).get<Dims>();
    }
    break;
  }
  return bindings;
}

struct Tally {
  int runs = 0, peaks = 0, with_flops = 0, flops = 0;
};

void MeasureModel(const std::string& root, const Json& model, Tally& tally) {
  const Json* chain = nullptr;
  for (const Json& file : model.at("files")) {
    if (file.value("chain", false)) chain = chain == nullptr ? &file : chain;
  }
  if (chain == nullptr || model.value("chain", Json()).is_null()) return;
  const absl::StatusOr<ModelFile> file = ModelFile::Open(root + chain->at("file").get<std::string>());
  ASSERT_TRUE(file.ok()) << file.status();
  const bool mse = model.at("measurements").front().at("loss") == "mse";
  for (const Json& run : model.at("ckpt")) {
    if (!run.contains("step2_peak")) continue;
    Workload workload;
    workload.mode = Mode::kTraining;
    workload.bindings = BindingsOf(model, *chain, run);
    workload.optimizer = *ParseOptimizer("momentum");
    workload.run.loss = mse ? LossKind::kMse : LossKind::kCrossEntropy;
    workload.run.attention = AttentionOf(run);
    workload.run.segments = SegmentsOf(run, model.at("chain").at("n").get<int>());
    const absl::StatusOr<Analysis> analysis = Analyze(*file, workload);
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    const auto peak = run.at("step2_peak").get<double>();
    const auto flops = run.value("recompute_flops", int64_t{0});
    ++tally.runs;
    tally.peaks += std::abs(static_cast<double>(analysis->training()->peak_bytes) - peak) <= 1e-3 * peak;
    tally.with_flops += flops != 0;
    tally.flops += flops != 0 && analysis->recompute_flops == flops;
  }
}

TEST(MeasuredCheckpoints, PeakAndRecomputeAreWhatWasMeasured) {
  const std::string root = ONNX_MEM_UNPACKED_DIR "/truth/";
  std::ifstream file(root + "truth.json");
  ASSERT_TRUE(file);
  const Json truth = Json::parse(file);
  Tally tally;
  for (const auto& [name, model] : truth.at("models").items()) {
    SCOPED_TRACE(name);
    if (model.value("ckpt", Json::array()).empty()) continue;
    MeasureModel(root, model, tally);
  }
  EXPECT_GE(tally.runs, 100);
  EXPECT_GE(tally.peaks, 0.95 * tally.runs);
  EXPECT_GE(tally.flops, 0.95 * tally.with_flops);
  RecordProperty("runs", tally.runs);
  RecordProperty("peaks_within_a_thousandth", tally.peaks);
  RecordProperty("flops_exact", tally.flops);
}

}  // namespace
}  // namespace onnx_mem
