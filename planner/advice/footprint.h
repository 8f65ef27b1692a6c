// What a change of the run is judged by: figures of one training step or one inference.
#ifndef ONNX_MEM_PLANNER_ADVICE_FOOTPRINT_H_
#define ONNX_MEM_PLANNER_ADVICE_FOOTPRINT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "analyzer/analysis/study.h"

namespace onnx_mem {

// Bytes; FLOPs of multiply-adds counted as 2, of one micro-step.
struct Footprint {
  int64_t peak_bytes = 0;
  int64_t first_step_peak_bytes = 0;
  int64_t allocated_peak_bytes = 0;
  int64_t device_bytes = 0;
  int64_t step_flops = 0;  // forward and backward, nothing run twice
  int64_t recompute_flops = 0;
};

// The training step of `workload`, or the inference where its mode is kInference.
absl::StatusOr<Footprint> FootprintOf(Study& study, const Workload& workload);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_FOOTPRINT_H_
