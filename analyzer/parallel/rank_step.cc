#include "analyzer/parallel/rank_step.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/lower/adapters/tensor_parallel.h"
#include "analyzer/parallel/pipeline.h"

namespace onnx_mem {

EnactedLayout EnactedPart(const Run& run, const RankLayout& layout) {
  return {EnactedRun(run, layout), IsTensorParallel(layout) ? layout.tensor : TensorLayout()};
}

absl::StatusOr<RankGraph> GraphOfRank(const Lowered& lowered, const EnactedLayout& part) {
  RankGraph rank{lowered, part.run};
  if (part.tensor == TensorLayout()) return rank;
  RETURN_IF_ERROR(SplitTensors(rank.lowered, part.tensor));
  if (!lowered.loss.valid()) rank.run.loss = LossOf(lowered, rank.run.loss);  // which sizes tell
  return rank;
}

bool KeepsHooks(const Segment& segment, const std::vector<std::string>& split) {
  if (split.empty()) return true;
  return !segment.modules.empty() &&
         std::none_of(segment.modules.begin(), segment.modules.end(), [&](const std::string& module) {
           return std::find(split.begin(), split.end(), module) != split.end();
         });
}

absl::Status CheckHooks(const std::vector<Segment>& segments, const std::vector<std::string>& split) {
  for (const Segment& segment : segments) {
    if (KeepsHooks(segment, split)) continue;
    const std::vector<std::string>& names = segment.modules.empty() ? segment.nodes : segment.modules;
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPlan,
                       absl::StrCat("the segment ", absl::StrJoin(names, ", "), " ends where --tp exchanges tensors"),
                       {"why: parallelize_module does that in hooks around a module, a plan wraps its forward alone",
                        "way out: the module around, as onnx-mem plan with the same options finds"});
  }
  return absl::OkStatus();
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
  if (!part.run.segments.empty()) {
    ASSIGN_OR_RETURN(const std::vector<SplitModule> split, SplitModulesOf(lowered, part.tensor));
    RETURN_IF_ERROR(CheckHooks(part.run.segments, PathsOf(split)));
  }
  ASSIGN_OR_RETURN(const RankGraph rank, GraphOfRank(lowered, part));
  return EnactLowered(rank.lowered, rank.run);
}

absl::StatusOr<LocalStep> RankStep(const Lowered& lowered, const Enacted& enacted, const Run& run,
                                   const RankLayout& layout, const Optimizer& optimizer) {
  if (IsPipeline(layout)) return PipelineStep(lowered, enacted, run, layout, optimizer);
  return SpreadStep(enacted, run, layout);
}

}  // namespace onnx_mem
