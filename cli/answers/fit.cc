// The batches that fit a card, and what makes a batch fit that does not.
#include "planner/advice/fit.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/recorded_step.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/run/work.h"
#include "analyzer/study/axis.h"
#include "analyzer/study/study.h"
#include "cli/answers/advice_tables.h"
#include "cli/answers/answers.h"
#include "cli/answers/batch_dim.h"
#include "cli/answers/cards.h"
#include "cli/answers/fit_ranks.h"
#include "cli/answers/runtime_of_file.h"
#include "cli/answers/strict.h"
#include "cli/answers/unmatched.h"
#include "cli/options/option_values.h"
#include "cli/present.h"
#include "planner/advice/arena.h"
#include "report/analyze/report.h"

namespace onnx_mem {
namespace {

constexpr int64_t kPlanIterations = 120;

// The cards, and --budget as one without a name.
absl::StatusOr<std::vector<Card>> TargetsOf(const Options& options) {
  ASSIGN_OR_RETURN(std::vector<Card> targets, CardsOf(options));
  if (options.budget_bytes) {
    targets.push_back({"the budget", std::nullopt, std::nullopt, std::nullopt, *options.budget_bytes});
  }
  if (!targets.empty()) return targets;
  return UsageError("fit needs a card",
                    {"try: ... --gpu 'RTX 4090'   # or --gpu-memory 24GiB; onnx-mem gpus lists cards"});
}

// A record of a whole training step has no inference.
absl::StatusOr<Mode> ModeOfFile(Study& study, const Workload& workload) {
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(workload.bindings));
  return workload.mode == Mode::kBoth && IsRecordedStep(model->graph) ? Mode::kTraining : workload.mode;
}

absl::StatusOr<CardFit> FitCard(CardNeeds& needs, const Options& options, const Workload& requested,
                                const Card& target) {
  CardFit card;
  card.name = target.name;
  card.memory_bytes = target.memory_bytes;
  card.usable_bytes = target.usable_bytes;
  for (Mode mode : PartsOf(requested.mode)) {
    Workload workload = OnCard(requested, target);
    workload.mode = mode;
    CardFit::Part& part = card.parts.emplace_back();
    part.name = mode == Mode::kInference ? "inference" : "training";
    if (IsSharded(workload.layout) || options.ranks_among) {
      ASSIGN_OR_RETURN(part.ranks, needs.RanksOn(target, workload, options));
    }
    if (options.ranks_among) {
      part.over_ranks = RanksOf(*part.ranks, options.strict);
      SetRanksAlong(options.ranks_axis, *part.over_ranks, workload.layout);
    }
    ASSIGN_OR_RETURN(MeasuredCard* const measured, needs.Of(target, workload));
    part.need = measured->requested;
    part.verdict = VerdictOf(part.need, target.usable_bytes);
    if (!measured->batches) continue;
    absl::StatusOr<BatchEdges> edges = FindBatchEdges(*measured->batches, target.usable_bytes);
    if (!edges.ok() && !work::HasLeft()) return edges.status();
    if (edges.ok()) part.batches = *std::move(edges);
  }
  return card;
}

// The fastest ways to train on as many samples per step.
absl::StatusOr<Table> Together(Study& study, const Workload& workload, const Card& target) {
  const absl::StatusOr<RooflineCard> rates =
      target.gpu ? RooflineOf(*target.gpu) : absl::StatusOr<RooflineCard>(DefaultRoofline());
  if (!rates.ok()) return JointTable({}, "", 0);
  JointRequest request;
  request.limit_bytes = target.usable_bytes;
  request.card = target.gpu ? &*target.gpu : nullptr;
  request.rates = *rates;
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(workload.bindings));
  const int64_t batch = workload.bindings.batch.value_or(model->info.file_batch);
  return JointTable(ChooseJointly(study, workload, request), rates->name, batch * workload.run.accumulate);
}

// What is requested, its part without cards.
absl::StatusOr<Report> StartReport(Study& study, const Options& options, const Axis& axis, Workload workload) {
  workload.mode = PartsOf(workload.mode).front();
  ASSIGN_OR_RETURN(const Analysis analysis, study.Expected(workload));
  RETURN_IF_ERROR(CheckNames(options.workload.run, *analysis.graph));
  RETURN_IF_ERROR(CheckFreeze(options.workload.run, analysis));
  Report report;
  report.command = options.command;
  report.verbose = options.verbose;
  report.model = SummarizeModel(analysis);
  report.bound_dims = analysis.info.bound_dims;
  report.assumptions = analysis.assumptions;
  report.notes = analysis.diagnostics;
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(workload.bindings));
  RETURN_IF_ERROR(CheckAxis(axis, "--over", *model));
  report.part =
      FitPart{.batch = analysis.batch, .over = options.over, .size = SizeAlong(axis, workload.bindings, *model)};
  return report;
}

// What makes the first card that is too small fit, in tables of `report`.
absl::StatusOr<std::vector<FitWay>> AddWays(Study& study, Workload workload, const Axis& axis, const Options& options,
                                            const std::vector<Card>& targets, Report& report) {
  FitPart& part = std::get<FitPart>(report.part);
  workload.mode = PartsOf(workload.mode).front();
  const std::optional<TooSmall> small = FirstTooSmall(study, workload, options, targets, part.cards);
  WaysFor about;
  std::vector<FitWay> ways;
  if (small) {
    const Card& target = targets[small->card];
    workload = OnCard(std::move(workload), target);
    workload.layout = small->layout;
    part.ways_card = small->card;
    AdviceRequest request{target.gpu ? &*target.gpu : nullptr, kPlanIterations};
    if (small->plans) request.checkpoints = &*small->plans;
    ASSIGN_OR_RETURN(ways, WaysToFit(study, workload, target.usable_bytes, request, axis));
    // What is chosen together is chosen for one card.
    const bool chosen = workload.mode == Mode::kTraining && !IsSpread(workload.layout);
    if (chosen && work::HasLeft(work::kAdviceShare)) {
      ASSIGN_OR_RETURN(Table together, Together(study, workload, target));
      report.tables.push_back(std::move(together));
    }
    if (targets.size() > 1) about.card = target.name;
    about.spread = IsSpread(workload.layout);
    if (about.spread) about.plan_command = PlanCommandOf(options, target, targets.size(), workload.layout);
    if (options.ranks_among) {
      part.ways_ranks = about.ranks = RanksAlong(options.ranks_axis, workload.layout);
      const auto [option, ranks] = RanksOption(options, workload.layout);
      for (FitWay& way : ways) {
        std::vector<std::string>& flags = way.saving.change.flags;
        flags.insert(flags.begin(), {option, ranks});
      }
    }
  }
  report.tables.push_back(WaysTable(ways, about));
  return ways;
}

}  // namespace

absl::StatusOr<CommandAnswer> AnswerFit(const Options& given, const OpenModels& open) {
  if (given.batches.size() > 1) return UsageError("fit takes one --batch: it looks for the largest by itself");
  ASSIGN_OR_RETURN(const std::vector<Card> targets, TargetsOf(given));
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelOf(given, open, 0));
  const Options options = WithRuntimeOf(given, {file});
  Workload workload = options.workload;
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  Study study(file);
  workload.bindings = WithBatchOption(study, workload.bindings);
  ASSIGN_OR_RETURN(workload.mode, ModeOfFile(study, workload));
  const Axis axis = AxisNamed(options.over);
  CardNeeds needs(study, axis);
  ASSIGN_OR_RETURN(const Workload first, OverFewestRanks(needs, options, workload, targets.front()));
  ASSIGN_OR_RETURN(Report report, StartReport(study, options, axis, first));
  if (const auto note = RuntimeNote(given, options, {file}, {""})) report.notes.push_back(*note);
  CommandAnswer answer;
  answer.warnings = WarningsAmong(report.notes);
  if (options.strict) RETURN_IF_ERROR(CheckStrict(answer.warnings));
  std::vector<CardFit>& cards = std::get<FitPart>(report.part).cards;
  for (const Card& target : targets) {
    ASSIGN_OR_RETURN(CardFit card, FitCard(needs, options, workload, target));
    answer.yes = answer.yes && IsYes(card.parts.front().verdict, options.strict);
    cards.push_back(std::move(card));
  }
  ASSIGN_OR_RETURN(std::optional<Diagnostic> arena,
                   BetterArena(study, OnCard(workload, targets.front()), targets.front().usable_bytes, options.units));
  if (arena) report.notes.push_back(*std::move(arena));
  ASSIGN_OR_RETURN(answer.ways, AddWays(study, workload, axis, options, targets, report));
  RETURN_IF_ERROR(WriteExports(report, options));
  answer.report = std::move(report);
  return answer;
}

}  // namespace onnx_mem
