#include "analyzer/analysis.h"

#include "absl/strings/str_cat.h"
#include "analyzer/allocators/replay.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

std::vector<TrainedParameter> Trained(const std::vector<Parameter>& parameters) {
  std::vector<TrainedParameter> trained;
  for (const Parameter& p : parameters) {
    if (!p.has_gradient) continue;
    trained.push_back({p.name, p.bytes, *NumElements(Shape(p.dims)), p.dims});
  }
  return trained;
}

// What the allocator makes of figures.program. `first_step`: step 1 of a training run, whose segments stay cached.
absl::Status FillFigures(const Workload& workload, const MemoryProgram* first_step, RunFigures& figures) {
  figures.timeline = ComputeTimeline(figures.program);
  figures.peak_bytes = figures.timeline.peak_bytes;
  ReplayOptions options;
  options.allocator = workload.allocator;
  options.first_step = first_step;
  ASSIGN_OR_RETURN(const AllocatorUsage usage, Replay(figures.program, options));
  figures.allocated_peak_bytes = usage.peak_allocated_bytes;
  figures.reserved_peak_bytes = usage.peak_reserved_bytes;
  figures.device_bytes = usage.peak_reserved_bytes + kCudaContext.bytes;
  figures.device_low_bytes = usage.peak_allocated_bytes + kCudaContext.low_bytes;
  figures.device_high_bytes = usage.peak_reserved_bytes + kCudaContext.high_bytes;
  return absl::OkStatus();
}

void CopyModelFacts(const Enacted& enacted, Analysis& analysis) {
  analysis.parameters = enacted.parameters;
  analysis.parameter_count = enacted.parameter_count;
  analysis.parameter_bytes = enacted.parameter_bytes;
  analysis.buffer_bytes = enacted.buffer_bytes;
  analysis.forward_flops = enacted.forward_flops;
  analysis.diagnostics.insert(analysis.diagnostics.end(), enacted.diagnostics.begin(), enacted.diagnostics.end());
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
  const std::vector<TrainedParameter> trained = Trained(enacted.parameters);
  RunFigures figures;
  const MemoryProgram first = WithOptimizer(enacted.program, trained, workload.optimizer, /*first_step=*/true);
  figures.first_step_peak_bytes = ComputeTimeline(first).peak_bytes;
  figures.program = WithOptimizer(enacted.program, trained, workload.optimizer, /*first_step=*/false);
  RETURN_IF_ERROR(FillFigures(workload, &first, figures));
  analysis.training = std::move(figures);
  return absl::OkStatus();
}

absl::Status AnalyzeInference(const Graph& graph, const Workload& workload, Analysis& analysis) {
  Run run = workload.run;
  run.training = false;
  ASSIGN_OR_RETURN(Enacted enacted, Enact(graph, run));
  if (workload.mode == Mode::kInference) CopyModelFacts(enacted, analysis);
  RunFigures figures;
  figures.program = std::move(enacted.program);
  RETURN_IF_ERROR(FillFigures(workload, /*first_step=*/nullptr, figures));
  analysis.inference = std::move(figures);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Analysis> Analyze(const ModelFile& file, const Workload& workload) {
  ASSIGN_OR_RETURN(ImportedModel model, file.Import(workload.bindings));
  Analysis analysis;
  analysis.info = std::move(model.info);
  analysis.diagnostics = std::move(model.diagnostics);
  analysis.batch = workload.bindings.batch.value_or(analysis.info.file_batch);
  if (workload.mode != Mode::kInference) RETURN_IF_ERROR(AnalyzeTraining(model.graph, workload, analysis));
  if (workload.mode != Mode::kTraining) RETURN_IF_ERROR(AnalyzeInference(model.graph, workload, analysis));
  analysis.graph = std::move(model.graph);
  return analysis;
}

}  // namespace onnx_mem
