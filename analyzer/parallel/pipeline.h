// A training step of one rank of a pipeline: its stages, enacted for a micro-batch each, replayed by the schedule.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_PIPELINE_H_
#define ONNX_MEM_ANALYZER_PARALLEL_PIPELINE_H_

#include "absl/status/statusor.h"
#include "analyzer/parallel/data_parallel.h"

namespace onnx_mem {

// `lowered`: of one micro-batch; `whole`: the same enacted. Without a rank in `layout` it is the one that needs most
// with `optimizer`. Errors (usage): those of a cut and of a schedule, a rank there is not.
absl::StatusOr<LocalStep> PipelineStep(const Lowered& lowered, const Enacted& whole, const Run& run,
                                       const RankLayout& layout, const Optimizer& optimizer);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_PIPELINE_H_
