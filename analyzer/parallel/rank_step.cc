#include "analyzer/parallel/rank_step.h"

#include <algorithm>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "analyzer/lower/adapters/tensor_parallel.h"
#include "analyzer/parallel/pipeline.h"
#include "analyzer/parallel/unit_borders.h"

namespace onnx_mem {

EnactedLayout EnactedPart(const Run& run, const RankLayout& layout) {
  return {EnactedRun(run, layout), IsTensorParallel(layout) ? layout.tensor : TensorLayout()};
}

absl::StatusOr<RankGraph> GraphOfRank(const Lowered& lowered, const EnactedLayout& part) {
  RankGraph rank{lowered, part.run};
  if (part.tensor == TensorLayout()) return rank;
  ASSIGN_OR_RETURN(std::vector<StyledModule> modules, StyledPlanOf(lowered, part.tensor));
  for (const StyledModule& module : modules) {
    const bool known = std::find(rank.split.begin(), rank.split.end(), module.path) != rank.split.end();
    if (!known) rank.split.push_back(module.path);
  }
  RETURN_IF_ERROR(SplitTensors(rank.lowered, part.tensor, std::move(modules)));
  if (!lowered.loss.valid()) rank.run.loss = LossOf(lowered, rank.run.loss);  // which sizes tell
  return rank;
}

absl::StatusOr<std::vector<SplitModule>> SplitModulesOf(const Lowered& lowered, const RankLayout& layout) {
  if (!IsTensorParallel(layout)) return std::vector<SplitModule>();
  return SplitModulesOf(lowered, layout.tensor);
}

std::vector<std::string> PathsOf(const std::vector<SplitModule>& split) {
  std::vector<std::string> paths;
  for (const SplitModule& module : split) paths.push_back(module.path);
  return paths;
}

absl::StatusOr<Enacted> EnactRank(const Lowered& lowered, const EnactedLayout& part) {
  if (part.tensor == TensorLayout()) return EnactLowered(lowered, part.run);
  ASSIGN_OR_RETURN(const RankGraph rank, GraphOfRank(lowered, part));
  RETURN_IF_ERROR(CheckHooks(part.run.segments, rank.split));
  return EnactLowered(rank.lowered, rank.run);
}

absl::StatusOr<LocalStep> RankStep(const Lowered& lowered, const Enacted& enacted, const Run& run,
                                   const RankLayout& layout, const Optimizer& optimizer) {
  if (IsPipeline(layout) && IsTensorParallel(layout)) {
    ASSIGN_OR_RETURN(const RankGraph local, GraphOfRank(lowered, EnactedPart(run, layout)));
    return PipelineStep(local.lowered, enacted, local.run, layout, optimizer);
  }
  if (IsPipeline(layout)) return PipelineStep(lowered, enacted, EnactedRun(run, layout), layout, optimizer);
  return SpreadStep(enacted, run, layout);
}

}  // namespace onnx_mem
