// What a rank of a spread training step exchanges with the others.
#ifndef ONNX_MEM_ANALYZER_STUDY_RANK_TRAFFIC_H_
#define ONNX_MEM_ANALYZER_STUDY_RANK_TRAFFIC_H_

#include "absl/status/statusor.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/parallel/traffic.h"
#include "analyzer/study/study.h"

namespace onnx_mem {

// At the rates of `card`. `workload` is of a training step. Errors: those of the study's hops.
absl::StatusOr<TrafficCost> TrafficOn(Study& study, const Workload& workload, const Gpu& card);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_STUDY_RANK_TRAFFIC_H_
