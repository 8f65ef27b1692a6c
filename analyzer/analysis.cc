#include "analyzer/analysis.h"

#include "absl/strings/str_cat.h"
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

void FillFigures(RunFigures& figures) {
  figures.timeline = ComputeTimeline(figures.program);
  figures.peak_bytes = figures.timeline.peak_bytes;
  figures.allocated_peak_bytes = figures.peak_bytes;
  figures.reserved_peak_bytes = figures.peak_bytes;
  figures.device_bytes = figures.peak_bytes;
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
  figures.first_step_peak_bytes =
      ComputeTimeline(WithOptimizer(enacted.program, trained, workload.optimizer, /*first_step=*/true)).peak_bytes;
  figures.program = WithOptimizer(enacted.program, trained, workload.optimizer, /*first_step=*/false);
  FillFigures(figures);
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
  FillFigures(figures);
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
