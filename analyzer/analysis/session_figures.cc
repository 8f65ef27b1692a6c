#include "analyzer/analysis/session_figures.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analyzer/allocators/memory_pattern.h"
#include "analyzer/allocators/replay.h"
#include "analyzer/analysis/library_workspace.h"
#include "analyzer/analysis/planned_runs.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/verify_program.h"

namespace onnx_mem {
namespace {

// What loading a model leaves in the C library's heap until it is trimmed (malloc_trim) or reused, in multiples of the
// weights: at most 2.4 in the sessions of testdata/measured/onnxruntime_cpu.json, where convolutions were laid out anew.
constexpr double kLeftByLoading = 2.5;
constexpr int64_t kMostSessionBytes = int64_t{1} << 58;  // of all sessions; beyond it sums could overflow

// What a session keeps of each node and each stored tensor beside its contents (names, attributes, kernels): 4 to 6 KiB
// in the sessions of that file whose models have more than a hundred of them.
constexpr int64_t kSessionObjectBytes = 4700;

int64_t ObjectsOf(const Graph& graph) {
  const auto nodes = std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                   [](const Node& node) { return !node.inputs.empty(); });
  return static_cast<int64_t>(nodes) + static_cast<int64_t>(graph.initializers.size());
}

MemoryProgram WithoutInputs(const MemoryProgram& program) {
  MemoryProgram result;
  result.steps = program.steps;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.category != Category::kInputs) result.buffers.Add(buffer);
  }
  return result;
}

}  // namespace

absl::Status FillSession(const Graph& graph, const MemoryProgram& eager, const Workload& workload, bool free_dims,
                         RunFigures& figures) {
  const bool on_cpu = workload.device == Device::kCpu;
  figures.program = PlanSessionRun(graph, on_cpu ? SessionOn::kCpu : SessionOn::kGpu, free_dims);
  // On the CPU the caller's own inputs are read where they are.
  if (on_cpu) figures.program = WithoutInputs(figures.program);
  RETURN_IF_ERROR(VerifyProgram(figures.program));
  const MemoryPattern pattern = TracePattern(figures.program, IsTracedBySessions);
  figures.timeline = ComputeTimeline(figures.program);
  figures.peak_bytes = figures.timeline.peak_bytes;
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.first_step = &figures.program;
  options.options.arena.later_below = on_cpu;
  ASSIGN_OR_RETURN(const AllocatorUsage usage, Replay(pattern.program, options));
  SessionFigures session;
  for (const Buffer& buffer : figures.program.buffers) {
    const bool stored = buffer.category == Category::kParameters || buffer.category == Category::kBuffers;
    if (stored) session.weight_bytes += buffer.bytes;
  }
  session.arena_bytes = usage.peak_reserved_bytes - session.weight_bytes;
  session.touched_bytes = usage.touched_bytes - session.weight_bytes;
  session.pattern_bytes = pattern.block_bytes;
  figures.session = session;
  figures.allocated_peak_bytes = usage.peak_allocated_bytes;
  figures.reserved_peak_bytes = usage.peak_reserved_bytes;
  const int64_t count = workload.sessions;
  if (usage.peak_reserved_bytes > kMostSessionBytes / count) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge,
                       absl::StrCat(count, " sessions of this model are larger than any machine"));
  }
  if (on_cpu) {
    figures.device_bytes = count * (usage.touched_bytes + kSessionObjectBytes * ObjectsOf(graph));
    figures.device_low_bytes = figures.device_bytes;
    figures.device_high_bytes =
        figures.device_bytes + count * static_cast<int64_t>(kLeftByLoading * static_cast<double>(session.weight_bytes));
  } else {
    figures.context_bytes = kCudaContext.bytes;
    figures.device_bytes = count * usage.peak_reserved_bytes + kCudaContext.bytes;
    figures.device_low_bytes = count * usage.peak_allocated_bytes + kCudaContext.low_bytes;
    figures.device_high_bytes = count * (usage.peak_reserved_bytes + LargestPatchBytes(eager)) +
                                kCudaContext.high_bytes;
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
