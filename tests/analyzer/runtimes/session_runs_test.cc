// onnxruntime sessions: what its arena took on the CPU, as it logged it, against our plan of the same session replayed
// in our arena. Not of the plan, and taken off: what kernels took before the first run (weights laid out anew). Where
// the session's own shape inference does not know all sizes it shares fewer buffers than our plan, which knows them
// all: those rows must agree to the doubling of the arena's regions.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>

#include "analyzer/allocators/replay.h"
#include "analyzer/memory/verify_program.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/runtimes/memory_pattern.h"
#include "analyzer/runtimes/planned_runs.h"
#include "nlohmann/json.hpp"

namespace onnx_mem {
namespace {

using nlohmann::json;

// On the CPU the caller's own inputs are read where they are.
MemoryProgram WithoutInputs(const MemoryProgram& program) {
  MemoryProgram result;
  result.steps = program.steps;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.category == Category::kTransientActivations) result.buffers.Add(buffer);
  }
  return result;
}

int64_t PatternBytes(const MemoryProgram& later) {
  for (const Buffer& buffer : later.buffers) {
    if (buffer.name == "activations at planned offsets") return buffer.bytes;
  }
  return 0;
}

json Sessions() {
  std::ifstream in(ONNX_MEM_SOURCE_DIR "/testdata/measured/onnxruntime_sessions.json");
  return json::parse(in)["sessions"];
}

TEST(SessionRuns, TheArenaGrowsAsOnnxruntimeLogged) {
  for (const json& row : Sessions()) {
    const std::string path = ONNX_MEM_SOURCE_DIR "/testdata/models/" + row["model"].get<std::string>() + ".onnx";
    SCOPED_TRACE(path);
    const absl::StatusOr<ModelFile> file = ModelFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    Bindings bindings{.batch = row["batch"].get<int64_t>()};
    if (row.contains("dims")) bindings.dims = row["dims"].get<std::map<std::string, int64_t>>();
    const absl::StatusOr<ImportedModel> model = file->Import(bindings);
    ASSERT_TRUE(model.ok()) << model.status();
    const bool free_dims = LeavesDimsFree(model->info);
    const MemoryProgram first = WithoutInputs(PlanSessionRun(model->graph, SessionOn::kCpuAsInFile, free_dims));
    ASSERT_TRUE(VerifyProgram(first).ok());
    const MemoryProgram later = TracePattern(first, IsTracedBySessions).program;
    ASSERT_TRUE(VerifyProgram(later).ok());
    const ReplayScript first_run(first), later_run(later);
    const std::array runs{&first_run, &later_run};
    const absl::StatusOr<AllocatorUsage> usage = Replay(runs, {.allocator = "ort"});
    ASSERT_TRUE(usage.ok());
    const int64_t measured = row["arena_bytes"].get<int64_t>() - row["before_first_run_bytes"].get<int64_t>();
    if (row.contains("shapes_unknown_to_session")) {
      EXPECT_LE(usage->peak_reserved_bytes, 2 * measured);
      EXPECT_GE(2 * usage->peak_reserved_bytes, measured);
    } else {
      EXPECT_EQ(usage->peak_reserved_bytes, measured);
    }
    if (row.contains("pattern_bytes")) {  // our sizes are rounded to 256 bytes, some of the session's to 64
      EXPECT_NEAR(PatternBytes(later), row["pattern_bytes"].get<int64_t>(), 1024);
    }
  }
}

}  // namespace
}  // namespace onnx_mem
