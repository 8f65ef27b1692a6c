#include "analyzer/parallel/pipeline.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/verify_program.h"
#include "analyzer/parallel/schedules.h"
#include "analyzer/parallel/stage_cut.h"
#include "analyzer/parallel/stage_replay.h"
#include "analyzer/parallel/unit_borders.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace {

// The rank's step; `stages` are its own.
absl::StatusOr<LocalStep> StepOfRank(const std::vector<const StageProgram*>& stages, const PipelineLayout& layout,
                                     int64_t rank) {
  ASSIGN_OR_RETURN(const std::vector<StageAction> actions, ActionsOf(layout, rank));
  LocalStep step;
  step.rank = rank;
  StepEditor editor;
  std::deque<StageReplay> replays;
  for (const StageProgram* stage : stages) {
    replays.emplace_back(*stage, layout, editor).OpenStatics();
    for (TrainedParameter& p : WholeParameters(stage->enacted)) step.trained.push_back(std::move(p));
  }
  for (const StageAction& action : actions) replays[static_cast<size_t>(action.stage / layout.ranks)].Do(action);
  for (StageReplay& replay : replays) replay.MergeOutputs();
  editor.SetPhase(Phase::kBackward);
  for (StageReplay& replay : replays) replay.Finish();
  editor.Event(kEndOfBackward, "");
  step.program = std::make_shared<const MemoryProgram>(editor.Finish());
  work::Spend(static_cast<int64_t>(step.program->steps.size()));
  RETURN_IF_ERROR(work::CheckLeft());
  RETURN_IF_ERROR(VerifyProgram(*step.program));
  return step;
}

absl::StatusOr<LocalStep> StepAmong(const std::vector<StageProgram>& stages, const PipelineLayout& layout,
                                    int64_t rank) {
  std::vector<const StageProgram*> own;
  for (int64_t s = rank; s < StagesOf(layout); s += layout.ranks) own.push_back(&stages[static_cast<size_t>(s)]);
  return StepOfRank(own, layout, rank);
}

absl::StatusOr<std::vector<StageProgram>> EnactStages(const CutPipeline& cut, const Lowered& whole, const Run& run) {
  ASSIGN_OR_RETURN(const auto segments, SegmentsByStage(whole.graph, cut.stages, run.segments));
  std::vector<StageProgram> stages;
  for (size_t s = 0; s < cut.stages.size(); ++s) {
    const StageGraph& stage = cut.stages[s];
    Run own = RunOfStage(stage, whole, run);
    own.segments = segments[s];
    ASSIGN_OR_RETURN(Enacted enacted, EnactStage(stage, own));
    stages.push_back({std::move(enacted), stage.received, stage.is_last});
  }
  return stages;
}

}  // namespace

absl::StatusOr<CutPipeline> CutForPipeline(const Lowered& lowered, const Enacted& whole, const Run& run,
                                           const PipelineLayout& layout) {
  CutPipeline cut;
  cut.split = layout.split;
  if (cut.split.empty()) {
    ASSIGN_OR_RETURN(cut.split, BalancedSplit(whole, layout));
  }
  ASSIGN_OR_RETURN(cut.stages, CutIntoStages(lowered, run, cut.split));
  return cut;
}

Run RunOfStage(const StageGraph& stage, const Lowered& whole, Run run) {
  run.segments.clear();
  if (!whole.loss.valid()) run.loss = LossOf(whole, run.loss);
  run.requires_grad.insert(run.requires_grad.end(), stage.wants_grad.begin(), stage.wants_grad.end());
  return run;
}

absl::StatusOr<Enacted> EnactStage(const StageGraph& stage, const Run& run) {
  return stage.is_last ? EnactLowered(stage.lowered, run) : EnactSendingStage(stage.lowered, run);
}

absl::StatusOr<Enacted> EnactRankOfStages(const std::vector<StageRun>& stages, const PipelineLayout& layout,
                                          int64_t rank) {
  std::vector<StageProgram> programs;
  for (const auto& [stage, run] : stages) {
    programs.push_back({.enacted = {}, .received = stage->received, .is_last = stage->is_last});
    ASSIGN_OR_RETURN(programs.back().enacted, EnactStage(*stage, run));
  }
  std::vector<const StageProgram*> own;
  for (const StageProgram& program : programs) own.push_back(&program);
  ASSIGN_OR_RETURN(const LocalStep step, StepOfRank(own, layout, rank));
  Enacted all = std::move(programs.front().enacted);
  for (size_t i = 1; i < programs.size(); ++i) {
    Enacted& more = programs[i].enacted;
    std::move(more.parameters.begin(), more.parameters.end(), std::back_inserter(all.parameters));
    all.forward_flops += more.forward_flops;
    all.backward_flops += more.backward_flops;
    all.recompute_flops += more.recompute_flops;
    all.host_peak_bytes += more.host_peak_bytes;
  }
  all.program = *step.program;
  return all;
}

absl::StatusOr<LocalStep> PipelineStep(const Lowered& lowered, const Enacted& whole, const Run& run,
                                       const RankLayout& layout, const Optimizer& optimizer) {
  RETURN_IF_ERROR(CheckRank(layout));
  ASSIGN_OR_RETURN(const CutPipeline cut, CutForPipeline(lowered, whole, run, layout.pipeline));
  ASSIGN_OR_RETURN(const std::vector<StageProgram> stages, EnactStages(cut, lowered, run));
  if (layout.rank) return StepAmong(stages, layout.pipeline, *layout.rank);
  LocalStep worst;
  std::vector<int64_t> peaks;
  for (int64_t rank = 0; rank < layout.pipeline.ranks; ++rank) {
    ASSIGN_OR_RETURN(LocalStep step, StepAmong(stages, layout.pipeline, rank));
    const int64_t peak = LaterStepPeak(*step.program, step.trained, optimizer);
    if (peaks.empty() || peak > *std::max_element(peaks.begin(), peaks.end())) worst = std::move(step);
    peaks.push_back(peak);
  }
  worst.peaks = std::move(peaks);
  return worst;
}

}  // namespace onnx_mem
