#include "analyzer/analysis/analysis.h"

#include <algorithm>
#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/allocators/memory_pattern.h"
#include "analyzer/allocators/offset_packing.h"
#include "analyzer/allocators/replay.h"
#include "analyzer/analysis/library_workspace.h"
#include "analyzer/analysis/peak_bounds.h"
#include "analyzer/analysis/planned_runs.h"
#include "analyzer/assume/table/assumptions.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/eager/engine/output_loss.h"
#include "analyzer/eager/engine/workspace.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/verify_program.h"

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

// What loading a model leaves in the C library's heap until it is trimmed (malloc_trim) or reused, in multiples of the
// weights: at most 2.4 in the sessions of testdata/measured/onnxruntime_cpu.json, where convolutions were laid out
// anew.
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

// The peak of figures.program, and what the allocator makes of `repeated`, the steady state, after `first_step`, whose
// segments stay cached (nullptr: there is none).
absl::Status FillFigures(const Workload& workload, const MemoryProgram* first_step, const MemoryProgram& repeated,
                         RunFigures& figures) {
  figures.timeline = ComputeTimeline(figures.program);
  figures.peak_bytes = figures.timeline.peak_bytes;
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.first_step = first_step;
  options.addresses = workload.addresses;
  const bool libraries = ServesLibraries(workload.allocator);
  MemoryProgram first_with, repeated_with;
  if (libraries) {
    repeated_with = WithLibraryWorkspace(repeated);
    if (first_step != nullptr) first_with = WithLibraryWorkspace(*first_step);
    if (first_step != nullptr) options.first_step = &first_with;
    if (MatmulHandles(repeated) > 0) figures.workspace_bytes = kCublasWorkspaceBytes;
  }
  ASSIGN_OR_RETURN(const AllocatorUsage usage, Replay(libraries ? repeated_with : repeated, options));
  // A session's later runs are replayed as one block: no buffer has an address of its own there.
  if (&repeated == &figures.program) figures.addresses = usage.addresses;
  figures.addresses.resize(std::min(figures.addresses.size(), figures.program.buffers.size()));
  figures.allocated_peak_bytes = usage.peak_allocated_bytes;
  figures.reserved_peak_bytes = usage.peak_reserved_bytes;
  figures.context_bytes = kCudaContext.bytes;
  figures.device_bytes = usage.peak_reserved_bytes + kCudaContext.bytes;
  figures.device_low_bytes = usage.peak_allocated_bytes + kCudaContext.low_bytes;
  figures.device_high_bytes = usage.peak_reserved_bytes + kCudaContext.high_bytes;
  if (libraries) figures.device_high_bytes += MostWorkspaceBytes(repeated);
  return absl::OkStatus();
}

// A session's first run allocates tensor by tensor, all later ones a block for the pattern that it traced.
// `eager`: the framework's run of it, whose convolutions tell what cuDNN may take.
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
    return ErrorStatus(absl::StatusCode::kInvalidArgument, "too-large",
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

std::string NameOf(LossKind loss) {
  switch (loss) {
    case LossKind::kAuto: return "auto";
    case LossKind::kSum: return "sum";
    case LossKind::kMean: return "mean";
    case LossKind::kCrossEntropy: return "cross-entropy";
    case LossKind::kMse: return "mse";
    case LossKind::kNone: return "none";
    case LossKind::kOwn: return "the model's own";
  }
  return "none";
}



struct Unit {
  double size;
  const char* name;
};

// "0.2 of 44.6 M parameters"; "12.3 K of 44.6 M parameters" where it is less than a tenth of the unit.
std::string TrainedText(int64_t trained, int64_t all) {
  constexpr std::array<Unit, 4> kUnits = {{{1e9, " G"}, {1e6, " M"}, {1e3, " K"}, {1, ""}}};
  const auto unit_of = [&](int64_t count) {
    return std::find_if(kUnits.begin(), kUnits.end() - 1,
                        [&](const Unit& u) { return static_cast<double>(count) >= u.size; });
  };
  const auto text = [](int64_t count, const Unit& unit) {
    return unit.size > 1 ? absl::StrFormat("%.1f", static_cast<double>(count) / unit.size) : absl::StrCat(count);
  };
  const Unit& whole = *unit_of(all);
  const bool alike = trained == 0 || static_cast<double>(trained) >= whole.size / 10;
  const Unit& part = alike ? whole : *unit_of(trained);
  return absl::StrFormat("%s%s of %s%s parameters", trained == 0 ? "0" : text(trained, part), alike ? "" : part.name,
                         text(all, whole), whole.name);
}

int64_t TrainedCount(const std::vector<Parameter>& parameters) {
  int64_t count = 0;
  for (const Parameter& p : parameters) count += p.trainable ? NumElements(Shape(p.dims)).value_or(0) : 0;
  return count;
}

void WarnIfNothingIsTrained(const Run& run, const Enacted& enacted, std::vector<Diagnostic>& diagnostics) {
  const bool any = TrainedCount(enacted.parameters) > 0 || enacted.parameter_count == 0;
  if (run.freeze.empty() || any) return;
  Diagnostic warning{.code = "nothing-trained", .severity = Severity::kWarning};
  warning.message = "--freeze matches every parameter: the step trains nothing";
  warning.details = {"why: a pattern freezes what it matches; what is trained must not match",
                     "try: onnx-mem MODEL --by tensor -n 0   lists the names"};
  diagnostics.push_back(std::move(warning));
}

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

// Settings that stand for what a file does not say; a record says it, but for what the card's own kernels are.
void AddSettings(const Run& run, bool recorded, std::vector<std::pair<std::string, std::string>>& list) {
  if (recorded) list.emplace_back("recorded", "from the running model");
  for (const AssumedSetting& setting : AssumedSettings()) {
    if (recorded && (!setting.of_records || setting.value(run) == "auto")) continue;
    if (!(run.training ? setting.training : setting.inference)) continue;
    if (std::string value = setting.value(run); !value.empty()) {
      list.emplace_back(std::string(setting.option), std::move(value));
    }
  }
}

// What holds for training and inference alike.
void AddCommonAssumptions(const Workload& workload, std::vector<std::pair<std::string, std::string>>& list) {
  const Run& run = workload.run;
  list.emplace_back("dtype", run.dtype ? std::string(onnx_mem::NameOf(*run.dtype)) : "file");
  list.emplace_back("amp", run.autocast ? std::string(onnx_mem::NameOf(*run.autocast)) : "none");
  if (RunsSessions(workload.allocator)) {
    list.emplace_back("for", "onnxruntime");
    list.emplace_back("device", workload.device == Device::kCpu ? "cpu" : "gpu");
    AddIf(workload.sessions != 1, "sessions", absl::StrCat(workload.sessions), list);
  }
  list.emplace_back("allocator", workload.allocator);
  AddIf(run.tied != TiedMode::kAuto, "tied", run.tied == TiedMode::kYes ? "yes" : "no", list);
  AddIf(!run.hold.empty(), "hold", absl::StrJoin(run.hold, ","), list);
  AddIf(!run.disabled_rewrites.empty(), "no-rewrite", absl::StrJoin(run.disabled_rewrites, ","), list);
}

// What a record says is neither assumed nor changed by the options that tell of what an export has lost.
void NoteIdleOptions(const Run& run, std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> idle;
  if (run.dropout) idle.emplace_back("--dropout");
  if (run.inplace != "auto") idle.emplace_back("--inplace");
  if (run.tied != TiedMode::kAuto) idle.emplace_back("--tied");
  if (run.batch_norm != BatchNormMode::kAuto) idle.emplace_back("--bn");
  if (!run.disabled_rewrites.empty()) idle.emplace_back("--no-rewrite");
  if (!idle.empty()) {
    diagnostics.push_back({.code = "record-settles",
                           .severity = Severity::kNote,
                           .count = static_cast<int64_t>(idle.size()),
                           .message = absl::StrCat(absl::StrJoin(idle, ", "),
                                                   idle.size() == 1 ? " changes" : " change",
                                                   " nothing: the model's record says what ran")});
  }
  if (!run.dtype) return;
  diagnostics.push_back({.code = "record-dtype",
                         .severity = Severity::kWarning,
                         .message = absl::StrCat("the model was recorded as it is, not in ",
                                                 std::string(onnx_mem::NameOf(*run.dtype)),
                                                 ": casts in its code that do nothing there are not counted"),
                         .details = {"try: a record of model.to(dtype)"}});
}

// Everything that the file does not say and this run took for granted, by the name of its option.
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
  if (!run.freeze.empty() || !run.lora.empty()) {
    list.emplace_back("trains", TrainedText(TrainedCount(enacted.parameters), enacted.parameter_count));
  }
  list.emplace_back("loss", NameOf(enacted.loss));
  AddIf(enacted.loss_tokens > 0, "loss-over", absl::StrCat(enacted.loss_tokens, " tokens"), list);
  AddIf(!run.freeze.empty(), "freeze", absl::StrJoin(run.freeze, "|"), list);
  AddIf(!run.lora.empty(), "lora", absl::StrJoin(run.lora, "; ", [](std::string* text, const Lora& lora) {
          absl::StrAppend(text, lora.rank, lora.dropout > 0.0 ? absl::StrCat(",", lora.dropout) : "", ":", lora.weights);
        }), list);
  AddIf(!run.requires_grad.empty(), "requires-grad", absl::StrJoin(run.requires_grad, ","), list);
  AddIf(!run.checkpointed.empty(), "checkpointed", absl::StrJoin(run.checkpointed, "|"), list);
  AddIf(!run.segments.empty(), "segment", SegmentsText(run.segments), list);
  AddSettings(run, analysis.info.from_record, list);
  const auto& settled = enacted.assumptions;
  if (std::find(settled.begin(), settled.end(), kNamesBySource) != settled.end()) {
    list.emplace_back("names", "from the file's source lines");
  }
  AddCommonAssumptions(workload, list);
}

// Of an inference without a training step beside it.
void FillInferenceAssumptions(const Workload& workload, Analysis& analysis) {
  auto& list = analysis.assumptions;
  // A session runs the file's own operators: no framework's choices are in its figures.
  if (!RunsSessions(workload.allocator)) {
    Run run = workload.run;
    run.training = false;
    AddSettings(run, analysis.info.from_record, list);
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

Peak PeakOf(const RunFigures& figures) {
  const StepId step = figures.timeline.peak_step;
  const bool in_forward = !step.valid() || figures.program.steps[step].phase == Phase::kForward;
  return {figures.peak_bytes, in_forward};
}

absl::Status AnalyzeTraining(const Graph& graph, const Workload& workload, Analysis& analysis) {
  Run run = workload.run;
  run.training = true;
  ASSIGN_OR_RETURN(const Lowered lowered, Prepare(graph, run));
  ASSIGN_OR_RETURN(Enacted enacted, EnactLowered(lowered, run));
  CopyModelFacts(enacted, analysis);
  analysis.end_of_forward_bytes = enacted.end_of_forward_bytes;
  analysis.saved_activation_bytes = enacted.saved_activation_bytes;
  analysis.backward_flops = enacted.backward_flops;
  analysis.recompute_flops = enacted.recompute_flops;
  ASSIGN_OR_RETURN(RunFigures figures, TrainingFigures(enacted, workload));
  figures.at_least = IsLowerBound(analysis.diagnostics) || HasOpaqueBodies(analysis.diagnostics);
  if (workload.training_bounds) {
    ASSIGN_OR_RETURN(const PeakBounds bounds,
                     BoundTraining(graph, lowered, workload, PeakOf(figures), analysis.diagnostics));
    SetBounds(bounds, figures);
  }
  WarnIfNothingIsTrained(run, enacted, analysis.diagnostics);
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
  if (RunsSessions(workload.allocator)) {  // what an export lost of the framework's program changes nothing there
    enacted.diagnostics.clear();
    enacted.plain_rewrites.clear();
  }
  if (workload.mode == Mode::kInference) {
    CopyModelFacts(enacted, analysis);
    FillInferenceAssumptions(workload, analysis);
  }
  RunFigures figures;
  if (RunsSessions(workload.allocator)) {
    RETURN_IF_ERROR(FillSession(graph, enacted.program, workload, LeavesDimsFree(analysis.info), figures));
  } else {
    ASSIGN_OR_RETURN(figures, InferenceFigures(graph, enacted, workload));
  }
  if (!RunsSessions(workload.allocator)) {
    ASSIGN_OR_RETURN(const PeakBounds bounds,
                     BoundInference(graph, lowered, run, PeakOf(figures), enacted.diagnostics));
    SetBounds(bounds, figures);
  }
  const MemoryProgram planned = PlanStatically(graph);
  if (!graph.nodes.empty() && VerifyProgram(planned).ok()) {
    figures.ideal_peak_bytes = ComputeTimeline(planned).peak_bytes;
    figures.ideal_arena_bytes = ArenaBytes(planned);
  }
  figures.at_least = IsLowerBound(analysis.diagnostics);
  analysis.inference = std::move(figures);
  return absl::OkStatus();
}

}  // namespace

// onnxruntime's arena belongs to a session, which plans before it runs; eager figures in it would be nobody's.
bool RunsSessions(std::string_view allocator) { return allocator.starts_with("ort"); }

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

absl::StatusOr<PeakBounds> BoundTraining(const Graph& graph, const Lowered& lowered, const Workload& workload,
                                         Peak peak, std::vector<Diagnostic>& diagnostics) {
  constexpr size_t kMostNodes = 20'000;  // a second's work
  if (graph.nodes.size() > kMostNodes) return PeakBounds{0, 0};  // not known
  Run asked = workload.run;
  asked.training = true;
  const auto peak_of = [&](const Lowered& other, const Run& run) -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const Enacted enacted, EnactLowered(other, run));
    return TrainingPeak(enacted, workload);
  };
  return BoundPeak(graph, lowered, asked, peak, peak_of, diagnostics);
}

absl::StatusOr<PeakBounds> BoundInference(const Graph& graph, const Lowered& lowered, const Run& run,
                                          Peak peak, std::vector<Diagnostic>& diagnostics) {
  const auto peak_of = [](const Lowered& other, const Run& asked) -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const Enacted enacted, EnactLowered(other, asked));
    return ComputeTimeline(enacted.program).peak_bytes;
  };
  return BoundPeak(graph, lowered, run, peak, peak_of, diagnostics);
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
    RETURN_IF_ERROR(FillSession(graph, enacted.program, workload, /*free_dims=*/true, figures));
  } else {
    figures.program = enacted.program;
    RETURN_IF_ERROR(FillFigures(workload, /*first_step=*/nullptr, figures.program, figures));
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
  analysis.info = std::move(model.info);
  analysis.diagnostics = std::move(model.diagnostics);
  analysis.batch = workload.bindings.batch.value_or(analysis.info.file_batch);
  if (analysis.info.from_record) NoteIdleOptions(workload.run, analysis.diagnostics);
  if (workload.mode != Mode::kInference) RETURN_IF_ERROR(AnalyzeTraining(model.graph, workload, analysis));
  if (workload.mode != Mode::kTraining) RETURN_IF_ERROR(AnalyzeInference(model.graph, workload, analysis));
  analysis.graph = std::move(model.graph);
  GivePaths(analysis.parameters, analysis.graph);
  return analysis;
}

absl::StatusOr<Analysis> Analyze(const ModelFile& file, const Workload& workload) {
  ASSIGN_OR_RETURN(ImportedModel model, file.Import(workload.bindings));
  return AnalyzeImported(std::move(model), workload);
}

}  // namespace onnx_mem
