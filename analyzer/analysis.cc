#include "analyzer/analysis.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/allocators/memory_pattern.h"
#include "analyzer/allocators/offset_packing.h"
#include "analyzer/allocators/replay.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/eager/workspace.h"
#include "analyzer/graph/source_trace.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/library_workspace.h"
#include "analyzer/planned_runs.h"
#include "analyzer/training_bounds.h"

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

// The peak of figures.program, and what the allocator makes of `repeated`, the steady state, after `first_step`, whose
// segments stay cached (nullptr: there is none).
absl::Status FillFigures(const Workload& workload, const MemoryProgram* first_step, const MemoryProgram& repeated,
                         RunFigures& figures) {
  figures.timeline = ComputeTimeline(figures.program);
  figures.peak_bytes = figures.timeline.peak_bytes;
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.first_step = first_step;
  const bool libraries = ServesLibraries(workload.allocator);
  MemoryProgram first_with, repeated_with;
  if (libraries) {
    repeated_with = WithLibraryWorkspace(repeated);
    if (first_step != nullptr) first_with = WithLibraryWorkspace(*first_step);
    if (first_step != nullptr) options.first_step = &first_with;
    if (MatmulHandles(repeated) > 0) figures.workspace_bytes = kCublasWorkspaceBytes;
  }
  ASSIGN_OR_RETURN(const AllocatorUsage usage, Replay(libraries ? repeated_with : repeated, options));
  figures.allocated_peak_bytes = usage.peak_allocated_bytes;
  figures.reserved_peak_bytes = usage.peak_reserved_bytes;
  figures.context_bytes = kCudaContext.bytes;
  figures.device_bytes = usage.peak_reserved_bytes + kCudaContext.bytes;
  figures.device_low_bytes = usage.peak_allocated_bytes + kCudaContext.low_bytes;
  figures.device_high_bytes = usage.peak_reserved_bytes + kCudaContext.high_bytes;
  if (libraries) figures.device_high_bytes += MostWorkspaceBytes(repeated);
  return absl::OkStatus();
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

std::string NameOf(LossKind loss) {
  switch (loss) {
    case LossKind::kAuto: return "auto";
    case LossKind::kSum: return "sum";
    case LossKind::kMean: return "mean";
    case LossKind::kCrossEntropy: return "cross-entropy";
    case LossKind::kMse: return "mse";
    case LossKind::kNone: return "none";
  }
  return "none";
}

std::string NameOf(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::kAuto: return "auto";
    case AttentionKernel::kEager: return "eager";
    case AttentionKernel::kMath: return "math";
    case AttentionKernel::kFlash: return "flash";
    case AttentionKernel::kEfficient: return "efficient";
  }
  return "auto";
}

std::string NameOf(BatchNormMode mode) {
  switch (mode) {
    case BatchNormMode::kAuto: return "auto";
    case BatchNormMode::kAsIs: return "as-is";
    case BatchNormMode::kUnfold: return "unfold";
  }
  return "auto";
}

// Everything that the file does not say and this run took for granted, by the name of its option.
// onnxruntime's arena belongs to a session, which plans before it runs; eager figures in it would be nobody's.
bool RunsSessions(std::string_view allocator) { return allocator == "ort"; }

// Segments as --segment takes them, calls apart by "; "; nodes and what selective checkpointing keeps have no option.
std::string SegmentsText(const std::vector<Segment>& segments) {
  std::vector<std::string> calls;
  for (const Segment& segment : segments) {
    std::string call = absl::StrJoin(segment.modules.empty() ? segment.nodes : segment.modules, ",");
    if (!segment.keep.empty()) absl::StrAppend(&call, " keeping ", absl::StrJoin(segment.keep, ","));
    calls.push_back(std::move(call));
  }
  return absl::StrJoin(calls, "; ");
}

void AddIf(bool given, std::string name, std::string value, std::vector<std::pair<std::string, std::string>>& list) {
  if (given) list.emplace_back(std::move(name), std::move(value));
}

// What holds for training and inference alike.
void AddCommonAssumptions(const Workload& workload, std::vector<std::pair<std::string, std::string>>& list) {
  const Run& run = workload.run;
  list.emplace_back("dtype", run.dtype ? std::string(onnx_mem::NameOf(*run.dtype)) : "file");
  list.emplace_back("amp", run.autocast ? std::string(onnx_mem::NameOf(*run.autocast)) : "none");
  list.emplace_back("allocator", workload.allocator);
  AddIf(run.tied != TiedMode::kAuto, "tied", run.tied == TiedMode::kYes ? "yes" : "no", list);
  AddIf(!run.hold.empty(), "hold", absl::StrJoin(run.hold, ","), list);
  AddIf(!run.disabled_rewrites.empty(), "no-rewrite", absl::StrJoin(run.disabled_rewrites, ","), list);
}

void FillAssumptions(const Workload& workload, const Enacted& enacted, Analysis& analysis) {
  const Run& run = workload.run;
  auto& list = analysis.assumptions;
  list.emplace_back("optimizer", workload.optimizer.name == "bytes"
                                     ? absl::StrCat(workload.optimizer.bytes_per_parameter, " bytes per parameter")
                                     : workload.optimizer.name);
  if (workload.optimizer.implementation != OptimizerImplementation::kForeach) {
    list.emplace_back("optimizer-impl", std::string(NameOf(workload.optimizer.implementation)));
  }
  if (workload.optimizer.weight_decay) list.emplace_back("weight-decay", "added to the gradients");
  if (run.accumulate > 1) list.emplace_back("accumulate", absl::StrCat(run.accumulate));
  list.emplace_back("loss", NameOf(enacted.loss));
  AddIf(!run.freeze.empty(), "freeze", absl::StrJoin(run.freeze, "|"), list);
  AddIf(!run.requires_grad.empty(), "requires-grad", absl::StrJoin(run.requires_grad, ","), list);
  AddIf(!run.checkpointed.empty(), "checkpointed", absl::StrJoin(run.checkpointed, "|"), list);
  AddIf(!run.segments.empty(), "segment", SegmentsText(run.segments), list);
  AddIf(run.dropout.has_value(), "dropout",
        run.dropout == 0.0
            ? "file"
            : absl::StrCat(run.dropout.value_or(0), run.dropout_behind.empty() ? "" : ":", run.dropout_behind),
        list);
  list.emplace_back("inplace", run.inplace);
  const auto& settled = enacted.assumptions;
  if (std::find(settled.begin(), settled.end(), kNamesBySource) != settled.end()) {
    list.emplace_back("names", "from the file's source lines");
  }
  list.emplace_back("attention", NameOf(run.attention));
  list.emplace_back("bn", NameOf(run.batch_norm));
  AddCommonAssumptions(workload, list);
}

// Of an inference without a training step beside it.
void FillInferenceAssumptions(const Workload& workload, Analysis& analysis) {
  auto& list = analysis.assumptions;
  // A session runs the file's own operators: no framework's choices are in its figures.
  if (!RunsSessions(workload.allocator)) {
    list.emplace_back("inplace", workload.run.inplace);
    list.emplace_back("attention", NameOf(workload.run.attention));
  }
  AddCommonAssumptions(workload, list);
}

// Diagnostics after which a figure is a lower bound: sizes or whole operators are missing from the sum.
bool IsLowerBound(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& d) {
    return d.code == "shape-unknown" || d.code == "custom-op" || d.code == "unknown-size";
  });
}

// A body that runs several times saves something in each run, of which one is counted.
bool HasOpaqueBodies(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.code == "opaque-subgraph"; });
}

absl::Status AnalyzeTraining(const Graph& graph, const Workload& workload, Analysis& analysis) {
  Run run = workload.run;
  run.training = true;
  ASSIGN_OR_RETURN(Enacted enacted, Enact(graph, run));
  CopyModelFacts(enacted, analysis);
  analysis.end_of_forward_bytes = enacted.end_of_forward_bytes;
  analysis.saved_activation_bytes = enacted.saved_activation_bytes;
  analysis.backward_flops = enacted.backward_flops;
  analysis.recompute_flops = enacted.recompute_flops;
  ASSIGN_OR_RETURN(RunFigures figures, TrainingFigures(enacted, workload));
  figures.at_least = IsLowerBound(analysis.diagnostics) || HasOpaqueBodies(analysis.diagnostics);
  if (workload.training_bounds) {
    ASSIGN_OR_RETURN(const PeakBounds bounds, TrainingRange(graph, workload, figures.peak_bytes, analysis.diagnostics));
    figures.peak_low_bytes = bounds.low_bytes;
    figures.peak_high_bytes = bounds.high_bytes;
  }
  FillAssumptions(workload, enacted, analysis);
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

absl::Status AnalyzeInference(const Graph& graph, const Workload& workload, Analysis& analysis) {
  Run run = workload.run;
  run.training = false;
  ASSIGN_OR_RETURN(const Lowered lowered, Prepare(graph, run));
  ASSIGN_OR_RETURN(Enacted enacted, EnactLowered(lowered, run));
  if (workload.mode == Mode::kInference) {
    CopyModelFacts(enacted, analysis);
    FillInferenceAssumptions(workload, analysis);
  }
  ASSIGN_OR_RETURN(RunFigures figures, InferenceFigures(graph, enacted, workload));
  if (!RunsSessions(workload.allocator)) {
    ASSIGN_OR_RETURN(const PeakBounds bounds, BoundInference(lowered, run));
    figures.peak_low_bytes = std::min(bounds.low_bytes, figures.peak_bytes);
    figures.peak_high_bytes = std::max(bounds.high_bytes, figures.peak_bytes);
  }
  const MemoryProgram planned = PlanStatically(graph);
  if (VerifyProgram(planned).ok()) {
    figures.ideal_peak_bytes = ComputeTimeline(planned).peak_bytes;
    figures.ideal_arena_bytes = ArenaBytes(planned);
  }
  figures.at_least = IsLowerBound(analysis.diagnostics);
  analysis.inference = std::move(figures);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunFigures> TrainingFigures(const Enacted& enacted, const Workload& workload) {
  const std::vector<TrainedParameter> trained = Trained(enacted.parameters);
  RunFigures figures;
  const MemoryProgram first = WithOptimizer(enacted.program, trained, workload.optimizer, /*first_step=*/true);
  figures.first_step_peak_bytes = ComputeTimeline(first).peak_bytes;
  figures.program = WithOptimizer(enacted.program, trained, workload.optimizer, /*first_step=*/false);
  RETURN_IF_ERROR(FillFigures(workload, &first, figures.program, figures));
  return figures;
}

int64_t TrainingPeak(const Enacted& enacted, const Workload& workload) {
  return ComputeTimeline(
             WithOptimizer(enacted.program, Trained(enacted.parameters), workload.optimizer, /*first_step=*/false))
      .peak_bytes;
}

absl::StatusOr<PeakBounds> TrainingRange(const Graph& graph, const Workload& workload, int64_t peak_bytes,
                                         std::vector<Diagnostic>& diagnostics) {
  constexpr size_t kMostNodes = 20'000;  // a second's work
  if (graph.nodes.size() > kMostNodes) return PeakBounds{peak_bytes, peak_bytes};
  Run asked = workload.run;
  asked.training = true;
  const auto peak_of = [&](const Run& run) -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const Enacted enacted, Enact(graph, run));
    return TrainingPeak(enacted, workload);
  };
  return BoundTraining(asked, peak_bytes, peak_of, diagnostics);
}

absl::StatusOr<std::optional<LimitedRun>> TrainingWithin(const Enacted& enacted, const Workload& workload,
                                                         int64_t device_bytes) {
  constexpr int kStepsToSettle = 3;
  if (device_bytes < kCudaContext.bytes) return std::nullopt;
  const std::vector<TrainedParameter> trained = Trained(enacted.parameters);
  MemoryProgram first = WithOptimizer(enacted.program, trained, workload.optimizer, /*first_step=*/true);
  MemoryProgram later = WithOptimizer(enacted.program, trained, workload.optimizer, /*first_step=*/false);
  if (ServesLibraries(workload.allocator)) {
    first = WithLibraryWorkspace(first);
    later = WithLibraryWorkspace(later);
  }
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.first_step = &first;
  options.repetitions = kStepsToSettle;
  options.options.capacity_bytes = device_bytes - kCudaContext.bytes;
  ASSIGN_OR_RETURN(const AllocatorUsage usage, Replay(later, options));
  if (usage.out_of_memory) return std::nullopt;
  return LimitedRun{usage.peak_reserved_bytes + kCudaContext.bytes, usage.retries - usage.last_retries,
                    usage.last_retries};
}

absl::StatusOr<RunFigures> InferenceFigures(const Graph& graph, const Enacted& enacted, const Workload& workload) {
  RunFigures figures;
  if (RunsSessions(workload.allocator)) {
    figures.program = PlanSessionRun(graph);
    RETURN_IF_ERROR(VerifyProgram(figures.program));
    const MemoryProgram later = TracePattern(figures.program, IsTracedBySessions).program;
    const MemoryProgram first = figures.program;
    RETURN_IF_ERROR(FillFigures(workload, &first, later, figures));
  } else {
    figures.program = enacted.program;
    RETURN_IF_ERROR(FillFigures(workload, /*first_step=*/nullptr, figures.program, figures));
  }
  return figures;
}

absl::StatusOr<Analysis> AnalyzeImported(ImportedModel model, const Workload& workload) {
  Analysis analysis;
  analysis.info = std::move(model.info);
  analysis.diagnostics = std::move(model.diagnostics);
  analysis.batch = workload.bindings.batch.value_or(analysis.info.file_batch);
  if (workload.mode != Mode::kInference) RETURN_IF_ERROR(AnalyzeTraining(model.graph, workload, analysis));
  if (workload.mode != Mode::kTraining) RETURN_IF_ERROR(AnalyzeInference(model.graph, workload, analysis));
  analysis.graph = std::move(model.graph);
  return analysis;
}

absl::StatusOr<Analysis> Analyze(const ModelFile& file, const Workload& workload) {
  ASSIGN_OR_RETURN(ImportedModel model, file.Import(workload.bindings));
  return AnalyzeImported(std::move(model), workload);
}

}  // namespace onnx_mem
