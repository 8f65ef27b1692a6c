#include "analyzer/study/varied_steps.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

#include "analyzer/allocators/replay.h"
#include "analyzer/eager/optimizer/optimizer.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/runtimes/library_workspace.h"

namespace onnx_mem {
namespace {

MemoryProgram FirstOf(const LocalStep& step, const Workload& workload) {
  if (!workload.run.training) return *step.program;
  return WithOptimizer(*step.program, step.trained, workload.optimizer, /*first_step=*/true);
}

MemoryProgram LaterOf(MemoryProgram first, const LocalStep& step, const Workload& workload) {
  return workload.run.training ? LaterStep(std::move(first), step.trained, workload.optimizer) : std::move(first);
}

// A step as the first of its process and as a later one.
struct Scripts {
  ReplayScript first;
  ReplayScript later;
};

Scripts ScriptsOf(const LocalStep& step, const Workload& workload, const LibraryCase& of) {
  MemoryProgram first = FirstOf(step, workload);
  ReplayScript first_script = ScriptWithLibraries(first, of, /*first=*/true);
  const MemoryProgram later = LaterOf(std::move(first), step, workload);
  return {std::move(first_script), ScriptWithLibraries(later, of, /*first=*/false)};
}

// What of blocks that are not cut the parameters and buffers take, which come first.
absl::StatusOr<int64_t> UncutOfModel(const MemoryProgram& program, const Workload& workload) {
  MemoryProgram model;
  model.steps.Add(Step{});
  for (Buffer buffer : program.buffers) {
    if (!ComesWithTheModel(buffer)) continue;
    buffer.begin = StepId(0);
    buffer.end = model.steps.next_id();
    model.buffers.Add(std::move(buffer));
  }
  ReplayOptions options;
  options.allocator = workload.allocator;
  ASSIGN_OR_RETURN(const AllocatorUsage usage, Replay(model, options));
  return usage.peak_allocated_bytes - PeakOfBlocks(model, {});
}

using Order = std::vector<size_t>;  // of steps, by their number

absl::StatusOr<AllocatorUsage> UsageIn(const Order& order, const std::vector<Scripts>& steps,
                                       const Workload& workload) {
  std::vector<const ReplayScript*> runs;
  for (const size_t number : order) runs.push_back(runs.empty() ? &steps[number].first : &steps[number].later);
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.repetitions = 1;
  return Replay(runs, options);
}

// Steps as chance gives them, and one of the longest: no run lacks it.
Order ByChance(size_t sizes, uint32_t seed) {
  constexpr int kSteps = 48;  // what is reserved grows little after some times as many steps as there are sizes
  std::mt19937 random(seed);
  Order order;
  for (int i = 0; i < kSteps; ++i) order.push_back(random() % sizes);
  order.push_back(sizes - 1);
  return order;
}

std::vector<Scripts> AllScripts(const std::vector<LocalStep>& steps, const Workload& workload, const LibraryCase& of) {
  std::vector<Scripts> scripts;
  for (const LocalStep& step : steps) scripts.push_back(ScriptsOf(step, workload, of));
  return scripts;
}

}  // namespace

int64_t LowestOfVaried(const LocalStep& longest, const LocalStep* shortest, const Workload& workload) {
  const LibraryCase low = LibraryCasesOf(workload.allocator, workload.platform).low;
  const int64_t first = PeakOfBlocks(FirstOf(longest, workload), low, /*first=*/true);
  if (shortest == nullptr) return first;
  return std::max(first, PeakOfBlocks(LaterOf(FirstOf(*shortest, workload), *shortest, workload), low));
}

absl::StatusOr<int64_t> HighestOfVaried(const LocalStep& longest, const Workload& workload) {
  ASSIGN_OR_RETURN(const AllocatorRow* row, FindAllocator(workload.allocator));
  const LibraryCase high = LibraryCasesOf(workload.allocator, workload.platform).high;
  const MemoryProgram later = LaterOf(FirstOf(longest, workload), longest, workload);
  ASSIGN_OR_RETURN(const int64_t model, UncutOfModel(later, workload));
  return model + PeakOfBlocks(later, high, /*first=*/false, row->uncut_bytes);
}

absl::StatusOr<VariedPeaks> PeaksOfVaried(const std::vector<LocalStep>& steps, const Workload& workload) {
  constexpr uint32_t kOrders = 7;
  const LibraryCases cases = LibraryCasesOf(workload.allocator, workload.platform);
  const std::vector<Scripts> scripts = AllScripts(steps, workload, cases.high);
  VariedPeaks peaks;
  std::vector<int64_t> reserved;
  for (uint32_t seed = 1; seed <= kOrders; ++seed) {
    ASSIGN_OR_RETURN(const AllocatorUsage usage, UsageIn(ByChance(steps.size(), seed), scripts, workload));
    reserved.push_back(usage.peak_reserved_bytes);
    peaks.high_allocated_bytes = std::max(peaks.high_allocated_bytes, usage.peak_allocated_bytes);
  }
  std::sort(reserved.begin(), reserved.end());
  peaks.middle_reserved_bytes = reserved[reserved.size() / 2];
  peaks.high_reserved_bytes = reserved.back();
  return peaks;
}

}  // namespace onnx_mem
