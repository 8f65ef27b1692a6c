// Checkpoint segments with which training of a model fits a budget.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/parallel/data_parallel.h"
#include "analyzer/parallel/rank_step.h"
#include "analyzer/runtimes/figures.h"
#include "analyzer/study/study.h"
#include "cli/answers/answers.h"
#include "cli/answers/batch_dim.h"
#include "cli/answers/cards.h"
#include "cli/answers/clock.h"
#include "cli/answers/plan_verdicts.h"
#include "cli/answers/runtime_of_file.h"
#include "cli/answers/strict.h"
#include "cli/answers/unmatched.h"
#include "cli/options/option_values.h"
#include "cli/present.h"
#include "planner/advice/fit.h"
#include "planner/answer/largest_batch.h"
#include "planner/code/emit_pytorch.h"
#include "report/analyze/report.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {
namespace {

// The card with the least memory: a plan that fits it fits all. nullptr without a card.
const Card* SmallestOf(const std::vector<Card>& cards) {
  const auto smallest = std::min_element(cards.begin(), cards.end(),
                                         [](const Card& a, const Card& b) { return a.usable_bytes < b.usable_bytes; });
  return smallest == cards.end() ? nullptr : &*smallest;
}

// The budget is --budget, else what the smallest card has; a share of what the step takes is known later.
absl::StatusOr<PlanRequest> RequestOf(Options options, const Card* card) {
  PlanRequest request = options.plan_request;
  const std::optional<LocalCard> local = card != nullptr ? card->local : std::nullopt;
  if (card != nullptr && !card->name.empty()) options.gpu = card->name;  // by whose times costs are reported
  request.budget_bytes = options.budget_bytes;
  if (!HasBudget(options) && card != nullptr) request.budget_bytes = card->usable_bytes;
  ASSIGN_OR_RETURN(request.clock, ClockOf(options, local ? &local->gpu : nullptr));
  if (!request.clock.unknown.empty() && !options.cost_line_given) request.cost_line = CostLine::kFlops;
  if (request.offload && request.cost_line == CostLine::kFlops) {
    return UsageError("--offload is weighed in time, not in FLOPs", {"try: ... --cost-in time"});
  }
  RETURN_IF_ERROR(CheckHostLink(request.clock, request.offload, options.plan));
  request.time_limit_s = options.time_limit_s.value_or(0);
  if (options.plan) request.given = *options.plan;
  return request;
}

absl::StatusOr<Workload> WorkloadOf(const Options& options) {
  if (options.batches.size() > 1) {
    return UsageError("a plan is for one batch", {TryOneBatch(options)});
  }
  Workload workload = options.workload;
  workload.mode = Mode::kTraining;
  workload.run.training = true;
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  return workload;
}

absl::StatusOr<LargestBatch> LargestOf(Study& study, const Workload& workload, const PlanRequest& request) {
  if (!request.budget_bytes) {
    return UsageError("--max-batch wants a budget", {"try: ... --budget 16GiB   # or --gpu NAME"});
  }
  if (workload.bindings.batch) return UsageError("--batch and --max-batch: choose one");
  return FindLargestBatch(study, workload, request);
}

Run RunWith(Run run, const ModulePlan& plan) {
  for (const PlannedSegment& segment : plan.segments) run.segments.push_back(segment.segment);
  return run;
}

Workload Planned(Workload workload, const ModulePlan& plan) {
  workload.run = RunWith(std::move(workload.run), plan);
  return workload;
}

absl::StatusOr<Analysis> AnalyzeWith(Study& study, const Workload& workload, const ModulePlan& plan) {
  const Workload planned = Planned(workload, plan);
  ASSIGN_OR_RETURN(Analysis analysis, study.Ask(planned));
  RETURN_IF_ERROR(study.AddAddresses(planned, analysis));
  return analysis;
}

// Bytes alive, step by step: what AnalyzeWith would draw, without its allocator.
absl::StatusOr<std::vector<int64_t>> CourseWith(Study& study, const Workload& workload, const ModulePlan& plan) {
  if (IsPipeline(workload.layout)) {
    const Workload planned = Planned(workload, plan);
    ASSIGN_OR_RETURN(const Shared<LocalStep> step, study.Local(planned));
    return TrainingCourse(*step, planned);
  }
  const Run run = EnactedRun(workload.run, workload.layout);
  ASSIGN_OR_RETURN(const Shared<Lowered> lowered, study.Lower(workload.bindings, run));
  ASSIGN_OR_RETURN(const Enacted enacted, EnactRank(*lowered, EnactedPart(RunWith(run, plan), workload.layout)));
  return TrainingCourse(enacted, workload);
}

// Up to which size along --over the step fits with the chosen plan. The batch has --max-batch.
absl::Status AddLargestSize(Study& study, const Workload& workload, const std::string& over, PlanPart& part) {
  const Axis axis = AxisNamed(over);
  const ModulePlan* const chosen = Chosen(part.answer);
  if (axis.length.empty() || chosen == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(workload.bindings));
  RETURN_IF_ERROR(CheckAxis(axis, "--over", *model));
  if (!part.request.budget_bytes || part.request.budget_line == BudgetLine::kLive) {
    return UsageError("--over wants a budget on the device", {"try: ... --budget 16GiB   # or --gpu NAME"});
  }
  const Workload planned = Planned(workload, *chosen);
  ASSIGN_OR_RETURN(const FittingBatch with, FindLargestBatch(study, planned, *part.request.budget_bytes, axis));
  ASSIGN_OR_RETURN(const FittingBatch without, FindLargestBatch(study, workload, *part.request.budget_bytes, axis));
  part.largest_size = LargestSize{over, with.batch, without.batch};
  return absl::OkStatus();
}

MadeFor MadeForOf(const PlanRequest& request, const Workload& workload, const PlanAnswer& answer) {
  return {request.clock.card.name, workload.optimizer.name, request.budget_bytes, request.budget_line, answer.spread};
}

// What formats that draw every step want of each plan: the analysis with it, of the chosen one with its other ranks, and
// the code that applies it.
absl::StatusOr<std::vector<PlanPart::Drawn>> DrawPlans(Study& study, const Workload& workload, const PlanAnswer& answer,
                                                       const MadeFor& made_for) {
  std::vector<PlanPart::Drawn> drawn;
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(workload.bindings));
  ASSIGN_OR_RETURN(const Shared<Lowered> lowered, study.Lower(workload.bindings, workload.run));
  for (const ModulePlan& plan : answer.plans) {
    if (plan.segments.empty()) {
      drawn.emplace_back();
      continue;
    }
    ASSIGN_OR_RETURN(Analysis analysis, AnalyzeWith(study, workload, plan));
    if (&plan == Chosen(answer)) RETURN_IF_ERROR(study.AddRanks(Planned(workload, plan), analysis));
    const absl::StatusOr<EmittedCode> code =
        EmitPytorch(*lowered, model->info, answer.baseline, plan, made_for, CodeForm::kAlone);
    drawn.push_back({std::make_shared<const Analysis>(std::move(analysis)), code.ok() ? code->text : ""});
  }
  return drawn;
}

// The chosen plan as something to run rather than to read.
absl::StatusOr<EmittedCode> EmitChosen(const ModelInfo& info, const Lowered& lowered, const PlanAnswer& plans,
                                       const MadeFor& made_for, std::string_view form) {
  const ModulePlan& plan = *Chosen(plans);
  EmittedCode code;
  if (form == "json") {
    code.text = EmitPlanJson(info, plan, plans.spread);
  } else {
    const CodeForm code_form = form == kSelfContained ? CodeForm::kAlone : CodeForm::kImports;
    ASSIGN_OR_RETURN(code, EmitPytorch(lowered, info, plans.baseline, plan, made_for, code_form));
  }
  std::copy_if(plans.diagnostics.begin(), plans.diagnostics.end(), std::back_inserter(code.diagnostics),
               [](const Diagnostic& note) { return note.code == Code::kPlanOverLimit; });
  return code;
}

// What the step takes without a plan, in what the budget limits.
int64_t PresentBytes(const PlanRequest& request, const Analysis& baseline) {
  const RunFigures& training = *baseline.training();
  return request.budget_line == BudgetLine::kDevice ? training.device_bytes : training.peak_bytes;
}

// What is held against limits and drawn of the plans of `part`.
absl::Status AddHeldAndDrawn(Study& study, const Workload& workload, const Options& options, const Limit& budget,
                             const std::vector<Card>& cards, Analysis& baseline, PlanPart& part) {
  const ModulePlan* const chosen = Chosen(part.answer);
  if (chosen != nullptr && !chosen->segments.empty()) {
    ASSIGN_OR_RETURN(part.live_bytes, CourseWith(study, workload, *chosen));
  }
  RETURN_IF_ERROR(AddLargestSize(study, workload, options.over, part));
  std::vector<Limit> limits;
  if (HasBudget(options)) limits.push_back(budget);
  ASSIGN_OR_RETURN(part.held, VerdictsOfPlan(study, workload, part, limits, cards, options.units));
  if (chosen == nullptr && part.request.budget_bytes && !options.max_batch) {
    part.smaller_batch = FindSmallerBatch(study, workload, part.request, baseline.batch);
  }
  if (!DrawsSteps(options)) return absl::OkStatus();
  RETURN_IF_ERROR(study.AddAddresses(workload, baseline));
  RETURN_IF_ERROR(study.AddRanks(workload, baseline));
  ASSIGN_OR_RETURN(part.drawn, DrawPlans(study, workload, part.answer, MadeForOf(part.request, workload, part.answer)));
  part.baseline = std::make_shared<const Analysis>(baseline);
  return absl::OkStatus();
}

// The analysis has reported what importing and lowering had to say; what is new is the planner's own.
std::vector<Diagnostic> FindingsOf(const ImportedModel& model, const Options& options, const Analysis& baseline,
                                   const PlanPart& part) {
  std::vector<Diagnostic> findings = model.diagnostics;
  findings.insert(findings.end(), part.answer.diagnostics.begin(), part.answer.diagnostics.end());
  for (std::vector<Diagnostic> more : {UnmatchedTimes(part.request.clock, *baseline.training()->program),
                                       UnmatchedPatterns(options.workload.run, baseline)}) {
    std::move(more.begin(), more.end(), std::back_inserter(findings));
  }
  return findings;
}

// A plan was chosen, and every limit holds it.
bool FitsEverywhere(const PlanPart& part, bool strict) {
  return part.answer.chosen.has_value() &&
         std::all_of(part.held.begin(), part.held.end(),
                     [&](const PlanPart::Held& held) { return IsYes(held.verdict, strict); });
}

Report ReportOf(const std::shared_ptr<const ModelFile>& file, const ImportedModel& model, const Options& options,
                Analysis& baseline, PlanPart part) {
  baseline.diagnostics = FindingsOf(model, options, baseline, part);
  ReportRequest request;
  request.command = "plan";
  request.file = file;
  request.top = options.top;
  request.verbose = options.verbose;
  Report report = BuildReport(request, {Summarize(baseline)}, {}, baseline);
  report.tables.push_back(CurveTable(part));
  report.shown_table = report.tables.back().key;
  report.top_given = options.top.has_value();
  report.top = options.top.value_or(0);  // csv and md hold the whole curve
  report.part = std::move(part);
  return report;
}

absl::Status CheckPatterns(const Run& run, const Analysis& baseline) {
  RETURN_IF_ERROR(CheckNames(run, *baseline.graph));
  return CheckFreeze(run, baseline);
}

absl::StatusOr<Granularity> GranularityOf(Study& study, const Workload& workload, const PlanRequest& request) {
  const RankLayout& layout = workload.layout;
  const bool modules = layout.data == DataParallel::kFsdp || IsTensorParallel(layout) || IsPipeline(layout);
  if (modules && request.granularity == Granularity::kAuto) return Granularity::kModule;
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(workload.bindings));
  return GranularityFor(model->info.from_record, request.granularity);
}

}  // namespace

absl::StatusOr<CommandAnswer> AnswerPlan(const Options& options, const OpenModels& open) {
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  const Card* const smallest = SmallestOf(cards);
  ASSIGN_OR_RETURN(PlanRequest request, RequestOf(options, smallest));
  ASSIGN_OR_RETURN(Workload workload, WorkloadOf(options));
  if (smallest != nullptr) workload = OnCard(std::move(workload), *smallest);
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelOf(options, open, 0));
  RETURN_IF_ERROR(CheckTrainable(*file));
  Study study(file);
  workload.bindings = WithBatchOption(study, workload.bindings);
  PlanPart part;
  ASSIGN_OR_RETURN(request.granularity, GranularityOf(study, workload, request));
  if (options.max_batch) {
    ASSIGN_OR_RETURN(part.largest_batch, LargestOf(study, workload, request));
    workload.bindings.batch = std::max<int64_t>(1, part.largest_batch->batch);
  }
  ASSIGN_OR_RETURN(Analysis baseline, study.Ask(workload));
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(workload.bindings));
  ASSIGN_OR_RETURN(const Shared<Lowered> lowered, study.Lower(workload.bindings, workload.run));
  RETURN_IF_ERROR(CheckPatterns(options.workload.run, baseline));
  const Limit budget = BudgetLimit(options, PresentBytes(request, baseline), "without a plan");
  if (HasBudget(options)) request.budget_bytes = budget.bytes;
  part.request = request;
  ASSIGN_OR_RETURN(part.answer, PlanModel(study, workload, request));
  CommandAnswer answer;
  const ModulePlan* const chosen = Chosen(part.answer);
  if (chosen != nullptr) {
    answer.emit = [model, lowered, plans = part.answer, made_for = MadeForOf(request, workload, part.answer)](
                      std::string_view form) { return EmitChosen(model->info, *lowered, plans, made_for, form); };
    // A chosen plan is expected to fit: only several cards, or strictness, may still say no.
    const bool settled = cards.size() < 2 && !options.strict;
    if (!options.emit.empty() && options.exports.empty() && settled) return answer;
  }
  RETURN_IF_ERROR(AddHeldAndDrawn(study, workload, options, budget, cards, baseline, part));
  answer.yes = FitsEverywhere(part, options.strict);
  Report report = ReportOf(file, *model, options, baseline, std::move(part));
  if (!options.exports.empty()) RETURN_IF_ERROR(WriteExports(report, options));
  answer.warnings = WarningsAmong(report.notes);
  answer.report = std::move(report);
  return answer;
}

}  // namespace onnx_mem
