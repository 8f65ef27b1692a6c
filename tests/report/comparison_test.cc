// The arithmetic of comparisons, on models of testdata.
#include "report/compare/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/report/sample_analysis.h"

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> ModelsIn(const fs::path& folder) {
  std::vector<fs::path> models;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent)) {
    if (entry.path().extension() == ".onnx") models.push_back(entry.path());
  }
  std::sort(models.begin(), models.end());
  return models;
}

// Every model of the folder as a side, at batch 2; those that need more dimensions than that are left out.
std::vector<ComparedSide> SidesOf(const std::vector<fs::path>& models) {
  std::vector<ComparedSide> sides;
  Workload workload;
  workload.bindings.batch = 2;
  for (const fs::path& path : models) {
    const absl::StatusOr<ModelFile> file = ModelFile::Open(path.string());
    if (!file.ok()) continue;
    const absl::StatusOr<Analysis> analysis = Analyze(*file, workload);
    if (analysis.ok()) sides.push_back(ComparedOf(*analysis));
  }
  return sides;
}

std::vector<int64_t> Deltas(const Change& change) {
  std::vector<int64_t> deltas;
  for (const auto* part : {&change.delta.training, &change.delta.inference}) {
    deltas.insert(deltas.end(), {(*part)->peak_bytes, (*part)->first_step_peak_bytes, (*part)->allocated_peak_bytes,
                                 (*part)->reserved_peak_bytes, (*part)->device_bytes});
    deltas.insert(deltas.end(), (*part)->breakdown.begin(), (*part)->breakdown.end());
  }
  deltas.push_back(change.delta.saved_activation_bytes);
  deltas.push_back(change.delta.end_of_forward_bytes);
  deltas.push_back(change.delta.forward_flops);
  deltas.push_back(change.delta.backward_flops);
  return deltas;
}

// (name on the first side, on the second, difference from the first to the second), in a fixed order.
std::vector<std::tuple<std::string, std::string, int64_t>> LayerDeltas(const Change& change, bool swapped) {
  std::vector<std::tuple<std::string, std::string, int64_t>> rows;
  for (const LayerChange& layer : *change.layers) {
    std::string base = layer.base_name, head = layer.presence == Presence::kGone ? "" : layer.name;
    if (swapped) std::swap(base, head);
    rows.emplace_back(base, head, swapped ? -layer.delta_bytes() : layer.delta_bytes());
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

void ExpectInvariants(const std::vector<ComparedSide>& sides) {
  for (const ComparedSide& a : sides) {
    const Change same = Compare(a, {a}).changes.front();
    for (int64_t delta : Deltas(same)) EXPECT_EQ(delta, 0) << a.report.model.path;
    for (const LayerChange& layer : *same.layers) {
      EXPECT_EQ(layer.delta_bytes(), 0) << a.report.model.path << " " << layer.name;
      EXPECT_EQ(layer.presence, Presence::kBoth);
    }
    EXPECT_TRUE(same.operators.empty()) << a.report.model.path;
  }
  for (size_t i = 0; i < sides.size(); ++i) {
    const ComparedSide& a = sides[i];
    const ComparedSide& b = sides[(i + 1) % sides.size()];  // a neighbour by name: often another export of the same
    const Change there = Compare(a, {b}).changes.front(), back = Compare(b, {a}).changes.front();
    std::vector<int64_t> negative = Deltas(back);
    for (int64_t& delta : negative) delta = -delta;
    EXPECT_EQ(Deltas(there), negative) << a.report.model.path;
    EXPECT_EQ(LayerDeltas(there, false), LayerDeltas(back, true)) << a.report.model.path;
    EXPECT_EQ(there.operators.size(), back.operators.size());
    int64_t sum = 0, coarse = 0, categories = 0;
    for (const LayerChange& layer : *there.layers) sum += layer.delta_bytes();
    for (const LayerChange& layer : Coarse(*there.layers)) coarse += layer.delta_bytes();
    for (int64_t bytes : there.delta.training->breakdown) categories += bytes;
    EXPECT_EQ(sum, there.delta.training->peak_bytes) << a.report.model.path;
    EXPECT_EQ(coarse, sum);
    EXPECT_EQ(categories, sum);
  }
}

TEST(Compare, IsADifferenceOnEveryShippedModel) {
  const std::vector<ComparedSide> sides = SidesOf(ModelsIn(fs::path(ONNX_MEM_SOURCE_DIR) / "testdata" / "models"));
  ASSERT_GT(sides.size(), 15u);
  ExpectInvariants(sides);
}

TEST(Compare, IsADifferenceOnEveryModelAtHand) {
  const std::vector<fs::path> models = ModelsIn(ONNX_MEM_UNPACKED_DIR "/truth/models");
  ASSERT_FALSE(models.empty());
  ExpectInvariants(SidesOf(models));
}

ComparedSide Sample() { return ComparedOf(SampleAnalysis()); }

TEST(Compare, MarksWhatIsOnOneSideOnly) {
  ComparedSide base = Sample(), head = Sample();
  head.layers->push_back({"/Cast_3", false, "cast ", 70});
  base.layers->push_back({"b.drop", true, "dropout ", 50});
  const std::vector<LayerChange> layers = *Compare(base, {head}).changes.front().layers;
  EXPECT_EQ(layers[0].name, "/Cast_3");
  EXPECT_EQ(layers[0].presence, Presence::kNew);
  EXPECT_EQ(layers[0].delta_bytes(), 70);
  EXPECT_EQ(layers[1].name, "b.drop");
  EXPECT_EQ(layers[1].presence, Presence::kGone);
  EXPECT_EQ(layers[1].delta_bytes(), -50);
}

TEST(Compare, LeavesOutWhatOneSideDoesNotHave) {
  ComparedSide head = Sample();
  head.report.runs.front().training.reset();
  head.layers.reset();
  const Change change = Compare(Sample(), {head}).changes.front();
  EXPECT_FALSE(change.delta.training);
  EXPECT_TRUE(change.delta.inference);
  EXPECT_FALSE(change.layers);
}

TEST(CheckGate, NamesTheFiguresThatGrewTooMuch) {
  ComparedSide head = Sample();
  head.report.runs.front().training->peak_bytes += 390;  // of 3904: just below 10 %
  EXPECT_TRUE(CheckGate(Compare(Sample(), {head}), 10).exceeded.empty());
  EXPECT_TRUE(CheckGate(Compare(head, {Sample()}), 0).exceeded.empty());
  const Gate gate = CheckGate(Compare(Sample(), {head}), 9.9);
  ASSERT_EQ(gate.exceeded.size(), 1u);
  EXPECT_EQ(gate.exceeded[0].figure, "training peak");
  EXPECT_EQ(gate.exceeded[0].head_bytes - gate.exceeded[0].base_bytes, 390);
}

TEST(Coarse, OpensWhatHoldsMostOfTheChange) {
  const std::vector<LayerChange> layers = {{"h.0.a", "h.0.a", Presence::kBoth, 100, 40},
                                           {"h.0.b", "h.0.b", Presence::kBoth, 10, 0},
                                           {"h.1.a", "h.1.a", Presence::kBoth, 100, 40},
                                           {"fc", "fc", Presence::kBoth, 20, 10},
                                           {"/Cast", "", Presence::kNew, 0, 5}};
  const std::vector<LayerChange> coarse = Coarse(layers);
  ASSERT_EQ(coarse.size(), 4u);
  EXPECT_EQ(coarse[0].name, "h.0");
  EXPECT_EQ(coarse[0].delta_bytes(), -70);
  EXPECT_EQ(coarse[1].name, "h.1");
  EXPECT_EQ(coarse[2].name, "fc");
  EXPECT_EQ(coarse[3].name, "/Cast");
  EXPECT_EQ(coarse[3].presence, Presence::kNew);
}

}  // namespace
}  // namespace onnx_mem
