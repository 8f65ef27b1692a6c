// A training step of one rank of a pipeline: its stages, enacted for a micro-batch each, replayed by the schedule.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_PIPELINE_H_
#define ONNX_MEM_ANALYZER_PARALLEL_PIPELINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/parallel/data_parallel.h"
#include "analyzer/parallel/stage_cut.h"

namespace onnx_mem {

struct CutPipeline {
  std::vector<StageGraph> stages;
  std::vector<std::string> split;  // modules at which stages begin, but for the first
};

// `lowered`: of one micro-batch; `whole`: the same enacted. Errors (usage): those of a cut.
absl::StatusOr<CutPipeline> CutForPipeline(const Lowered& lowered, const Enacted& whole, const Run& run,
                                           const PipelineLayout& layout);

// `run` of the whole model as that of a stage, without the whole's segments: what it receives wants a gradient, and the
// loss is the one that the whole model tells.
Run RunOfStage(const StageGraph& stage, const Lowered& whole, Run run);

// A stage, which outlives this, and its run: RunOfStage's, with segments of it.
struct StageRun {
  const StageGraph* stage = nullptr;
  Run run;
};

// All stages of a rank of the pipeline, first first, with the rank's step as the program, all micro-batches in turns.
// Parameters, FLOPs and bytes on the host are those of all of them together, the rest is of the first. Stages have no
// data parallelism.
absl::StatusOr<Enacted> EnactRankOfStages(const std::vector<StageRun>& stages, const RankLayout& layout, int64_t rank);

// `lowered`: of one micro-batch, in local sizes; `whole`: the same enacted; `run`: EnactedRun's. Without a rank in
// `layout` it is the one that needs most with `optimizer`. Errors (usage): those of a cut and of a schedule, a rank
// there is not.
absl::StatusOr<LocalStep> PipelineStep(const Lowered& lowered, const Enacted& whole, const Run& run,
                                       const RankLayout& layout, const Optimizer& optimizer);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_PIPELINE_H_
