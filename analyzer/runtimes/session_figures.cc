#include "analyzer/runtimes/session_figures.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "analyzer/allocators/replay.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/eager/engine/workspace.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/verify_program.h"
#include "analyzer/runtimes/library_workspace.h"
#include "analyzer/runtimes/memory_pattern.h"
#include "analyzer/runtimes/planned_runs.h"
#include "analyzer/runtimes/runtime.h"
#include "analyzer/runtimes/session_graph.h"
#include "analyzer/runtimes/session_resident.h"

namespace onnx_mem {
namespace {

// Pages of the library's own code that a first session and its runs touch: RssFile grows by 8.6 to 12.8 MB in the
// processes of testdata/measured/onnxruntime_resident.json (onnxruntime 1.32.0, Linux x86-64). Once in a process.
constexpr int64_t kLibraryCodeBytes = 9'200'000;

constexpr int64_t kMostSessionBytes = int64_t{1} << 58;  // of all sessions; beyond it sums could overflow

int64_t ObjectsOf(const Graph& graph) {
  const auto nodes =
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return !node.inputs.empty(); });
  return static_cast<int64_t>(nodes) + static_cast<int64_t>(graph.initializers.size());
}

SessionFigures SessionOf(const MemoryProgram& program, const AllocatorUsage& usage, int64_t pattern_bytes) {
  SessionFigures session;
  for (const Buffer& buffer : program.buffers) {
    const bool stored = buffer.category == Category::kParameters || buffer.category == Category::kBuffers;
    if (stored) session.weight_bytes += buffer.bytes;
  }
  session.arena_bytes = usage.peak_reserved_bytes - session.weight_bytes;
  session.touched_bytes = usage.touched_bytes - session.weight_bytes;
  session.pattern_bytes = pattern_bytes;
  return session;
}

// What the process grows by. Low: what is in use, as after malloc_trim(0). High: the most while the weights are loaded.
void FillProcess(const Graph& graph, const Graph& optimized, bool weights_beside, int64_t count,
                 const AllocatorUsage& usage, RunFigures& figures) {
  const SessionResidence residence = ResidenceOf(graph, optimized, usage.regions, weights_beside);
  figures.device_low_bytes =
      count * (usage.touched_bytes - residence.unread_bytes + kSessionObjectBytes * ObjectsOf(graph));
  figures.device_bytes = std::max(figures.device_low_bytes, count * residence.bytes + kLibraryCodeBytes);
  figures.device_high_bytes = std::max(figures.device_bytes, count * residence.peak_bytes + kLibraryCodeBytes);
}

void FillCard(const Overhead& context, int64_t count, int64_t patch_bytes, const AllocatorUsage& usage,
              RunFigures& figures) {
  SetContext(context, figures);
  figures.allocated_high_bytes += patch_bytes;
  figures.device_bytes = count * usage.peak_reserved_bytes + context.bytes;
  figures.device_low_bytes = count * usage.peak_allocated_bytes + context.low_bytes;
  figures.device_high_bytes = count * (usage.peak_reserved_bytes + patch_bytes) + context.high_bytes;
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

// The first run allocates tensor by tensor, all later ones a block for the pattern that it traced. The framework's run
// of the graph tells what cuDNN may take for its convolutions. The file may leave dimensions open, so that a session
// knows less than we do.
absl::StatusOr<RunFigures> SessionInference(const ImportedModel& model, const std::shared_ptr<const Enacted>& enacted,
                                            const Workload& workload) {
  const Graph& graph = model.graph;
  const ModelInfo& info = model.info;
  RunFigures figures;
  const bool on_cpu = workload.device == Device::kCpu;
  const bool free_dims = LeavesDimsFree(info);
  MemoryProgram program = PlanSessionRun(graph, on_cpu ? SessionOn::kCpu : SessionOn::kGpu, free_dims);
  // On the CPU the caller's own inputs are read where they are.
  if (on_cpu) program = WithoutInputs(program);
  RETURN_IF_ERROR(VerifyProgram(program));
  const MemoryPattern pattern = TracePattern(program, IsTracedBySessions);
  const ReplayScript first(program), later(pattern.program);
  figures.timeline = ComputeTimeline(program);
  figures.peak_bytes = figures.timeline.peak_bytes;
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.options.arena.later_below = on_cpu;
  ASSIGN_OR_RETURN(const AllocatorUsage usage, Replay(std::to_array({&first, &later}), options));
  figures.session = SessionOf(program, usage, pattern.block_bytes);
  figures.program = std::make_shared<const MemoryProgram>(std::move(program));
  figures.allocated_peak_bytes = usage.peak_allocated_bytes;
  figures.allocated_low_bytes = figures.allocated_high_bytes = usage.peak_allocated_bytes;
  figures.reserved_peak_bytes = usage.peak_reserved_bytes;
  const int64_t count = workload.sessions;
  if (usage.peak_reserved_bytes > kMostSessionBytes / count) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge,
                       absl::StrCat(count, " sessions of this model are larger than any machine"));
  }
  if (on_cpu) {
    FillProcess(graph, SessionGraph(graph, /*on_cpu=*/true, free_dims), info.weights_beside, count, usage, figures);
  } else {
    FillCard(ContextOf(workload.platform.card).overhead, count, LargestPatchBytes(enacted->program), usage, figures);
  }
  return figures;
}

}  // namespace onnx_mem
