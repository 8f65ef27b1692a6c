#include "planner/advice/footprint.h"

#include "analyzer/graph/status_macros.h"

namespace onnx_mem {

absl::StatusOr<Footprint> FootprintOf(Study& study, const Workload& workload) {
  ASSIGN_OR_RETURN(const Shared<RunFigures> figures, study.Figures(workload));
  ASSIGN_OR_RETURN(const Shared<Enacted> enacted, study.Enact(workload));
  return Footprint{*figures, *enacted};
}

}  // namespace onnx_mem
