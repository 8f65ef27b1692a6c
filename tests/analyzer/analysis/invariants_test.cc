// What must hold of every run of every model, whatever the numbers are:
//   1. every byte has a category, and the categories sum to the total, at every step;
//   2. exact live bytes <= allocated bytes <= reserved bytes, at every step, for every allocator;
//   3. a checkpointed step recomputes what its segments run, and holds no more at the end of the forward than without;
//   4. same input, same output.
// On the models of testdata, those packed in truth.tar.xz among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/allocators/replay.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/runtimes/figures.h"
#include "analyzer/study/study.h"

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> ModelsIn(const fs::path& folder) {
  std::vector<std::string> paths;
  if (!fs::exists(folder)) return paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// At a small batch; sequences at 32 where the file leaves them open, else what it accepts at its own batch.
absl::StatusOr<ImportedModel> Import(const std::string& path) {
  absl::StatusOr<ModelFile> file = ModelFile::Open(path);
  if (!file.ok()) return file.status();
  for (const Bindings& bindings : {Bindings{.batch = 2}, Bindings{.batch = 2, .dims = {{"seq", 32}}}}) {
    absl::StatusOr<ImportedModel> model = file->Import(bindings);
    if (model.ok()) return model;
  }
  const absl::StatusOr<Bindings> sizes = file->WithSizes({});
  if (!sizes.ok()) return sizes.status();
  return file->Import(*sizes);
}

void ExpectCategoriesSum(const MemoryProgram& program) {
  const Timeline timeline = ComputeTimeline(program);
  const std::vector<BytesByCategory> per_step = BytesPerStep(program);
  ASSERT_EQ(per_step.size(), timeline.live_bytes.size());
  for (size_t step = 0; step < per_step.size(); ++step) {
    ASSERT_EQ(std::accumulate(per_step[step].begin(), per_step[step].end(), int64_t{0}), timeline.live_bytes[step])
        << "step " << step;
  }
  EXPECT_EQ(std::accumulate(timeline.at_peak.begin(), timeline.at_peak.end(), int64_t{0}), timeline.peak_bytes);
}

// What is certain holds no more than what is likely, and that no more than what is possible.
void ExpectInsideBounds(const Graph& graph, int64_t peak_bytes) {
  Workload workload;
  Run& run = workload.run;
  run.training = false;
  const absl::StatusOr<Lowered> lowered = Prepare(graph, run);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  std::vector<Diagnostic> diagnostics = lowered->diagnostics;
  const auto lower_for = [&](const Run& other) { return Prepare(graph, other); };
  const absl::StatusOr<PeakBounds> bounds = BoundRun(*lowered, workload, {peak_bytes, true}, lower_for, diagnostics);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  EXPECT_LE(bounds->low_bytes, peak_bytes);
  EXPECT_GE(bounds->high_bytes, peak_bytes);
  run.inplace = "none";
  const absl::StatusOr<Enacted> apart = Enact(graph, run);
  ASSERT_TRUE(apart.ok()) << apart.status();
  EXPECT_GE(bounds->high_bytes, ComputeTimeline(apart->program).peak_bytes) << "nobody knows what was in place";
}

void ExpectLiveAllocatedReserved(MemoryProgram program) {
  for (Buffer& buffer : program.buffers) buffer.bytes = HasBlock(buffer) ? buffer.bytes : 0;
  const Timeline timeline = ComputeTimeline(program);
  for (const AllocatorRow& row : Allocators()) {
    SCOPED_TRACE(row.name);
    ReplayOptions options;
    options.allocator = row.name;
    options.per_step = true;
    const absl::StatusOr<AllocatorUsage> usage = Replay(program, options);
    ASSERT_TRUE(usage.ok()) << usage.status();
    ASSERT_EQ(usage->steps.size(), program.steps.size());
    for (size_t step = 0; step < usage->steps.size(); ++step) {
      const StepUsage& at = usage->steps[step];
      ASSERT_EQ(at.live_bytes, timeline.live_bytes[step]) << "step " << step;
      ASSERT_LE(at.live_bytes, at.allocated_bytes) << "step " << step;
      ASSERT_LE(at.allocated_bytes, at.reserved_bytes) << "step " << step;
    }
    EXPECT_GE(usage->peak_allocated_bytes, timeline.peak_bytes);
    EXPECT_GE(usage->peak_reserved_bytes, usage->peak_allocated_bytes);
  }
}

void ExpectInvariants(const std::string& path) {
  SCOPED_TRACE(path);
  const absl::StatusOr<ImportedModel> model = Import(path);
  ASSERT_TRUE(model.ok()) << model.status();
  Workload workload;
  const absl::StatusOr<Analysis> first = Study(*model).Ask(workload);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->parts.size(), 2u);
  for (const Part& part : first->parts) {
    SCOPED_TRACE(part.name);
    ExpectCategoriesSum(*part.figures->program);
    ExpectLiveAllocatedReserved(*part.figures->program);
  }
  ExpectInsideBounds(model->graph, first->inference()->peak_bytes);
  const absl::StatusOr<Analysis> second = Study(*model).Ask(workload);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*first->training()->program, *second->training()->program);
  EXPECT_EQ(*first->inference()->program, *second->inference()->program);
}

// Every module that is one run of nodes and saves something, checkpointed alone.
void ExpectCheckpointInvariants(const std::string& path) {
  SCOPED_TRACE(path);
  const absl::StatusOr<ImportedModel> model = Import(path);
  ASSERT_TRUE(model.ok()) << model.status();
  Run run;
  const absl::StatusOr<Lowered> lowered = Prepare(model->graph, run);
  ASSERT_TRUE(lowered.ok());
  const absl::StatusOr<Enacted> plain = EnactLowered(*lowered, run);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->recompute_flops, 0);
  std::vector<std::string> modules;
  for (const FrameworkNode& node : lowered->graph.nodes) {
    const std::string top = node.module.substr(0, node.module.find('.'));
    if (!top.empty() && std::find(modules.begin(), modules.end(), top) == modules.end()) modules.push_back(top);
  }
  for (const std::string& module : modules) {
    SCOPED_TRACE(module);
    run.segments = {{.modules = {module}, .nodes = {}}};
    const absl::StatusOr<Enacted> checkpointed = EnactLowered(*lowered, run);
    ASSERT_TRUE(checkpointed.ok()) << checkpointed.status();
    ExpectCategoriesSum(checkpointed->program);
    EXPECT_EQ(checkpointed->forward_flops, plain->forward_flops);
    EXPECT_EQ(checkpointed->backward_flops, plain->backward_flops);
    EXPECT_LE(checkpointed->recompute_flops, plain->forward_flops);
  }
}

class Shipped : public testing::TestWithParam<std::string> {};

TEST_P(Shipped, AnyRun) { ExpectInvariants(GetParam()); }
TEST_P(Shipped, CheckpointedRuns) { ExpectCheckpointInvariants(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Models, Shipped, testing::ValuesIn(ModelsIn(ONNX_MEM_SOURCE_DIR "/testdata/models")),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = fs::path(info.param).stem().string();
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !absl::ascii_isalnum(c); }, '_');
                           return name;
                         });

TEST(Measured, AnyRun) {
  const std::vector<std::string> models = ModelsIn(ONNX_MEM_UNPACKED_DIR "/truth/models");
  ASSERT_FALSE(models.empty());
  for (const std::string& path : models) ExpectInvariants(path);
}

}  // namespace
}  // namespace onnx_mem
