// What onnxruntime sessions took on the CPU, as its arena logged and the system told (scripts/measure_sessions.py),
// against our prediction: the arena's regions and the growth of the process, each within 5 %. Rows that say how they
// differ are known misses: they are held to be misses, so that whoever mends one takes the word out.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "analyzer/analysis/analysis.h"
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
    const std::string folder = row.contains("held_out") ? "/../shared/truth/models/" : "/testdata/models/";
    const std::string path = ONNX_MEM_SOURCE_DIR + folder + row["model"].get<std::string>() + ".onnx";
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
    const RunFigures& figures = *analysis->inference;
    const bool arena = Within(figures.session->arena_bytes, row["arena_bytes"].get<int64_t>());
    const bool resident = Within(figures.device_bytes, row["resident_bytes"].get<int64_t>());
    const std::string told = std::to_string(figures.session->arena_bytes) + " in the arena, " +
                             std::to_string(figures.device_bytes) + " resident";
    EXPECT_EQ(arena && resident, !row.contains("differs")) << told;
    (arena && resident ? hits : misses).insert(row["model"].get<std::string>());
    // What loading may leave in the heap is within the interval.
    EXPECT_LE(row["load_peak"].get<int64_t>(), figures.device_high_bytes + (8 << 20)) << told;
  }
  for (const std::string& model : misses) hits.erase(model);
  EXPECT_GE(hits.size(), 18u);
}

}  // namespace
}  // namespace onnx_mem
