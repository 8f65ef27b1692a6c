#include "planner/measure/accountant.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/allocators/cuda_allocator.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/parallel/rank_step.h"
#include "analyzer/runtimes/library_workspace.h"

namespace onnx_mem {
namespace {

constexpr int64_t kReplayWork = 3;

// The same for the same plan.
std::string KeyOf(const std::vector<Segment>& segments) {
  std::string key;
  for (const Segment& segment : segments) {
    for (const std::vector<std::string>* names : {&segment.modules, &segment.nodes, &segment.keep})
      absl::StrAppend(&key, absl::StrJoin(*names, "\n"), "\n\n");
    for (const KeptCall& kept : segment.keep_calls) absl::StrAppend(&key, TextOf(kept), "\n");
    absl::StrAppend(&key, "\n");
    for (const CallId& call : segment.skip) absl::StrAppend(&key, TextOf(call), "\n");
    absl::StrAppend(&key, static_cast<int>(segment.offload), segment.host_inputs ? "i" : "", "\n");
    for (const KeptCall& moved : segment.host_calls) absl::StrAppend(&key, TextOf(moved), "\n");
    absl::StrAppend(&key, "\n");
  }
  return key;
}

}  // namespace

absl::StatusOr<Accountant> Accountant::Create(Study& study, const Workload& workload, const Clock& clock,
                                              CostLine cost_line) {
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(workload.bindings));
  Accountant accountant;
  accountant.clock_ = clock;
  accountant.cost_line_ = cost_line;
  accountant.workload_ = WithTorchOf(model->info, workload);
  accountant.workload_.mode = Mode::kTraining;
  accountant.workload_.run.training = true;
  ++accountant.work_;  // whether the study knew the step or not: what is tried does not depend on that
  ASSIGN_OR_RETURN(accountant.lowered_, study.Lower(workload.bindings, accountant.workload_.run));
  ASSIGN_OR_RETURN(accountant.baseline_, study.Enact(accountant.workload_));
  ASSIGN_OR_RETURN(accountant.baseline_figures_, study.Figures(accountant.workload_));
  RETURN_IF_ERROR(accountant.SplitGraph());
  accountant.ReadBaseline();
  return accountant;
}

absl::StatusOr<Accountant> Accountant::Create(Shared<Lowered> lowered, const Workload& workload, EnactRun enact,
                                              const Clock& clock, CostLine cost_line) {
  Accountant accountant;
  accountant.clock_ = clock;
  accountant.cost_line_ = cost_line;
  accountant.workload_ = workload;
  accountant.lowered_ = std::move(lowered);
  accountant.enact_ = std::move(enact);
  ASSIGN_OR_RETURN(Enacted enacted, accountant.Enact({}));
  accountant.baseline_ = std::make_shared<const Enacted>(std::move(enacted));
  ASSIGN_OR_RETURN(RunFigures figures, TrainingFigures(accountant.baseline(), workload));
  accountant.baseline_figures_ = std::make_shared<const RunFigures>(std::move(figures));
  accountant.ReadBaseline();
  return accountant;
}

void Accountant::ReadBaseline() {
  const MemoryProgram& steady = *baseline_figures_->program;
  for (const Buffer& buffer : steady.buffers) {
    const bool throughout = buffer.begin.value() == 0 && !steady.steps.contains(buffer.end);
    if (buffer.category == Category::kOptimizerState && throughout) optimizer_state_bytes_ += buffer.bytes;
  }
  const TimeEstimate time = EstimateTime(steady, clock_.card, clock_.measured);
  baseline_recompute_ns_ = time.recompute_ns;
  step_ns_ = time.step_ns - time.recompute_ns;
  baseline_both_ = OnTwoTimelines(steady, clock_.card, clock_.measured);
  enacted_both_ = OnTwoTimelines(baseline_->program, clock_.card, clock_.measured);
  for (StepId step(0); steady.steps.contains(step); step = StepId(step.value() + 1)) {
    if (steady.steps[step].phase != Phase::kOptimizer) continue;
    const int64_t live = baseline_figures_->timeline.live_bytes[static_cast<size_t>(step.value())];
    optimizer_peak_bytes_ = std::max(optimizer_peak_bytes_, live);
  }
}

absl::Status Accountant::SplitGraph() {
  const EnactedLayout part = EnactedPart(workload_.run, workload_.layout);
  if (part.tensor == TensorLayout()) return absl::OkStatus();
  ASSIGN_OR_RETURN(RankGraph rank, GraphOfRank(*lowered_, part));
  lowered_ = std::make_shared<const Lowered>(std::move(rank.lowered));
  workload_.run.loss = rank.run.loss;
  return absl::OkStatus();
}

void Accountant::CountReplay() { work_ += kReplayWork; }

double Accountant::StepFlops() const {
  return static_cast<double>(baseline_->forward_flops) + static_cast<double>(baseline_->backward_flops);
}

double Accountant::StepCost() const {
  return std::max(1.0, cost_line_ == CostLine::kTime ? static_cast<double>(step_ns_) : StepFlops());
}

absl::StatusOr<Enacted> Accountant::Enact(const std::vector<Segment>& segments) {
  ++work_;
  Run run = workload_.run;
  run.segments.insert(run.segments.end(), segments.begin(), segments.end());
  if (enact_) return enact_(run);
  if (!modules_) modules_.emplace(lowered_->graph);
  return EnactLowered(*lowered_, run, &*modules_);
}

int64_t Accountant::PeakOf(const MemoryProgram& program) const {
  return std::max(ComputeTimeline(program).peak_bytes + optimizer_state_bytes_, optimizer_peak_bytes_);
}

Score Accountant::ScoreOf(const Enacted& enacted) const {
  Score score;
  score.peak_bytes = PeakOf(enacted.program);
  score.cost = cost_line_ == CostLine::kFlops ? enacted.recompute_flops - baseline_->recompute_flops
                                              : AddedNs(EstimateTime(enacted.program, clock_.card, clock_.measured));
  return score;
}

int64_t Accountant::CostOf(const Step& step) const {
  return cost_line_ == CostLine::kFlops ? step.flops : StepTimeNs(step, clock_.card);
}

int64_t Accountant::LeastDeviceBytes(int64_t peak_bytes) const {
  // PyTorch's allocators give no page back before memory runs out.
  const bool pages = ServesLibraries(workload_.allocator);
  const int64_t reserved = pages ? (peak_bytes + kCudaPageBytes - 1) / kCudaPageBytes * kCudaPageBytes : peak_bytes;
  return reserved + baseline_figures_->device_bytes - baseline_figures_->reserved_peak_bytes;
}

absl::StatusOr<Accountant::Judged> Accountant::Judge(const std::vector<Segment>& segments) {
  Judged judged;
  if (segments.empty()) {
    CountEnactment();
    judged.score = ScoreOf(*baseline_);
    return judged;
  }
  judged.key = KeyOf(segments);
  if (const auto known = known_.find(judged.key); known != known_.end()) {
    CountEnactment();
    judged.score = known->second.score;
    judged.measured = known->second.measured;
    return judged;
  }
  ASSIGN_OR_RETURN(judged.enacted, Enact(segments));
  judged.score = ScoreOf(*judged.enacted);
  known_.emplace(judged.key, Known{judged.score});
  return judged;
}

absl::StatusOr<Measured> Accountant::MeasureJudged(const std::vector<Segment>& segments, Judged&& judged) {
  if (judged.measured) {
    work_ += kReplayWork;
    return *judged.measured;
  }
  if (segments.empty()) return MeasureBaseline();
  if (!judged.enacted) {  // it was counted when it was judged
    ASSIGN_OR_RETURN(judged.enacted, Enact(segments));
    --work_;
  }
  ASSIGN_OR_RETURN(const Measured measured, MeasureEnacted(*std::move(judged.enacted)));
  known_[judged.key] = {judged.score, measured};
  return measured;
}

absl::Status Accountant::MeasureAhead(const std::vector<Segment>& segments, Judged&& judged) {
  if (!judged.enacted) return absl::OkStatus();
  RETURN_IF_ERROR(MeasureJudged(segments, std::move(judged)).status());
  work_ -= kReplayWork;
  return absl::OkStatus();
}

absl::StatusOr<Measured> Accountant::Measure(const std::vector<Segment>& segments) {
  ASSIGN_OR_RETURN(Judged judged, Judge(segments));
  return MeasureJudged(segments, std::move(judged));
}

absl::StatusOr<Measured> Accountant::MeasureWith(std::string_view allocator, const Enacted& enacted) {
  const std::string own = std::exchange(workload_.allocator, std::string(allocator));
  absl::StatusOr<Measured> measured = MeasureEnacted(enacted);
  workload_.allocator = own;
  return measured;
}

absl::StatusOr<Measured> Accountant::MeasureEnacted(const Enacted& enacted) {
  ASSIGN_OR_RETURN(const RunFigures figures, TrainingFigures(enacted, workload_));
  return MeasuredBy(enacted, figures);
}

// The program becomes that of the whole step in place: a copy takes as long as all else but the replay.
absl::StatusOr<Measured> Accountant::MeasureEnacted(Enacted&& enacted) {
  Measured measured = CostsOf(enacted);
  ASSIGN_OR_RETURN(const RunFigures figures, TrainingFigures(std::move(enacted), workload_));
  SetFigures(figures, measured);
  return measured;
}

Measured Accountant::MeasuredBy(const Enacted& enacted, const PeakFigures& figures) {
  Measured measured = CostsOf(enacted);
  SetFigures(figures, measured);
  return measured;
}

void Accountant::SetFigures(const PeakFigures& figures, Measured& measured) {
  work_ += kReplayWork;
  static_cast<PeakFigures&>(measured) = figures;
}

Measured Accountant::CostsOf(const Enacted& enacted) const {
  Measured measured;
  measured.recompute_flops = enacted.recompute_flops - baseline_->recompute_flops;
  const TimeEstimate time = EstimateTime(enacted.program, clock_.card, clock_.measured);
  measured.recompute_ns = time.recompute_ns - baseline_recompute_ns_;
  measured.offload_ns = time.offload_ns;
  measured.host_bytes = enacted.host_peak_bytes;
  const auto share = [](int64_t part, double whole) { return whole > 0 ? static_cast<double>(part) / whole : 0.0; };
  measured.time_slowdown = share(AddedNs(time), static_cast<double>(step_ns_));
  measured.flops_slowdown = share(measured.recompute_flops, StepFlops());
  measured.slowdown = cost_line_ == CostLine::kTime ? measured.time_slowdown : measured.flops_slowdown;
  // The optimizer's own steps are those of the baseline.
  const TwoTimelines both = OnTwoTimelines(enacted.program, clock_.card, clock_.measured);
  measured.cpu_ns = baseline_both_.cpu_ns + both.cpu_ns - enacted_both_.cpu_ns;
  measured.gpu_ns = baseline_both_.gpu_ns + both.gpu_ns - enacted_both_.gpu_ns;
  const int64_t wall_ns = std::max(measured.cpu_ns, measured.gpu_ns);
  measured.wall_slowdown = share(wall_ns - baseline_both_.wall_ns(), static_cast<double>(baseline_both_.wall_ns()));
  return measured;
}

}  // namespace onnx_mem
