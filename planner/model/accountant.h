// The judge of every plan: the training step enacted with the plan's segments, as analyzer/enact and analysis do it.
// Enactments are counted (the planner's unit of work) and remembered by choice.
#ifndef ONNX_MEM_PLANNER_MODEL_ACCOUNTANT_H_
#define ONNX_MEM_PLANNER_MODEL_ACCOUNTANT_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis.h"
#include "analyzer/enact.h"
#include "planner/model/candidates.h"
#include "planner/model/plan.h"

namespace onnx_mem {

// The quick part of a measurement: no allocator, no first step.
struct Score {
  int64_t peak_bytes = 0;
  int64_t recompute_flops = 0;
  friend bool operator==(const Score&, const Score&) = default;
};

class Accountant {
 public:
  // Lowers `model` once and enacts the step without any plan; segments of `workload.run` itself stay in place.
  static absl::StatusOr<Accountant> Create(const ImportedModel& model, const Workload& workload);

  const Lowered& lowered() const { return lowered_; }
  const Enacted& baseline() const { return baseline_; }
  const RunFigures& baseline_figures() const { return baseline_figures_; }
  const Workload& workload() const { return workload_; }
  int64_t optimizer_state_bytes() const { return optimizer_state_bytes_; }
  int64_t optimizer_peak_bytes() const { return optimizer_peak_bytes_; }
  int64_t enactments() const { return enactments_; }
  double StepFlops() const;  // forward and backward, without recomputation

  absl::StatusOr<Enacted> Enact(const std::vector<Segment>& segments);
  // Peak over the whole steady step of a program from Enact: what TrainingFigures would report as peak_bytes.
  int64_t PeakOf(const MemoryProgram& program) const;

  absl::StatusOr<Measured> Measure(const std::vector<Segment>& segments);

 private:
  Lowered lowered_;
  Workload workload_;
  Enacted baseline_;
  RunFigures baseline_figures_;
  int64_t optimizer_state_bytes_ = 0;  // there throughout the steady step
  int64_t optimizer_peak_bytes_ = 0;   // of the optimizer's own steps, which no plan changes
  int64_t enactments_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MODEL_ACCOUNTANT_H_
