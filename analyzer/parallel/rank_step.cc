#include "analyzer/parallel/rank_step.h"

#include "analyzer/graph/status_macros.h"
#include "analyzer/lower/adapters/tensor_parallel.h"
#include "analyzer/parallel/pipeline.h"

namespace onnx_mem {

EnactedLayout EnactedPart(const Run& run, const RankLayout& layout) {
  return {EnactedRun(run, layout), IsTensorParallel(layout) ? layout.tensor : TensorLayout()};
}

absl::StatusOr<Enacted> EnactRank(const Lowered& lowered, const EnactedLayout& part) {
  if (part.tensor == TensorLayout()) return EnactLowered(lowered, part.run);
  Lowered local = lowered;
  RETURN_IF_ERROR(SplitTensors(local, part.tensor));
  Run run = part.run;
  if (!lowered.loss.valid()) run.loss = LossOf(lowered, run.loss);  // which sizes tell
  return EnactLowered(local, run);
}

absl::StatusOr<LocalStep> RankStep(const Lowered& lowered, const Enacted& enacted, const Run& run,
                                   const RankLayout& layout, const Optimizer& optimizer) {
  if (IsPipeline(layout)) return PipelineStep(lowered, enacted, run, layout, optimizer);
  return SpreadStep(enacted, run, layout);
}

}  // namespace onnx_mem
