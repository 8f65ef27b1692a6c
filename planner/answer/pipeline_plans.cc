#include "planner/answer/pipeline_plans.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/devices/gpus.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/parallel/pipeline.h"
#include "analyzer/parallel/rank_note.h"
#include "analyzer/parallel/traffic.h"
#include "analyzer/parallel/unit_borders.h"
#include "planner/answer/stage_plans.h"

namespace onnx_mem {
namespace {

// The accountant of a rank, which holds what it enacts. A stage that sends has no loss; what stands for one gives every
// output a gradient, as the next stage does.
absl::StatusOr<Accountant> AccountantOf(const std::shared_ptr<const CutPipeline>& cut, int64_t rank,
                                        const Lowered& whole, const Workload& workload, const PlanRequest& request) {
  const std::shared_ptr<const StageGraph> stage(cut, &cut->stages[static_cast<size_t>(rank)]);
  Workload own = workload;
  own.layout.rank = rank;
  own.run = RunOfStage(*stage, whole, workload.run);
  if (!stage->is_last) own.run.loss = LossKind::kMean;
  const auto enact = [stage, pipeline = workload.layout.pipeline, rank](const Run& run) {
    return EnactRankOfStage(*stage, run, pipeline, rank);
  };
  return Accountant::Create(Shared<Lowered>(stage, &stage->lowered), own, enact, request.clock, request.cost_line);
}

// Whose bytes the chosen plan's are, and what each rank has alive with it.
LocalStep PlannedStep(const std::vector<StageNeed>& stages, const RankLayout& layout) {
  LocalStep step;
  for (const StageNeed& stage : stages) step.peaks.push_back(stage.with.peak_bytes);
  const auto worst = std::max_element(step.peaks.begin(), step.peaks.end());
  step.rank = stages[static_cast<size_t>(worst - step.peaks.begin())].rank;
  if (layout.rank) step.peaks.clear();
  return step;
}

// A second run receives nothing: it is inside a stage.
std::optional<ReceivedBytes> Received(const Enacted& whole, const LocalStep& step, const Workload& workload,
                                      const PlanRequest& request) {
  const absl::StatusOr<Gpu> gpu = FindGpu(request.clock.card.name);
  if (!gpu.ok()) return std::nullopt;
  const TrafficCost cost = CostOf(TrafficOf(whole, step, workload.run, workload.layout), *gpu);
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
  const auto cut = std::make_shared<const CutPipeline>(std::move(stages));
  ASSIGN_OR_RETURN(const auto given, SegmentsByStage(lowered->graph, cut->stages, request.given));
  const std::vector<std::string> across = ModulesAcross(lowered->graph, cut->stages);
  StagePlans planner(request, plan_one_card);
  for (int64_t rank = 0; rank < layout.pipeline.ranks; ++rank) {
    if (layout.rank && rank != *layout.rank) continue;
    ASSIGN_OR_RETURN(Accountant accountant, AccountantOf(cut, rank, *lowered, workload, request));
    const auto stage = static_cast<size_t>(rank);
    const std::string module = rank > 0 ? cut->split[stage - 1] : "";
    RETURN_IF_ERROR(planner.AddRank({rank, module, std::move(accountant)}, given[stage], across,
                                    layout.rank ? 1 : layout.pipeline.ranks));
  }
  PlanAnswer answer = planner.Answer();
  answer.baseline_forward_flops = whole->forward_flops;
  answer.baseline_backward_flops = whole->backward_flops;
  answer.spread.emplace();
  answer.spread->layout = layout;
  answer.spread->begins = cut->split;
  answer.spread->stages = planner.NeedsWith(Chosen(answer));
  const LocalStep planned = PlannedStep(answer.spread->stages, layout);
  answer.spread->whose = RankText(planned, layout);
  ASSIGN_OR_RETURN(const Shared<LocalStep> step, study.Local(workload));
  if (answer.chosen) answer.spread->received = Received(*whole, *step, workload, request);
  answer.diagnostics.insert(answer.diagnostics.begin(), whole->diagnostics.begin(), whole->diagnostics.end());
  ASSIGN_OR_RETURN(Diagnostic note, RankNote(*whole, planned, layout));
  answer.diagnostics.push_back(std::move(note));
  return answer;
}

}  // namespace onnx_mem
