#include "analyzer/runtimes/figures.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/allocators/allocator.h"
#include "analyzer/allocators/offset_packing.h"
#include "analyzer/allocators/replay.h"
#include "analyzer/analysis/recorded_step.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/verify_program.h"
#include "analyzer/parallel/rank_step.h"
#include "analyzer/parallel/traffic.h"
#include "analyzer/run/work.h"
#include "analyzer/runtimes/library_workspace.h"
#include "analyzer/runtimes/planned_runs.h"
#include "analyzer/runtimes/runtime.h"
#include "analyzer/runtimes/session_figures.h"

namespace onnx_mem {
namespace {

// The rank's own step, of one card the whole one.
absl::StatusOr<LocalStep> LocalOf(const Enacted& enacted, const Workload& workload) {
  return SpreadStep(enacted, workload.run, workload.layout);
}

// What an allocator makes of `program`, a later step, with the workspaces of `of`. `first`: step 1 with them, whose
// segments stay cached; nullptr: the program itself comes first.
absl::StatusOr<AllocatorUsage> ReplayCase(const MemoryProgram& program, const LibraryCase& of,
                                          const ReplayScript* first, const ReplayOptions& options) {
  const ReplayScript script = ScriptWithLibraries(program, of, /*first=*/false);
  if (first != nullptr) return Replay(std::to_array({first, &script}), options);
  if (of.kept_bytes == 0) return Replay(std::to_array({&script}), options);
  const ReplayScript own = ScriptWithLibraries(program, of, /*first=*/true);
  return Replay(std::to_array({&own, &script}), options);
}

ReplayOptions OptionsOf(const Workload& workload) {
  ReplayOptions options;
  options.allocator = workload.allocator;
  return options;
}

// The CUDA context, and what NCCL has for the groups of ranks.
Overhead OutsideOfAllocator(const Workload& workload) {
  Overhead outside = ContextOf(workload.platform.card).overhead;
  const Overhead buffers = CommunicatorBuffers(workload.layout);
  outside.bytes += buffers.bytes;
  outside.low_bytes += buffers.low_bytes;
  outside.high_bytes += buffers.high_bytes;
  return outside;
}

ReplayScript FirstScript(const MemoryProgram& program, const LibraryCase& of) {
  return ScriptWithLibraries(program, of, /*first=*/true);
}

// The same of a step, whichever program its figures have: step 1 comes first in a training step.
absl::StatusOr<AllocatorUsage> ReplayStep(const LocalStep& step, const MemoryProgram& later, const LibraryCase& of,
                                          const Workload& workload, const ReplayOptions& options) {
  if (!workload.run.training) return ReplayCase(later, of, /*first=*/nullptr, options);
  const ReplayScript first =
      FirstScript(WithOptimizer(*step.program, step.trained, workload.optimizer, /*first_step=*/true), of);
  return ReplayCase(later, of, &first, options);
}

// The peak of figures.program, and what the allocator makes of it again and again after step 1 (nullptr: there is
// none).
absl::Status FillFigures(const Workload& workload, const ReplayScript* first, RunFigures& figures) {
  work::Spend(work::kOfFigures * static_cast<int64_t>(figures.program->steps.size()));
  figures.timeline = ComputeTimeline(*figures.program);
  figures.peak_bytes = figures.timeline.peak_bytes;
  const LibraryCases cases = LibraryCasesOf(workload.allocator, workload.platform);
  figures.workspace_blocks = CublasBlocks(*figures.program, cases.expected);
  figures.workspace_bytes =
      figures.workspace_blocks * std::max(cases.expected.kept_bytes, cases.expected.product_bytes);
  ASSIGN_OR_RETURN(const AllocatorUsage usage,
                   ReplayCase(*figures.program, cases.expected, first, OptionsOf(workload)));
  figures.allocated_peak_bytes = usage.peak_allocated_bytes;
  figures.reserved_peak_bytes = usage.peak_reserved_bytes;
  SetContext(OutsideOfAllocator(workload), figures);
  figures.device_bytes = usage.peak_reserved_bytes + figures.context_bytes;
  figures.allocated_low_bytes = figures.allocated_high_bytes = usage.peak_allocated_bytes;
  figures.device_low_bytes = figures.allocated_low_bytes + figures.context_low_bytes;
  figures.device_high_bytes = usage.peak_reserved_bytes + figures.context_high_bytes;
  return absl::OkStatus();
}

// Of a step without its optimizer.
absl::StatusOr<RunFigures> StepFigures(MemoryProgram program, const std::vector<TrainedParameter>& trained,
                                       const Workload& workload) {
  RunFigures figures;
  MemoryProgram first = WithOptimizer(std::move(program), trained, workload.optimizer, /*first_step=*/true);
  figures.first_step_peak_bytes = ComputeTimeline(first).peak_bytes;
  const ReplayScript script = FirstScript(first, LibraryCasesOf(workload.allocator, workload.platform).expected);
  figures.program = std::make_shared<const MemoryProgram>(LaterStep(std::move(first), trained, workload.optimizer));
  RETURN_IF_ERROR(FillFigures(workload, &script, figures));
  return figures;
}

// One arena for everything that is transient, every address planned. nullopt: too many buffers to plan in passing.
std::optional<int64_t> ArenaBytes(const MemoryProgram& program) {
  constexpr size_t kMostBuffers = 3000;
  constexpr int64_t kAlignmentBytes = 256;
  const std::vector<LiveRange> ranges = TransientRanges(program);
  if (ranges.size() > kMostBuffers) return std::nullopt;
  return PackOffsets(ranges, kAlignmentBytes).height_bytes;
}

}  // namespace

Workload WithTorchOf(const ModelInfo& info, Workload workload) {
  Platform& platform = workload.platform;
  platform.torch_of_file = TorchOfProducer(info.producer);
  workload.run.fewer_key_heads = TakesFewerKeyHeads(platform.Torch(), platform.card);
  const std::optional<TorchVersion> fused_from = ParseTorchVersion(RowOf(workload.run.trainer).fused_from);
  Optimizer& optimizer = workload.optimizer;
  const bool is_adam = optimizer.name == "adam" || optimizer.name == "adamw";
  if (is_adam && !optimizer.implementation_given && fused_from && platform.Torch() >= *fused_from) {
    optimizer.implementation = OptimizerImplementation::kFused;
  }
  return workload;
}

absl::StatusOr<RunFigures> TrainingFigures(const LocalStep& step, const Workload& workload) {
  return StepFigures(*step.program, step.trained, workload);
}

absl::StatusOr<RunFigures> TrainingFigures(const Enacted& enacted, const Workload& workload) {
  ASSIGN_OR_RETURN(const LocalStep local, LocalOf(enacted, workload));
  return TrainingFigures(local, workload);
}

absl::StatusOr<RunFigures> TrainingFigures(Enacted&& enacted, const Workload& workload) {
  if (IsSpread(workload.layout)) return TrainingFigures(enacted, workload);
  const std::vector<TrainedParameter> trained = WholeParameters(enacted);
  return StepFigures(std::move(enacted.program), trained, workload);
}

absl::StatusOr<RunFigures> RecordedFigures(const Graph& graph, const std::shared_ptr<const Enacted>& later,
                                           const Workload& workload) {
  ASSIGN_OR_RETURN(const MemoryProgram first, FirstCallOf(graph));
  RunFigures figures;
  figures.first_step_peak_bytes = ComputeTimeline(first).peak_bytes;
  const ReplayScript script = FirstScript(first, LibraryCasesOf(workload.allocator, workload.platform).expected);
  figures.program = {later, &later->program};
  RETURN_IF_ERROR(FillFigures(workload, &script, figures));
  return figures;
}

absl::StatusOr<std::vector<int64_t>> TrainingCourse(const Enacted& enacted, const Workload& workload) {
  ASSIGN_OR_RETURN(const LocalStep local, LocalOf(enacted, workload));
  return TrainingCourse(local, workload);
}

std::vector<int64_t> TrainingCourse(const LocalStep& step, const Workload& workload) {
  return ComputeTimeline(WithOptimizer(*step.program, step.trained, workload.optimizer, /*first_step=*/false))
      .live_bytes;
}

int64_t TrainingPeak(const LocalStep& step, const Workload& workload) {
  return LaterStepPeak(*step.program, step.trained, workload.optimizer);
}

absl::StatusOr<int64_t> TrainingPeak(const Enacted& enacted, const Workload& workload) {
  ASSIGN_OR_RETURN(const LocalStep local, LocalOf(enacted, workload));
  return TrainingPeak(local, workload);
}

absl::StatusOr<RunFigures> EagerInference(const ImportedModel&, const std::shared_ptr<const Enacted>& enacted,
                                          const Workload& workload) {
  RunFigures figures;
  figures.program = {enacted, &enacted->program};
  RETURN_IF_ERROR(FillFigures(workload, /*first=*/nullptr, figures));
  return figures;
}

absl::Status WidenByLibraries(const LocalStep& step, const Workload& workload, const MemoryProgram& program,
                              PeakFigures& figures) {
  if (!RuntimeOf(workload).eager) return absl::OkStatus();
  const LibraryCases cases = LibraryCasesOf(workload.allocator, workload.platform);
  // A block that is not split counts whole, and which blocks lie there depends on all that ran before.
  const int64_t blocks = PeakOfBlocks(program, cases.expected);
  figures.allocated_low_bytes = std::min(figures.allocated_peak_bytes, blocks);
  if (cases.high == cases.expected) return absl::OkStatus();
  ASSIGN_OR_RETURN(const AllocatorUsage high, ReplayStep(step, program, cases.high, workload, OptionsOf(workload)));
  figures.allocated_high_bytes = std::max(figures.allocated_peak_bytes, high.peak_allocated_bytes);
  const int64_t less = std::max<int64_t>(blocks - PeakOfBlocks(program, cases.low), 0);
  figures.allocated_low_bytes -= less;
  figures.device_low_bytes = figures.allocated_peak_bytes - less + figures.context_low_bytes;
  figures.device_high_bytes =
      std::max(figures.reserved_peak_bytes, high.peak_reserved_bytes) + figures.context_high_bytes;
  return absl::OkStatus();
}

void WidenByFile(const PeakBounds& bounds, PeakFigures& figures) {
  figures.peak_low_bytes = bounds.low_bytes;
  figures.peak_high_bytes = bounds.high_bytes;
  for (int64_t* low : {&figures.allocated_low_bytes, &figures.device_low_bytes}) {
    *low -= figures.peak_bytes - bounds.low_bytes;
  }
  for (int64_t* high : {&figures.allocated_high_bytes, &figures.device_high_bytes}) {
    *high += bounds.high_bytes - figures.peak_bytes;
  }
}

void AddPlannedAhead(const Graph& graph, PeakFigures& figures) {
  const MemoryProgram planned = PlanStatically(graph);
  if (graph.nodes.empty() || !VerifyProgram(planned).ok()) return;
  figures.ideal_peak_bytes = ComputeTimeline(planned).peak_bytes;
  figures.ideal_arena_bytes = ArenaBytes(planned);
}

absl::StatusOr<std::vector<int64_t>> AddressesOf(const LocalStep& step, const Workload& workload,
                                                 const RunFigures& figures) {
  if (!RuntimeOf(workload).eager) return std::vector<int64_t>();
  ReplayOptions options = OptionsOf(workload);
  options.addresses = true;
  const LibraryCase expected = LibraryCasesOf(workload.allocator, workload.platform).expected;
  ASSIGN_OR_RETURN(AllocatorUsage usage, ReplayStep(step, *figures.program, expected, workload, options));
  usage.addresses.resize(std::min(usage.addresses.size(), figures.program->buffers.size()));
  return std::move(usage.addresses);
}

absl::StatusOr<PeakBounds> BoundRun(const Lowered& lowered, const Workload& workload, Peak peak, LowerFor lower_for,
                                    std::vector<Diagnostic>& diagnostics) {
  const auto peak_of = [&](const Lowered& other, const Run& run) -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const Enacted enacted, EnactRank(other, EnactedPart(run, workload.layout)));
    if (!run.training) return ComputeTimeline(enacted.program).peak_bytes;
    ASSIGN_OR_RETURN(const LocalStep step, RankStep(other, enacted, run, workload.layout, workload.optimizer));
    return TrainingPeak(step, workload);
  };
  return BoundPeak(lowered, workload.run, peak, lower_for, peak_of, diagnostics);
}

Peak PeakOf(const RunFigures& figures) {
  const StepId step = figures.timeline.peak_step;
  const bool in_forward = !step.valid() || figures.program->steps[step].phase == Phase::kForward;
  return {figures.peak_bytes, in_forward};
}

absl::StatusOr<std::optional<LimitedRun>> TrainingWithin(const Enacted& enacted, const Workload& workload,
                                                         int64_t device_bytes) {
  constexpr int kStepsToSettle = 3;
  const int64_t context_bytes = OutsideOfAllocator(workload).bytes;
  if (device_bytes < context_bytes) return std::nullopt;
  ASSIGN_OR_RETURN(const LocalStep local, LocalOf(enacted, workload));
  const std::vector<TrainedParameter>& trained = local.trained;
  MemoryProgram first = WithOptimizer(*local.program, trained, workload.optimizer, /*first_step=*/true);
  const LibraryCase libraries = LibraryCasesOf(workload.allocator, workload.platform).expected;
  const ReplayScript first_script = FirstScript(first, libraries);
  const MemoryProgram steady = LaterStep(std::move(first), trained, workload.optimizer);
  const ReplayScript later = ScriptWithLibraries(steady, libraries, /*first=*/false);
  ReplayOptions options = OptionsOf(workload);
  options.repetitions = kStepsToSettle;
  options.options.capacity_bytes = device_bytes - context_bytes;
  ASSIGN_OR_RETURN(const AllocatorUsage usage, Replay(std::to_array({&first_script, &later}), options));
  if (usage.out_of_memory) return std::nullopt;
  return LimitedRun{usage.peak_reserved_bytes + context_bytes, usage.retries - usage.last_retries, usage.last_retries};
}

}  // namespace onnx_mem
