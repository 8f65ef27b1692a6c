#include "analyzer/parallel/pipeline.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/verify_program.h"
#include "analyzer/parallel/schedules.h"
#include "analyzer/parallel/stage_cut.h"
#include "analyzer/parallel/stage_replay.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace {

absl::StatusOr<StageProgram> EnactStage(const StageGraph& stage, const Run& run) {
  Run own = run;
  own.requires_grad.insert(own.requires_grad.end(), stage.wants_grad.begin(), stage.wants_grad.end());
  StageProgram program{.enacted = {}, .received = stage.received, .is_last = stage.is_last};
  ASSIGN_OR_RETURN(program.enacted,
                   stage.is_last ? EnactLowered(stage.lowered, own) : EnactSendingStage(stage.lowered, own));
  return program;
}

// The rank's step; `stages` are all of the pipeline's.
absl::StatusOr<LocalStep> StepOfRank(const std::vector<StageProgram>& stages, const PipelineLayout& layout,
                                     int64_t rank) {
  ASSIGN_OR_RETURN(const std::vector<StageAction> actions, ActionsOf(layout, rank));
  LocalStep step;
  step.rank = rank;
  StepEditor editor;
  std::deque<StageReplay> replays;
  for (int64_t s = rank; s < StagesOf(layout); s += layout.ranks) {
    const StageProgram& stage = stages[static_cast<size_t>(s)];
    replays.emplace_back(stage, layout, editor).OpenStatics();
    for (TrainedParameter& p : WholeParameters(stage.enacted)) step.trained.push_back(std::move(p));
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

}  // namespace

absl::StatusOr<LocalStep> PipelineStep(const Lowered& lowered, const Enacted& whole, const Run& run,
                                       const RankLayout& layout, const Optimizer& optimizer) {
  RETURN_IF_ERROR(CheckRank(layout));
  std::vector<std::string> split = layout.pipeline.split;
  if (split.empty()) {
    ASSIGN_OR_RETURN(split, BalancedSplit(whole, layout.pipeline));
  }
  ASSIGN_OR_RETURN(const std::vector<StageGraph> graphs, CutIntoStages(lowered, run, split));
  Run own = run;
  if (!lowered.loss.valid()) own.loss = LossOf(lowered, run.loss);  // the whole model tells
  std::vector<StageProgram> stages;
  for (const StageGraph& graph : graphs) {
    ASSIGN_OR_RETURN(StageProgram stage, EnactStage(graph, own));
    stages.push_back(std::move(stage));
  }
  if (layout.rank) return StepOfRank(stages, layout.pipeline, *layout.rank);
  LocalStep worst;
  std::vector<int64_t> peaks;
  for (int64_t rank = 0; rank < layout.pipeline.ranks; ++rank) {
    ASSIGN_OR_RETURN(LocalStep step, StepOfRank(stages, layout.pipeline, rank));
    const int64_t peak = LaterStepPeak(*step.program, step.trained, optimizer);
    if (peaks.empty() || peak > *std::max_element(peaks.begin(), peaks.end())) worst = std::move(step);
    peaks.push_back(peak);
  }
  worst.peaks = std::move(peaks);
  return worst;
}

}  // namespace onnx_mem
