#include "analyzer/study/rank_traffic.h"

#include "analyzer/graph/status_macros.h"

namespace onnx_mem {

absl::StatusOr<TrafficCost> TrafficOn(Study& study, const Workload& workload, const Gpu& card) {
  ASSIGN_OR_RETURN(const Shared<LocalStep> step, study.Local(workload));
  return CostOf(TrafficOf(*step, workload.run, workload.layout), card);
}

}  // namespace onnx_mem
