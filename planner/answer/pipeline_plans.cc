#include "planner/answer/pipeline_plans.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/parallel/pipeline.h"
#include "analyzer/parallel/rank_note.h"
#include "analyzer/parallel/traffic.h"
#include "analyzer/parallel/unit_borders.h"
#include "planner/answer/stage_plans.h"

namespace onnx_mem {
namespace {

// What is cut, and what the whole is planned for.
struct CutModel {
  std::shared_ptr<const CutPipeline> pipeline;
  const Lowered& whole;
  const Workload& workload;
  const PlanRequest& request;
};

// The stages of a rank as they are without a plan. One that sends has no loss; what stands for one gives every output a
// gradient, as the next stage does.
std::vector<StageRun> StagesOfRank(const CutModel& cut, int64_t rank) {
  std::vector<StageRun> stages;
  for (int64_t s = rank; s < StagesOf(cut.workload.layout.pipeline); s += cut.workload.layout.pipeline.ranks) {
    const StageGraph& stage = cut.pipeline->stages[static_cast<size_t>(s)];
    stages.push_back({&stage, RunOfStage(stage, cut.whole, cut.workload.run)});
    if (!stage.is_last) stages.back().run.loss = LossKind::kMean;
  }
  return stages;
}

// The accountant of a rank that searches among the nodes of one of its stages; it holds what it enacts.
absl::StatusOr<Accountant> AccountantOf(const CutModel& cut, const std::vector<StageRun>& stages, size_t which,
                                        int64_t rank) {
  Workload own = cut.workload;
  own.layout.rank = rank;
  own.run = stages[which].run;
  const auto enact = [pipeline = cut.pipeline, stages, which, layout = own.layout, rank](const Run& run) {
    std::vector<StageRun> all = stages;
    all[which].run = run;
    return EnactRankOfStages(all, layout, rank);
  };
  const Shared<Lowered> lowered(cut.pipeline, &stages[which].stage->lowered);
  return Accountant::Create(lowered, own, enact, cut.request.clock, cut.request.cost_line);
}

absl::StatusOr<PlannedRank> RankOf(const CutModel& cut, int64_t rank, const std::vector<std::vector<Segment>>& given) {
  const std::vector<StageRun> stages = StagesOfRank(cut, rank);
  const RankLayout& layout = cut.workload.layout;
  PlannedRank planned;
  planned.rank = rank;
  std::vector<std::string> modules;
  for (size_t i = 0; i < stages.size(); ++i) {
    const int64_t stage = rank + static_cast<int64_t>(i) * layout.pipeline.ranks;
    if (stage > 0) modules.push_back(cut.pipeline->split[static_cast<size_t>(stage - 1)]);
    ASSIGN_OR_RETURN(Accountant accountant, AccountantOf(cut, stages, i, rank));
    planned.stages.push_back({stage, std::move(accountant), given[static_cast<size_t>(stage)]});
  }
  planned.module = absl::StrJoin(modules, ", ");
  planned.enact = [pipeline = cut.pipeline, stages, layout, rank](const std::vector<std::vector<Segment>>& segments) {
    std::vector<StageRun> all = stages;
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].run.segments.insert(all[i].run.segments.end(), segments[i].begin(), segments[i].end());
    }
    return EnactRankOfStages(all, layout, rank);
  };
  return planned;
}

// Whose bytes the chosen plan's are, and what each rank has alive with it.
LocalStep PlannedStep(const std::vector<StageNeed>& stages, const RankLayout& layout) {
  LocalStep step;
  for (const StageNeed& stage : stages) step.peaks.push_back({stage.rank, stage.with.peak_bytes});
  step.rank = std::max_element(step.peaks.begin(), step.peaks.end(), [](const RankPeak& a, const RankPeak& b) {
                return a.bytes < b.bytes;
              })->rank;
  if (layout.rank) step.peaks.clear();
  return step;
}

// A second run receives nothing: it is inside a stage.
std::optional<ReceivedBytes> Received(const LocalStep& step, const Workload& workload, const PlanRequest& request) {
  const absl::StatusOr<Gpu> gpu = FindGpu(request.clock.card.name);
  if (!gpu.ok()) return std::nullopt;
  const TrafficCost cost = CostOf(TrafficOf(step, workload.run, workload.layout), *gpu);
  return ReceivedBytes{cost, cost};
}

}  // namespace

absl::StatusOr<PlanAnswer> PlanPipeline(Study& study, const Workload& requested, const PlanRequest& request,
                                        const PlanOneCard& plan_one_card) {
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(requested.bindings));
  Workload workload = WithTorchOf(model->info, requested);
  workload.mode = Mode::kTraining;
  workload.run.training = true;
  const RankLayout& layout = workload.layout;
  ASSIGN_OR_RETURN(const Shared<Enacted> whole, study.Enact(workload));
  ASSIGN_OR_RETURN(const Bindings bindings, study.EnactedBindings(workload));
  ASSIGN_OR_RETURN(const Shared<Lowered> lowered, study.Lower(bindings, workload.run));
  ASSIGN_OR_RETURN(CutPipeline stages, CutForPipeline(*lowered, *whole, workload.run, layout.pipeline));
  const CutModel cut{std::make_shared<const CutPipeline>(std::move(stages)), *lowered, workload, request};
  ASSIGN_OR_RETURN(const auto given, SegmentsByStage(lowered->graph, cut.pipeline->stages, request.given));
  const std::vector<std::string> across = ModulesAcross(lowered->graph, cut.pipeline->stages);
  StagePlans planner(request, plan_one_card);
  for (int64_t rank = 0; rank < layout.pipeline.ranks; ++rank) {
    if (layout.rank && rank != *layout.rank) continue;
    ASSIGN_OR_RETURN(PlannedRank planned, RankOf(cut, rank, given));
    RETURN_IF_ERROR(planner.AddRank(std::move(planned), across, layout.rank ? 1 : layout.pipeline.ranks));
  }
  PlanAnswer answer = planner.Answer();
  answer.baseline_forward_flops = whole->forward_flops;
  answer.baseline_backward_flops = whole->backward_flops;
  answer.spread.emplace();
  answer.spread->layout = layout;
  answer.spread->begins = cut.pipeline->split;
  answer.spread->stages = planner.NeedsWith(Chosen(answer));
  const LocalStep planned = PlannedStep(answer.spread->stages, layout);
  answer.spread->whose = RankText(planned, layout);
  ASSIGN_OR_RETURN(const Shared<LocalStep> step, study.Local(workload));
  if (answer.chosen) answer.spread->received = Received(*step, workload, request);
  answer.diagnostics.insert(answer.diagnostics.begin(), whole->diagnostics.begin(), whole->diagnostics.end());
  ASSIGN_OR_RETURN(Diagnostic note, RankNote(*whole, planned, layout));
  answer.diagnostics.push_back(std::move(note));
  return answer;
}

}  // namespace onnx_mem
