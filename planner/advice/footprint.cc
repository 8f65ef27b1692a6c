#include "planner/advice/footprint.h"

#include "analyzer/graph/status_macros.h"

namespace onnx_mem {

absl::StatusOr<Footprint> FootprintOf(Study& study, const Workload& workload) {
  ASSIGN_OR_RETURN(const Shared<RunFigures> figures, study.Figures(workload));
  ASSIGN_OR_RETURN(const Shared<Enacted> enacted, study.Enact(workload));
  Footprint footprint;
  footprint.peak_bytes = figures->peak_bytes;
  footprint.first_step_peak_bytes = figures->first_step_peak_bytes;
  footprint.allocated_peak_bytes = figures->allocated_peak_bytes;
  footprint.device_bytes = figures->device_bytes;
  footprint.step_flops = enacted->forward_flops + enacted->backward_flops;
  footprint.recompute_flops = enacted->recompute_flops;
  return footprint;
}

}  // namespace onnx_mem
