#include "analyzer/analysis/analysis.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/allocators/offset_packing.h"
#include "analyzer/allocators/replay.h"
#include "analyzer/analysis/assumption_list.h"
#include "analyzer/analysis/library_workspace.h"
#include "analyzer/analysis/peak_bounds.h"
#include "analyzer/analysis/planned_runs.h"
#include "analyzer/analysis/session_figures.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/eager/engine/workspace.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/verify_program.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace {

std::vector<TrainedParameter> Trained(const std::vector<Parameter>& parameters) {
  std::vector<TrainedParameter> trained;
  for (const Parameter& p : parameters) {
    if (!p.has_gradient) continue;
    trained.push_back({p.name, p.bytes, *NumElements(Shape(p.dims)), p.dims, p.dtype});
  }
  return trained;
}

// The most that workspaces can take beside what was replayed: an earlier version's, kept per handle, on Hopper; and
// cuDNN's, of the order of the patches of one image.
int64_t MostWorkspaceBytes(const MemoryProgram& program) {
  return MatmulHandles(program) * kCublasWorkspaceHopperBytes + LargestPatchBytes(program);
}

// `program` as the allocator of `workload` sees it.
ReplayScript ScriptOf(const MemoryProgram& program, const Workload& workload) {
  ReplayScript script(program);
  if (ServesLibraries(workload.allocator)) AddLibraryWorkspaces(program, script);
  return script;
}

// The peak of figures.program, and what the allocator makes of it again and again after `first_step`, whose segments
// stay cached (nullptr: there is none).
absl::Status FillFigures(const Workload& workload, const ReplayScript* first_step, RunFigures& figures) {
  work::Spend(work::kOfFigures * static_cast<int64_t>(figures.program.steps.size()));
  figures.timeline = ComputeTimeline(figures.program);
  figures.peak_bytes = figures.timeline.peak_bytes;
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.addresses = workload.addresses;
  const bool libraries = ServesLibraries(workload.allocator);
  ReplayScript script(figures.program);
  if (libraries && AddLibraryWorkspaces(figures.program, script)) figures.workspace_bytes = kCublasWorkspaceBytes;
  ASSIGN_OR_RETURN(AllocatorUsage usage, Replay(script, first_step, options));
  figures.addresses = std::move(usage.addresses);
  figures.addresses.resize(std::min(figures.addresses.size(), figures.program.buffers.size()));
  figures.allocated_peak_bytes = usage.peak_allocated_bytes;
  figures.reserved_peak_bytes = usage.peak_reserved_bytes;
  figures.context_bytes = kCudaContext.bytes;
  figures.device_bytes = usage.peak_reserved_bytes + kCudaContext.bytes;
  figures.device_low_bytes = usage.peak_allocated_bytes + kCudaContext.low_bytes;
  figures.device_high_bytes = usage.peak_reserved_bytes + kCudaContext.high_bytes;
  if (libraries) figures.device_high_bytes += MostWorkspaceBytes(figures.program);
  return absl::OkStatus();
}

// What the file leaves open moves what the card holds as it moves the peak.
void SetBounds(const PeakBounds& bounds, PeakFigures& figures) {
  figures.peak_low_bytes = bounds.low_bytes;
  figures.peak_high_bytes = bounds.high_bytes;
  figures.device_low_bytes -= figures.peak_bytes - bounds.low_bytes;
  figures.device_high_bytes += bounds.high_bytes - figures.peak_bytes;
}

void CopyModelFacts(const Enacted& enacted, Analysis& analysis) {
  analysis.parameters = enacted.parameters;
  analysis.parameter_count = enacted.parameter_count;
  analysis.parameter_bytes = enacted.parameter_bytes;
  analysis.buffer_bytes = enacted.buffer_bytes;
  analysis.forward_flops = enacted.forward_flops;
  analysis.batch_statistics = enacted.batch_statistics;
  analysis.diagnostics.insert(analysis.diagnostics.end(), enacted.diagnostics.begin(), enacted.diagnostics.end());
  analysis.plain_rewrites = enacted.plain_rewrites;
}

// Diagnostics after which a figure is a lower bound: sizes or whole operators are missing from the sum.
bool IsLowerBound(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& d) {
    return d.code == Code::kShapeUnknown || d.code == Code::kCustomOp || d.code == Code::kUnknownSize;
  });
}

// A body that runs several times saves something in each run, of which one is counted.
bool HasOpaqueBodies(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.code == Code::kOpaqueSubgraph; });
}

Peak PeakOf(const RunFigures& figures) {
  const StepId step = figures.timeline.peak_step;
  const bool in_forward = !step.valid() || figures.program.steps[step].phase == Phase::kForward;
  return {figures.peak_bytes, in_forward};
}

// Of a step that was enacted as `program`, without the optimizer.
absl::StatusOr<RunFigures> StepFigures(MemoryProgram program, const std::vector<TrainedParameter>& trained,
                                       const Workload& workload) {
  RunFigures figures;
  MemoryProgram first = WithOptimizer(std::move(program), trained, workload.optimizer, /*first_step=*/true);
  figures.first_step_peak_bytes = ComputeTimeline(first).peak_bytes;
  const ReplayScript first_script = ScriptOf(first, workload);
  figures.program = LaterStep(std::move(first), trained, workload.optimizer);
  RETURN_IF_ERROR(FillFigures(workload, &first_script, figures));
  return figures;
}

absl::Status AnalyzeTraining(const Graph& graph, const Workload& workload, std::optional<Source>& source,
                             Analysis& analysis) {
  Run run = workload.run;
  run.training = true;
  ASSIGN_OR_RETURN(Lowered lowered, Prepare(graph, run, &source));
  ASSIGN_OR_RETURN(Enacted enacted, EnactLowered(lowered, run));
  CopyModelFacts(enacted, analysis);
  analysis.end_of_forward_bytes = enacted.end_of_forward_bytes;
  analysis.saved_activation_bytes = enacted.saved_activation_bytes;
  analysis.backward_flops = enacted.backward_flops;
  analysis.recompute_flops = enacted.recompute_flops;
  const bool reads_lowered = workload.intervals || workload.keep_parts;
  if (!reads_lowered) lowered = Lowered();
  MemoryProgram program = workload.keep_parts ? enacted.program : std::move(enacted.program);
  ASSIGN_OR_RETURN(RunFigures figures, StepFigures(std::move(program), Trained(enacted.parameters), workload));
  figures.at_least = IsLowerBound(analysis.diagnostics) || HasOpaqueBodies(analysis.diagnostics);
  constexpr size_t kMostNodes = 20'000;  // a second's work; of more the interval is not known
  if (workload.training_bounds && workload.intervals && lowered.graph.nodes.size() <= kMostNodes) {
    ASSIGN_OR_RETURN(const PeakBounds bounds,
                     BoundTraining(graph, lowered, workload, PeakOf(figures), analysis.diagnostics, &source));
    SetBounds(bounds, figures);
  }
  WarnIfNothingIsTrained(run, enacted, analysis.diagnostics);
  FillAssumptions(workload, enacted, analysis);
  if (workload.keep_parts) {
    analysis.parts = std::make_shared<TrainingParts>();
    analysis.parts->lowered = std::make_shared<const Lowered>(std::move(lowered));
    analysis.parts->enacted = std::make_shared<const Enacted>(std::move(enacted));
    analysis.parts->optimizer = workload.optimizer;
    analysis.parts->allocator = workload.allocator;
    analysis.parts->figures = figures;
  }
  analysis.training = std::move(figures);
  return absl::OkStatus();
}

// One arena for everything that comes and goes, every address planned. nullopt: too many buffers to plan in passing.
std::optional<int64_t> ArenaBytes(const MemoryProgram& program) {
  constexpr size_t kMostBuffers = 3000;
  constexpr int64_t kAlignmentBytes = 256;
  constexpr int64_t kWork = 500;  // a few milliseconds
  const std::vector<LiveRange> ranges = TransientRanges(program);
  if (ranges.size() > kMostBuffers) return std::nullopt;
  return PackOffsets(ranges, {.alignment_bytes = kAlignmentBytes, .work = kWork}).height_bytes;
}

absl::Status AnalyzeInference(const Graph& graph, const Workload& workload, std::optional<Source>& source,
                              Analysis& analysis) {
  Run run = workload.run;
  run.training = false;
  ASSIGN_OR_RETURN(Lowered lowered, Prepare(graph, run, &source));
  ASSIGN_OR_RETURN(Enacted enacted, EnactLowered(lowered, run));
  if (RunsSessions(workload.allocator)) {  // what an export lost of the framework's program changes nothing there
    enacted.diagnostics.clear();
    enacted.plain_rewrites.clear();
  }
  if (workload.mode == Mode::kInference) {
    CopyModelFacts(enacted, analysis);
    FillInferenceAssumptions(workload, analysis);
  }
  if (!workload.intervals) lowered = Lowered();
  RunFigures figures;
  if (RunsSessions(workload.allocator)) {
    RETURN_IF_ERROR(FillSession(graph, enacted.program, workload, LeavesDimsFree(analysis.info), figures));
  } else {
    ASSIGN_OR_RETURN(figures, InferenceFigures(graph, std::move(enacted.program), workload));
  }
  figures.at_least = IsLowerBound(analysis.diagnostics);
  if (!workload.intervals) {
    analysis.inference = std::move(figures);
    return absl::OkStatus();
  }
  if (!RunsSessions(workload.allocator)) {
    ASSIGN_OR_RETURN(const PeakBounds bounds,
                     BoundInference(graph, lowered, run, PeakOf(figures), enacted.diagnostics, &source));
    SetBounds(bounds, figures);
  }
  const MemoryProgram planned = PlanStatically(graph);
  if (!graph.nodes.empty() && VerifyProgram(planned).ok()) {
    figures.ideal_peak_bytes = ComputeTimeline(planned).peak_bytes;
    figures.ideal_arena_bytes = ArenaBytes(planned);
  }
  analysis.inference = std::move(figures);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunFigures> TrainingFigures(const Enacted& enacted, const Workload& workload) {
  return StepFigures(enacted.program, Trained(enacted.parameters), workload);
}

absl::StatusOr<RunFigures> TrainingFigures(Enacted&& enacted, const Workload& workload) {
  return StepFigures(std::move(enacted.program), Trained(enacted.parameters), workload);
}

std::vector<int64_t> TrainingCourse(Enacted&& enacted, const Workload& workload) {
  return ComputeTimeline(WithOptimizer(std::move(enacted.program), Trained(enacted.parameters), workload.optimizer,
                                       /*first_step=*/false))
      .live_bytes;
}

int64_t TrainingPeak(const Enacted& enacted, const Workload& workload) {
  return LaterStepPeak(enacted.program, Trained(enacted.parameters), workload.optimizer);
}

absl::StatusOr<PeakBounds> BoundTraining(const Graph& graph, const Lowered& lowered, const Workload& workload,
                                         Peak peak, std::vector<Diagnostic>& diagnostics,
                                         std::optional<Source>* source) {
  Run asked = workload.run;
  asked.training = true;
  const auto peak_of = [&](const Lowered& other, const Run& run) -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const Enacted enacted, EnactLowered(other, run));
    return TrainingPeak(enacted, workload);
  };
  return BoundPeak(graph, lowered, asked, peak, peak_of, diagnostics, source);
}

absl::StatusOr<PeakBounds> BoundInference(const Graph& graph, const Lowered& lowered, const Run& run,
                                          Peak peak, std::vector<Diagnostic>& diagnostics,
                                          std::optional<Source>* source) {
  const auto peak_of = [](const Lowered& other, const Run& asked) -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const Enacted enacted, EnactLowered(other, asked));
    return ComputeTimeline(enacted.program).peak_bytes;
  };
  return BoundPeak(graph, lowered, run, peak, peak_of, diagnostics, source);
}

absl::StatusOr<std::optional<LimitedRun>> TrainingWithin(const Enacted& enacted, const Workload& workload,
                                                         int64_t device_bytes) {
  constexpr int kStepsToSettle = 3;
  if (device_bytes < kCudaContext.bytes) return std::nullopt;
  const std::vector<TrainedParameter> trained = Trained(enacted.parameters);
  MemoryProgram first = WithOptimizer(enacted.program, trained, workload.optimizer, /*first_step=*/true);
  const ReplayScript first_script = ScriptOf(first, workload);
  const ReplayScript later = ScriptOf(LaterStep(std::move(first), trained, workload.optimizer), workload);
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.repetitions = kStepsToSettle;
  options.options.capacity_bytes = device_bytes - kCudaContext.bytes;
  ASSIGN_OR_RETURN(const AllocatorUsage usage, Replay(later, &first_script, options));
  if (usage.out_of_memory) return std::nullopt;
  return LimitedRun{usage.peak_reserved_bytes + kCudaContext.bytes, usage.retries - usage.last_retries,
                    usage.last_retries};
}

absl::StatusOr<RunFigures> InferenceFigures(const Graph& graph, MemoryProgram enacted, const Workload& workload) {
  RunFigures figures;
  if (RunsSessions(workload.allocator)) {
    RETURN_IF_ERROR(FillSession(graph, enacted, workload, /*free_dims=*/true, figures));
  } else {
    figures.program = std::move(enacted);
    RETURN_IF_ERROR(FillFigures(workload, /*first_step=*/nullptr, figures));
  }
  return figures;
}

namespace {

// The imported graph's tensors get the names that the parameters are told by.
void GivePaths(const std::vector<Parameter>& parameters, Graph& graph) {
  absl::flat_hash_map<absl::string_view, const std::string*> paths;
  for (const Parameter& p : parameters) {
    if (p.name != p.file_name) paths.emplace(p.file_name, &p.name);
  }
  if (paths.empty()) return;
  for (Tensor& tensor : graph.tensors) {
    const auto found = paths.find(tensor.name);
    if (found != paths.end()) tensor.path = *found->second;
  }
}

}  // namespace

absl::StatusOr<Analysis> AnalyzeImported(ImportedModel model, const Workload& workload) {
  Analysis analysis;
  std::optional<Source> source;
  std::vector<Diagnostic> imported;
  if (workload.keep_parts) imported = model.diagnostics;
  analysis.info = std::move(model.info);
  analysis.diagnostics = std::move(model.diagnostics);
  analysis.batch = workload.bindings.batch.value_or(analysis.info.file_batch);
  if (analysis.info.from_record) NoteIdleOptions(workload.run, analysis.diagnostics);
  if (workload.mode != Mode::kInference) RETURN_IF_ERROR(AnalyzeTraining(model.graph, workload, source, analysis));
  if (workload.mode != Mode::kTraining) RETURN_IF_ERROR(AnalyzeInference(model.graph, workload, source, analysis));
  if (analysis.parts != nullptr) {
    analysis.parts->bindings = workload.bindings;
    analysis.parts->run = workload.run;
    analysis.parts->run.training = true;
    analysis.parts->model = std::make_shared<const ImportedModel>(ImportedModel{model.graph, analysis.info, imported});
  }
  analysis.graph = std::move(model.graph);
  GivePaths(analysis.parameters, analysis.graph);
  return analysis;
}

absl::StatusOr<Analysis> Analyze(const ModelFile& file, const Workload& workload) {
  ASSIGN_OR_RETURN(ImportedModel model, file.Import(workload.bindings));
  return AnalyzeImported(std::move(model), workload);
}

}  // namespace onnx_mem
