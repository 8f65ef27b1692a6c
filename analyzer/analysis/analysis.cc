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

// What an allocator makes of `program`, a later step, with the workspaces of `of`. `first`: step 1 with them, whose
// segments stay cached; nullptr: the program itself comes first.
absl::StatusOr<AllocatorUsage> ReplayCase(const MemoryProgram& program, const LibraryCase& of,
                                          const ReplayScript* first, const Workload& workload) {
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.addresses = workload.addresses;
  ReplayScript script(program);
  AddLibraryWorkspaces(program, of, /*first=*/false, script);
  if (first != nullptr || of.kept_bytes == 0) return Replay(script, first, options);
  ReplayScript own(program);
  AddLibraryWorkspaces(program, of, /*first=*/true, own);
  return Replay(script, &own, options);
}

// Step 1 as the allocator sees it, in the case that is expected and in the one that takes most.
struct FirstScripts {
  ReplayScript expected;
  std::optional<ReplayScript> high;
};

ReplayScript FirstScript(const MemoryProgram& program, const LibraryCase& of) {
  ReplayScript script(program);
  AddLibraryWorkspaces(program, of, /*first=*/true, script);
  return script;
}

// The ends of what is allocated and of what the process has on the card, whatever the libraries take.
absl::Status FillRange(const Workload& workload, const LibraryCases& cases, const FirstScripts* first,
                       const AllocatorUsage& usage, RunFigures& figures) {
  int64_t high_reserved = usage.peak_reserved_bytes;
  if (workload.intervals && !(cases.high == cases.expected)) {
    const ReplayScript* high_first = first != nullptr && first->high ? &*first->high : nullptr;
    ASSIGN_OR_RETURN(const AllocatorUsage high, ReplayCase(figures.program, cases.high, high_first, workload));
    figures.allocated_high_bytes = std::max(usage.peak_allocated_bytes, high.peak_allocated_bytes);
    high_reserved = std::max(high_reserved, high.peak_reserved_bytes);
    const int64_t less = PeakOfBlocks(figures.program, cases.expected) - PeakOfBlocks(figures.program, cases.low);
    figures.allocated_low_bytes = usage.peak_allocated_bytes - std::max<int64_t>(less, 0);
  } else {
    figures.allocated_low_bytes = figures.allocated_high_bytes = usage.peak_allocated_bytes;
  }
  figures.device_low_bytes = figures.allocated_low_bytes + figures.context_low_bytes;
  figures.device_high_bytes = high_reserved + figures.context_high_bytes;
  return absl::OkStatus();
}

// The peak of figures.program, and what the allocator makes of it again and again after step 1 (nullptr: there is
// none).
absl::Status FillFigures(const Workload& workload, const FirstScripts* first, RunFigures& figures) {
  work::Spend(work::kOfFigures * static_cast<int64_t>(figures.program.steps.size()));
  figures.timeline = ComputeTimeline(figures.program);
  figures.peak_bytes = figures.timeline.peak_bytes;
  const LibraryCases cases = LibraryCasesOf(workload.allocator, workload.platform);
  figures.workspace_blocks = CublasBlocks(figures.program, cases.expected);
  figures.workspace_bytes =
      figures.workspace_blocks * std::max(cases.expected.kept_bytes, cases.expected.product_bytes);
  ASSIGN_OR_RETURN(AllocatorUsage usage, ReplayCase(figures.program, cases.expected,
                                                    first != nullptr ? &first->expected : nullptr, workload));
  figures.addresses = std::move(usage.addresses);
  figures.addresses.resize(std::min(figures.addresses.size(), figures.program.buffers.size()));
  figures.allocated_peak_bytes = usage.peak_allocated_bytes;
  figures.reserved_peak_bytes = usage.peak_reserved_bytes;
  SetContext(ContextOf(workload.platform.card).overhead, figures);
  figures.device_bytes = usage.peak_reserved_bytes + figures.context_bytes;
  return FillRange(workload, cases, first, usage, figures);
}

// What the file leaves open moves what the card holds as it moves the peak.
void SetBounds(const PeakBounds& bounds, PeakFigures& figures) {
  figures.peak_low_bytes = bounds.low_bytes;
  figures.peak_high_bytes = bounds.high_bytes;
  for (int64_t* low : {&figures.allocated_low_bytes, &figures.device_low_bytes}) {
    *low -= figures.peak_bytes - bounds.low_bytes;
  }
  for (int64_t* high : {&figures.allocated_high_bytes, &figures.device_high_bytes}) {
    *high += bounds.high_bytes - figures.peak_bytes;
  }
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
  const LibraryCases cases = LibraryCasesOf(workload.allocator, workload.platform);
  FirstScripts scripts{FirstScript(first, cases.expected), std::nullopt};
  if (workload.intervals) scripts.high = FirstScript(first, cases.high);
  figures.program = LaterStep(std::move(first), trained, workload.optimizer);
  RETURN_IF_ERROR(FillFigures(workload, &scripts, figures));
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
  FillAssumptions(graph, workload, enacted, analysis);
  if (workload.keep_parts) {
    analysis.parts = std::make_shared<TrainingParts>();
    analysis.parts->lowered = std::make_shared<const Lowered>(std::move(lowered));
    analysis.parts->enacted = std::make_shared<const Enacted>(std::move(enacted));
    analysis.parts->optimizer = workload.optimizer;
    analysis.parts->allocator = workload.allocator;
    analysis.parts->platform = workload.platform;
    analysis.parts->platform.torch_of_file.reset();
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
    FillInferenceAssumptions(graph, workload, analysis);
  }
  if (!workload.intervals) lowered = Lowered();
  RunFigures figures;
  if (RunsSessions(workload.allocator)) {
    RETURN_IF_ERROR(FillSession(graph, analysis.info, enacted.program, workload, figures));
  } else {
    figures.program = std::move(enacted.program);
    RETURN_IF_ERROR(FillFigures(workload, /*first=*/nullptr, figures));
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

absl::StatusOr<PeakBounds> BoundInference(const Graph& graph, const Lowered& lowered, const Run& run, Peak peak,
                                          std::vector<Diagnostic>& diagnostics, std::optional<Source>* source) {
  const auto peak_of = [](const Lowered& other, const Run& asked) -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const Enacted enacted, EnactLowered(other, asked));
    return ComputeTimeline(enacted.program).peak_bytes;
  };
  return BoundPeak(graph, lowered, run, peak, peak_of, diagnostics, source);
}

absl::StatusOr<std::optional<LimitedRun>> TrainingWithin(const Enacted& enacted, const Workload& workload,
                                                         int64_t device_bytes) {
  constexpr int kStepsToSettle = 3;
  const int64_t context_bytes = ContextOf(workload.platform.card).overhead.bytes;
  if (device_bytes < context_bytes) return std::nullopt;
  const std::vector<TrainedParameter> trained = Trained(enacted.parameters);
  MemoryProgram first = WithOptimizer(enacted.program, trained, workload.optimizer, /*first_step=*/true);
  const LibraryCase libraries = LibraryCasesOf(workload.allocator, workload.platform).expected;
  const ReplayScript first_script = FirstScript(first, libraries);
  const MemoryProgram steady = LaterStep(std::move(first), trained, workload.optimizer);
  ReplayScript later(steady);
  AddLibraryWorkspaces(steady, libraries, /*first=*/false, later);
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.repetitions = kStepsToSettle;
  options.options.capacity_bytes = device_bytes - context_bytes;
  ASSIGN_OR_RETURN(const AllocatorUsage usage, Replay(later, &first_script, options));
  if (usage.out_of_memory) return std::nullopt;
  return LimitedRun{usage.peak_reserved_bytes + context_bytes, usage.retries - usage.last_retries, usage.last_retries};
}

absl::StatusOr<RunFigures> InferenceFigures(const ImportedModel& model, MemoryProgram enacted,
                                            const Workload& workload) {
  RunFigures figures;
  if (RunsSessions(workload.allocator)) {
    RETURN_IF_ERROR(FillSession(model.graph, model.info, enacted, workload, figures));
  } else {
    figures.program = std::move(enacted);
    RETURN_IF_ERROR(FillFigures(workload, /*first=*/nullptr, figures));
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

Workload WithTorchOf(const ModelInfo& info, Workload workload) {
  workload.platform.torch_of_file = TorchOfProducer(info.producer);
  return workload;
}

absl::StatusOr<Analysis> AnalyzeImported(ImportedModel model, const Workload& asked) {
  const Workload workload = WithTorchOf(model.info, asked);
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
