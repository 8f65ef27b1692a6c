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
#include "analyzer/parallel/strategies.h"
#include "analyzer/parallel/unit_borders.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace {

// What fully_shard does to a stage; nullptr without it. `trained` gets what the optimizer sees of the stage.
absl::StatusOr<std::unique_ptr<FsdpHooks>> HooksOf(const StageProgram& stage, const RankLayout& layout,
                                                   StepEditor& editor, std::vector<TrainedParameter>& trained) {
  std::unique_ptr<FsdpHooks> hooks;
  std::vector<TrainedParameter> own;
  if (layout.data == DataParallel::kFsdp) {
    ASSIGN_OR_RETURN(std::vector<FsdpUnit> units, UnitsOf(stage.facts, stage.units, layout));
    own = TrainedShards(stage.facts, units, layout);
    hooks = std::make_unique<FsdpHooks>(stage.facts, layout, std::move(units), editor);
    hooks->SetSync(GradientSync::kByHand);
  } else {
    own = WholeParameters(stage.enacted);
  }
  std::move(own.begin(), own.end(), std::back_inserter(trained));
  return hooks;
}

absl::Status CheckStep(const MemoryProgram& program) {
  work::Spend(static_cast<int64_t>(program.steps.size()));
  RETURN_IF_ERROR(work::CheckLeft());
  return VerifyProgram(program);
}

// A rank's step; `stages` are its own; `rank` of the pipeline. `layout` has the rank of those that share the batch.
absl::StatusOr<LocalStep> StepOfRank(const std::vector<const StageProgram*>& stages, const RankLayout& layout,
                                     int64_t rank) {
  ASSIGN_OR_RETURN(const std::vector<StageAction> actions, ActionsOf(layout.pipeline, rank));
  LocalStep step;
  step.rank = layout.rank.value_or(rank * RanksOfStage(layout));
  StepEditor editor;
  std::deque<StageReplay> replays;
  for (const StageProgram* stage : stages) {
    ASSIGN_OR_RETURN(std::unique_ptr<FsdpHooks> hooks, HooksOf(*stage, layout, editor, step.trained));
    replays.emplace_back(*stage, layout, editor, std::move(hooks)).OpenStatics();
  }
  for (const StageAction& action : actions) {
    replays[static_cast<size_t>(action.stage / layout.pipeline.ranks)].Do(action);
  }
  editor.SetPhase(Phase::kBackward);
  for (StageReplay& replay : replays) replay.ReduceGradients();
  for (StageReplay& replay : replays) replay.MergeOutputs();
  for (StageReplay& replay : replays) replay.Finish();
  editor.Event(kEndOfBackward, "");
  step.program = std::make_shared<const MemoryProgram>(editor.Finish());
  RETURN_IF_ERROR(CheckStep(*step.program));
  if (layout.data == DataParallel::kDdp || layout.data == DataParallel::kZero1) {
    step.summed_bytes = TrainedBytes(step.trained);
  }
  if (layout.data == DataParallel::kZero1) DealParameters(layout, step);
  return step;
}

absl::StatusOr<LocalStep> StepAmong(const std::vector<StageProgram>& stages, const RankLayout& layout, int64_t rank) {
  std::vector<const StageProgram*> own;
  for (int64_t s = rank; s < StagesOf(layout.pipeline); s += layout.pipeline.ranks) {
    own.push_back(&stages[static_cast<size_t>(s)]);
  }
  return StepOfRank(own, layout, rank);
}

StageProgram ProgramOf(const StageGraph& stage, Enacted enacted) {
  StageProgram program{std::move(enacted), {}, stage.received, stage.is_last};
  program.facts = FactsOf(program.enacted);
  return program;
}

// A stage enacted for one micro-batch; `run`: RunOfStage's, with segments of this stage.
absl::StatusOr<Enacted> EnactStage(const StageGraph& stage, const Run& run) {
  return stage.is_last ? EnactLowered(stage.lowered, run) : EnactSendingStage(stage.lowered, run);
}

absl::StatusOr<std::vector<StageProgram>> EnactStages(const CutPipeline& cut, const Lowered& whole, const Run& run) {
  ASSIGN_OR_RETURN(const auto segments, SegmentsByStage(whole.graph, cut.stages, run.segments));
  std::vector<StageProgram> stages;
  for (size_t s = 0; s < cut.stages.size(); ++s) {
    const StageGraph& stage = cut.stages[s];
    Run own = RunOfStage(stage, whole, run);
    own.segments = segments[s];
    ASSIGN_OR_RETURN(Enacted enacted, EnactStage(stage, own));
    stages.push_back(ProgramOf(stage, std::move(enacted)));
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

absl::StatusOr<Enacted> EnactRankOfStages(const std::vector<StageRun>& stages, const RankLayout& layout, int64_t rank) {
  std::vector<StageProgram> programs;
  for (const auto& [stage, run] : stages) {
    ASSIGN_OR_RETURN(Enacted enacted, EnactStage(*stage, run));
    programs.push_back(ProgramOf(*stage, std::move(enacted)));
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
  ASSIGN_OR_RETURN(std::vector<StageProgram> stages, EnactStages(cut, lowered, run));
  if (layout.data == DataParallel::kFsdp) {
    ASSIGN_OR_RETURN(const std::vector<std::string> units, UnitModulesOf(FactsOf(whole), layout));
    RETURN_IF_ERROR(CheckSegments(run.segments, units));
    for (StageProgram& stage : stages) stage.units = units;
  }
  if (layout.rank) return StepAmong(stages, layout, StageRankOf(layout, *layout.rank));
  LocalStep worst;
  int64_t most = -1;
  std::vector<RankPeak> peaks;
  for (int64_t rank = 0; rank < layout.pipeline.ranks; ++rank) {
    ASSIGN_OR_RETURN(LocalStep step, StepAmong(stages, layout, rank));
    const int64_t peak = LaterStepPeak(*step.program, step.trained, optimizer);
    peaks.push_back({step.rank, peak});
    if (peak > most) worst = std::move(step);
    most = std::max(most, peak);
  }
  worst.peaks = std::move(peaks);
  return worst;
}

}  // namespace onnx_mem
