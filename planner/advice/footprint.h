// What a change of the run is judged by: figures of one training step or one inference.
#ifndef ONNX_MEM_PLANNER_ADVICE_FOOTPRINT_H_
#define ONNX_MEM_PLANNER_ADVICE_FOOTPRINT_H_

#include "absl/status/statusor.h"
#include "analyzer/study/study.h"

namespace onnx_mem {

struct Footprint : PeakFigures, PassFigures {};

// The training step of `workload`, or the inference where its mode is kInference.
absl::StatusOr<Footprint> FootprintOf(Study& study, const Workload& workload);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_FOOTPRINT_H_
