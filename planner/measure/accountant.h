// The judge of every plan: the training step enacted with the plan's segments, as analyzer/analysis does it.
// Work is counted in enactments.
#ifndef ONNX_MEM_PLANNER_MEASURE_ACCOUNTANT_H_
#define ONNX_MEM_PLANNER_MEASURE_ACCOUNTANT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/devices/two_timelines.h"
#include "planner/measure/candidates.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// PyTorch's allocators take nothing but whole pages from the device.
inline constexpr int64_t kPageBytes = int64_t{2} << 20;

// What a search compares plans by.
struct Score {
  int64_t peak_bytes = 0;
  int64_t device_bytes =
      0;             // 0: not looked at, a replay of the allocator takes several times as long as the step itself
  int64_t cost = 0;  // FLOPs or nanoseconds of recomputation
  friend bool operator==(const Score&, const Score&) = default;
};

class Accountant {
 public:
  // The step without any plan is that of `study`; segments of `workload.run` itself stay in place. `clock` and
  // `cost_line` say what recomputation costs.
  static absl::StatusOr<Accountant> Create(Study& study, const Workload& workload, const Clock& clock,
                                           CostLine cost_line);
  // The same of a graph that no study has, which `enact` runs: a stage of a pipeline.
  using EnactRun = std::function<absl::StatusOr<Enacted>(const Run& run)>;
  static absl::StatusOr<Accountant> Create(Shared<Lowered> lowered, const Workload& workload, EnactRun enact,
                                           const Clock& clock, CostLine cost_line);

  const Lowered& lowered() const { return *lowered_; }  // of one rank
  const Enacted& baseline() const { return *baseline_; }
  const RunFigures& baseline_figures() const { return *baseline_figures_; }
  const Workload& workload() const { return workload_; }
  int64_t optimizer_state_bytes() const { return optimizer_state_bytes_; }
  int64_t optimizer_peak_bytes() const { return optimizer_peak_bytes_; }
  const Clock& clock() const { return clock_; }
  int64_t work() const { return work_; }  // enactments; a replay of the allocator counts as several
  void CountEnactment() { ++work_; }      // of a plan that is known without one
  void CountReplay();                     // of the allocator, for such a plan
  double StepFlops() const;               // forward and backward, without recomputation
  // The step has checkpoints without any plan: those of the workload, and calls that the recorded code made.
  bool HasOwnSegments() const {
    return !workload_.run.segments.empty() || !workload_.run.checkpointed.empty() || !lowered_->checkpointed.empty();
  }
  // What they recompute, in what recomputation costs.
  int64_t OwnRecompute() const {
    return cost_line_ == CostLine::kFlops ? baseline_->recompute_flops : baseline_recompute_ns_;
  }
  double StepCost() const;  // the same in what recomputation costs
  int64_t step_ns() const { return step_ns_; }

  absl::StatusOr<Enacted> Enact(const std::vector<Segment>& segments);
  // Peak over the whole steady step of a program from Enact: what TrainingFigures would report as peak_bytes.
  int64_t PeakOf(const MemoryProgram& program) const;

  absl::StatusOr<Measured> MeasureBaseline() { return MeasuredBy(*baseline_, *baseline_figures_); }
  // Peak and cost of a program from Enact; no device bytes.
  Score ScoreOf(const Enacted& enacted) const;
  // What running `step` once more costs, as Score::cost.
  int64_t CostOf(const Step& step) const;
  // No program can need less on the device than this, whatever the allocator does.
  int64_t LeastDeviceBytes(int64_t peak_bytes) const;

  // A plan, and what MeasureJudged wants of it.
  struct Judged {
    std::string key;  // of the plan, where it has segments
    Score score;
    std::optional<Measured> measured = {};
    std::optional<Enacted> enacted = {};
  };
  // Searches of several classes meet the same plans, and curves those of searches: each is enacted and measured once,
  // and counts as work each time, so that what is tried does not depend on what was tried before.
  absl::StatusOr<Judged> Judge(const std::vector<Segment>& segments);
  absl::StatusOr<Measured> MeasureJudged(const std::vector<Segment>& segments, Judged&& judged);
  // For a later Measure, while what was enacted is there. No work yet.
  absl::Status MeasureAhead(const std::vector<Segment>& segments, Judged&& judged);

  absl::StatusOr<Measured> Measure(const std::vector<Segment>& segments);
  absl::StatusOr<Measured> MeasureEnacted(Enacted&& enacted);
  absl::StatusOr<Measured> MeasureEnacted(const Enacted& enacted);
  // The same as if `allocator` handed out the memory.
  absl::StatusOr<Measured> MeasureWith(std::string_view allocator, const Enacted& enacted);
  // What a card with `device_bytes` makes of it: figures.h.
  absl::StatusOr<std::optional<LimitedRun>> RunWithin(int64_t device_bytes, const Enacted& enacted) {
    return TrainingWithin(enacted, workload_, device_bytes);
  }

 private:
  // Of tensor parallelism: the graph that one rank runs takes the place of the whole one.
  absl::Status SplitGraph();
  void ReadBaseline();
  Measured MeasuredBy(const Enacted& enacted, const PeakFigures& figures);
  Measured CostsOf(const Enacted& enacted) const;
  void SetFigures(const PeakFigures& figures, Measured& measured);
  // Of a step with segments: its second runs and moves, less the second runs that the workload itself has.
  int64_t AddedNs(const TimeEstimate& time) const {
    return time.recompute_ns + time.offload_ns - baseline_recompute_ns_;
  }

  Shared<Lowered> lowered_;
  EnactRun enact_;                      // unset: EnactLowered of `lowered_`
  std::optional<ModuleNodes> modules_;  // of `lowered_`, once something is enacted
  Workload workload_;
  Shared<Enacted> baseline_;
  Shared<RunFigures> baseline_figures_;
  int64_t optimizer_state_bytes_ = 0;  // there throughout the steady step
  int64_t optimizer_peak_bytes_ = 0;   // of the optimizer's own steps, which no plan changes
  int64_t work_ = 0;
  struct Known {
    Score score;
    std::optional<Measured> measured = {};
  };
  std::unordered_map<std::string, Known> known_;  // by KeyOf in accountant.cc
  Clock clock_;
  CostLine cost_line_ = CostLine::kFlops;
  int64_t baseline_recompute_ns_ = 0;
  TwoTimelines baseline_both_;  // of the steady step
  TwoTimelines enacted_both_;   // of what was enacted of it
  int64_t step_ns_ = 0;         // of the baseline, without what its own checkpoints recompute
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_ACCOUNTANT_H_
