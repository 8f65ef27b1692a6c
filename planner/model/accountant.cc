#include "planner/model/accountant.h"

#include <algorithm>

#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/timeline.h"

namespace onnx_mem {

absl::StatusOr<Accountant> Accountant::Create(const ImportedModel& model, const Workload& workload) {
  Accountant accountant;
  accountant.workload_ = workload;
  accountant.workload_.mode = Mode::kTraining;
  accountant.workload_.run.training = true;
  ASSIGN_OR_RETURN(accountant.lowered_, Prepare(model.graph, accountant.workload_.run));
  ASSIGN_OR_RETURN(accountant.baseline_, accountant.Enact({}));
  ASSIGN_OR_RETURN(accountant.baseline_figures_, TrainingFigures(accountant.baseline_, accountant.workload_));
  const MemoryProgram& steady = accountant.baseline_figures_.program;
  for (const Buffer& buffer : steady.buffers) {
    const bool throughout = buffer.begin.value() == 0 && !steady.steps.contains(buffer.end);
    if (buffer.category == Category::kOptimizerState && throughout) accountant.optimizer_state_bytes_ += buffer.bytes;
  }
  for (StepId step(0); steady.steps.contains(step); step = StepId(step.value() + 1)) {
    if (steady.steps[step].phase != Phase::kOptimizer) continue;
    const int64_t live = accountant.baseline_figures_.timeline.live_bytes[static_cast<size_t>(step.value())];
    accountant.optimizer_peak_bytes_ = std::max(accountant.optimizer_peak_bytes_, live);
  }
  return accountant;
}

double Accountant::StepFlops() const {
  return static_cast<double>(baseline_.forward_flops) + static_cast<double>(baseline_.backward_flops);
}

absl::StatusOr<Enacted> Accountant::Enact(const std::vector<Segment>& segments) {
  ++enactments_;
  Run run = workload_.run;
  run.segments.insert(run.segments.end(), segments.begin(), segments.end());
  return EnactLowered(lowered_, run);
}

int64_t Accountant::PeakOf(const MemoryProgram& program) const {
  return std::max(ComputeTimeline(program).peak_bytes + optimizer_state_bytes_, optimizer_peak_bytes_);
}

absl::StatusOr<Measured> Accountant::Measure(const std::vector<Segment>& segments) {
  ASSIGN_OR_RETURN(const Enacted enacted, Enact(segments));
  ASSIGN_OR_RETURN(const RunFigures figures, TrainingFigures(enacted, workload_));
  Measured measured;
  measured.peak_bytes = figures.peak_bytes;
  measured.first_step_peak_bytes = figures.first_step_peak_bytes;
  measured.allocated_peak_bytes = figures.allocated_peak_bytes;
  measured.device_bytes = figures.device_bytes;
  measured.recompute_flops = enacted.recompute_flops - baseline_.recompute_flops;
  const double step_flops = StepFlops();
  measured.slowdown = step_flops > 0 ? static_cast<double>(measured.recompute_flops) / step_flops : 0;
  return measured;
}

}  // namespace onnx_mem
