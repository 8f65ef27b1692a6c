#include "planner/plans/measure/accountant.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/analysis/library_workspace.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/timeline.h"

namespace onnx_mem {
namespace {

constexpr int64_t kReplayWork = 3;
constexpr int64_t kPageBytes = int64_t{2} << 20;

}  // namespace

absl::StatusOr<Accountant> Accountant::Create(const ImportedModel& model, const Workload& workload, const Clock& clock,
                                              CostLine cost_line, KnownStep known) {
  Accountant accountant;
  accountant.clock_ = clock;
  accountant.cost_line_ = cost_line;
  accountant.workload_ = workload;
  accountant.workload_.mode = Mode::kTraining;
  accountant.workload_.run.training = true;
  if (known.lowered != nullptr) {
    accountant.lowered_ = *known.lowered;
  } else {
    ASSIGN_OR_RETURN(accountant.lowered_, Prepare(model.graph, accountant.workload_.run));
  }
  if (known.enacted != nullptr) {
    accountant.baseline_ = *known.enacted;
    ++accountant.work_;  // so that what is tried does not depend on it
  } else {
    ASSIGN_OR_RETURN(accountant.baseline_, accountant.Enact({}));
  }
  ASSIGN_OR_RETURN(accountant.baseline_figures_, TrainingFigures(accountant.baseline_, accountant.workload_));
  const MemoryProgram& steady = accountant.baseline_figures_.program;
  for (const Buffer& buffer : steady.buffers) {
    const bool throughout = buffer.begin.value() == 0 && !steady.steps.contains(buffer.end);
    if (buffer.category == Category::kOptimizerState && throughout) accountant.optimizer_state_bytes_ += buffer.bytes;
  }
  const TimeEstimate time = EstimateTime(steady, clock.card, clock.measured);
  accountant.baseline_recompute_ns_ = time.recompute_ns;
  accountant.step_ns_ = time.step_ns - time.recompute_ns;
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

double Accountant::StepCost() const {
  return std::max(1.0, cost_line_ == CostLine::kTime ? static_cast<double>(step_ns_) : StepFlops());
}

absl::StatusOr<Enacted> Accountant::Enact(const std::vector<Segment>& segments) {
  ++work_;
  Run run = workload_.run;
  run.segments.insert(run.segments.end(), segments.begin(), segments.end());
  return EnactLowered(lowered_, run);
}

int64_t Accountant::PeakOf(const MemoryProgram& program) const {
  return std::max(ComputeTimeline(program).peak_bytes + optimizer_state_bytes_, optimizer_peak_bytes_);
}

Score Accountant::ScoreOf(const Enacted& enacted) const {
  Score score;
  score.peak_bytes = PeakOf(enacted.program);
  score.cost = cost_line_ == CostLine::kFlops
                   ? enacted.recompute_flops - baseline_.recompute_flops
                   : AddedNs(EstimateTime(enacted.program, clock_.card, clock_.measured));
  return score;
}

int64_t Accountant::CostOf(const Step& step) const {
  return cost_line_ == CostLine::kFlops ? step.flops : StepTimeNs(step, clock_.card);
}

int64_t Accountant::LeastDeviceBytes(int64_t peak_bytes) const {
  // PyTorch's allocators take nothing but whole pages from the device, and give none back before memory runs out.
  const bool pages = ServesLibraries(workload_.allocator);
  const int64_t reserved = pages ? (peak_bytes + kPageBytes - 1) / kPageBytes * kPageBytes : peak_bytes;
  return reserved + baseline_figures_.device_bytes - baseline_figures_.reserved_peak_bytes;
}

absl::StatusOr<Measured> Accountant::Measure(const std::vector<Segment>& segments) {
  ASSIGN_OR_RETURN(const Enacted enacted, Enact(segments));
  return MeasureEnacted(enacted);
}

absl::StatusOr<Measured> Accountant::MeasureWith(std::string_view allocator, const std::vector<Segment>& segments) {
  const std::string own = std::exchange(workload_.allocator, std::string(allocator));
  absl::StatusOr<Measured> measured = Measure(segments);
  workload_.allocator = own;
  return measured;
}

absl::StatusOr<std::optional<LimitedRun>> Accountant::RunWithin(int64_t device_bytes,
                                                                const std::vector<Segment>& segments) {
  ASSIGN_OR_RETURN(const Enacted enacted, Enact(segments));
  return TrainingWithin(enacted, workload_, device_bytes);
}

absl::StatusOr<Measured> Accountant::MeasureEnacted(const Enacted& enacted) {
  ASSIGN_OR_RETURN(const RunFigures figures, TrainingFigures(enacted, workload_));
  return MeasureFigures(enacted, figures);
}

absl::StatusOr<Measured> Accountant::MeasureFigures(const Enacted& enacted, const PeakFigures& figures) {
  work_ += kReplayWork;
  Measured measured;
  measured.peak_bytes = figures.peak_bytes;
  measured.first_step_peak_bytes = figures.first_step_peak_bytes;
  measured.allocated_peak_bytes = figures.allocated_peak_bytes;
  measured.device_bytes = figures.device_bytes;
  measured.recompute_flops = enacted.recompute_flops - baseline_.recompute_flops;
  const TimeEstimate time = EstimateTime(enacted.program, clock_.card, clock_.measured);
  measured.recompute_ns = time.recompute_ns - baseline_recompute_ns_;
  measured.offload_ns = time.offload_ns;
  measured.host_bytes = enacted.host_peak_bytes;
  const auto share = [](int64_t part, double whole) { return whole > 0 ? static_cast<double>(part) / whole : 0.0; };
  measured.time_slowdown = share(AddedNs(time), static_cast<double>(step_ns_));
  measured.flops_slowdown = share(measured.recompute_flops, StepFlops());
  measured.slowdown = cost_line_ == CostLine::kTime ? measured.time_slowdown : measured.flops_slowdown;
  return measured;
}

}  // namespace onnx_mem
