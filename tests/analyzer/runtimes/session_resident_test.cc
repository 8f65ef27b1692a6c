// What onnxruntime sessions took on the CPU, as its arena logged and the system reported
// (studies/2026-11-23-sessions/measure_sessions.py), against our prediction: the arena's regions, and what the process
// has in use when the heap was trimmed, each within 5 %; and what it shows when nothing was trimmed. Rows that say how
// they differ are known misses: they are held to be misses, so that whoever mends one takes the word out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/study/study.h"
#include "nlohmann/json.hpp"

namespace onnx_mem {
namespace {

using nlohmann::json;

bool Within(int64_t predicted, int64_t measured) {
  return std::abs(static_cast<double>(predicted - measured)) <= 0.05 * static_cast<double>(measured);
}

TEST(SessionResident, ArenaAndResidentGrowthAreWithinFivePercent) {
  std::ifstream in(ONNX_MEM_SOURCE_DIR "/testdata/measured/onnxruntime_cpu.json");
  std::set<std::string> hits, misses;  // models, at one batch at least
  const json measured = json::parse(in);
  for (const json& row : measured["sessions"]) {
    const std::string folder =
        row.contains("held_out") ? ONNX_MEM_UNPACKED_DIR "/truth/models/" : ONNX_MEM_SOURCE_DIR "/testdata/models/";
    const std::string path = folder + row["model"].get<std::string>() + ".onnx";
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(row.dump());
    const absl::StatusOr<ModelFile> file = ModelFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    Workload workload;
    workload.mode = Mode::kInference;
    workload.allocator = "ort";
    workload.device = Device::kCpu;
    if (!row["batch"].is_null()) workload.bindings.batch = row["batch"].get<int64_t>();
    workload.bindings.dims = row["dims"].get<std::map<std::string, int64_t>>();
    const absl::StatusOr<Analysis> analysis = Analyze(*file, workload);
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    const RunFigures& figures = *analysis->inference();
    const bool arena = Within(figures.session->arena_bytes, row["arena_bytes"].get<int64_t>());
    const bool resident = Within(figures.device_low_bytes, row["resident_bytes"].get<int64_t>());
    const std::string reported = std::to_string(figures.session->arena_bytes) + " in the arena, " +
                                 std::to_string(figures.device_low_bytes) + " in use";
    EXPECT_EQ(arena && resident, !row.contains("differs")) << reported;
    (arena && resident ? hits : misses).insert(row["model"].get<std::string>());
    // What loading takes for a time is within the interval.
    EXPECT_LE(row["load_peak"].get<int64_t>(), figures.device_high_bytes + (8 << 20)) << reported;
  }
  for (const std::string& model : misses) hits.erase(model);
  EXPECT_GE(hits.size(), 18u);
}

std::string PathOf(const json& row) {
  const std::string name = row["model"].get<std::string>();
  const bool quantized = name.find("int8") != std::string::npos;
  return std::string(ONNX_MEM_SOURCE_DIR) + (quantized ? "/testdata/measured/sessions/" : "/testdata/models/") + name +
         ".onnx";
}

RunFigures FiguresOf(const json& row) {
  const absl::StatusOr<ModelFile> file = ModelFile::Open(PathOf(row));
  EXPECT_TRUE(file.ok()) << file.status();
  Workload workload;
  workload.mode = Mode::kInference;
  workload.allocator = "ort";
  workload.device = Device::kCpu;
  workload.bindings.batch = row["batch"].get<int64_t>();
  workload.bindings.dims = row["dims"].get<std::map<std::string, int64_t>>();
  absl::StatusOr<ImportedModel> model = file->Import(workload.bindings);
  EXPECT_TRUE(model.ok()) << model.status();
  model->info.weights_beside = row.value("weights_beside", false);
  absl::StatusOr<Analysis> analysis = Study(*std::move(model)).Ask(workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return *analysis->inference();
}

// VmRSS of a process that trims nothing. It differs by a tenth from run to run, as the order of hash tables does.
TEST(SessionResident, TheHeadlineIsWhatVmRssShows) {
  std::ifstream in(ONNX_MEM_SOURCE_DIR "/testdata/measured/onnxruntime_resident.json");
  const json measured = json::parse(in);
  std::vector<double> errors;
  for (const json& row : measured["sessions"]) {
    SCOPED_TRACE(row.dump());
    const RunFigures figures = FiguresOf(row);
    const double resident = row["resident"].get<double>();
    const double error = static_cast<double>(figures.device_bytes) / resident - 1;
    errors.push_back(std::abs(error));
    EXPECT_LE(figures.device_low_bytes, row["resident"].get<int64_t>());
    EXPECT_GE(figures.device_high_bytes, row["resident"].get<int64_t>() * 9 / 10);
    EXPECT_LE(std::abs(error), 0.25) << figures.device_bytes;
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LE(errors[errors.size() / 2], 0.07);
}

}  // namespace
}  // namespace onnx_mem
