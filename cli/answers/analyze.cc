// What a training step and an inference need, at one batch or several.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/runtimes/runtime.h"
#include "analyzer/study/study.h"
#include "cli/answers/advice_tables.h"
#include "cli/answers/answers.h"
#include "cli/answers/batch_dim.h"
#include "cli/answers/cards.h"
#include "cli/answers/clock.h"
#include "cli/answers/local_card.h"
#include "cli/answers/runtime_of_file.h"
#include "cli/answers/strict.h"
#include "cli/answers/unmatched.h"
#include "cli/files/plan_file.h"
#include "cli/present.h"
#include "report/analyze/answer.h"
#include "report/analyze/report.h"
#include "report/parts/formats.h"

namespace onnx_mem {
namespace {

// Runs at one batch after another; the first analysis is kept whole.
struct Sweep {
  std::vector<RunSummary> runs;
  std::vector<RunSummary> beyond;  // BatchesBeyond, which only the law between batch and bytes looks at
  std::shared_ptr<Analysis> first;
};

std::vector<std::optional<int64_t>> BatchesOf(const Options& options) {
  std::vector<std::optional<int64_t>> batches(options.batches.begin(), options.batches.end());
  if (batches.empty()) batches.push_back(std::nullopt);
  return batches;
}

// A line of figures, and the verdict: no table, no times.
bool ShowsLinesAlone(const Options& options) {
  return options.quiet && !options.strict && options.exports.empty() && options.cost_file.empty();
}

// Without a limit nothing in a line needs more than the expected figure.
bool ShowsRange(const Options& options) { return !ShowsLinesAlone(options) || HasLimit(options); }

// Batches that nobody requested: none of them where one cannot be had.
std::vector<RunSummary> RunsBeyond(Study& study, Workload workload, int64_t largest) {
  if (workload.mode == Mode::kBoth) workload.mode = Mode::kTraining;
  std::vector<RunSummary> runs;
  for (int64_t batch : BatchesBeyond(largest)) {
    workload.bindings.batch = batch;
    const absl::StatusOr<Analysis> analysis = study.Expected(workload);
    if (!analysis.ok()) return {};
    runs.push_back(Summarize(*analysis));
  }
  return runs;
}

absl::StatusOr<Sweep> AnalyzeBatches(Study& study, Workload workload, const Options& options, const Clock* clock) {
  const std::vector<std::optional<int64_t>> batches = BatchesOf(options);
  Sweep sweep;
  for (const std::optional<int64_t>& batch : batches) {
    workload.bindings.batch = batch;
    ASSIGN_OR_RETURN(Analysis analysis, ShowsRange(options) ? study.AskWithRange(workload) : study.Expected(workload));
    if (batches.size() == 1 && DrawsSteps(options)) {
      RETURN_IF_ERROR(study.AddAddresses(workload, analysis));
      RETURN_IF_ERROR(study.AddRanks(workload, analysis));
    }
    RunSummary run = Summarize(analysis, clock);
    if (clock != nullptr) RETURN_IF_ERROR(AddTraffic(study, workload, *clock, run));
    run.with_plan = options.plan.has_value();
    sweep.runs.push_back(std::move(run));
    if (!sweep.first) sweep.first = std::make_shared<Analysis>(std::move(analysis));
  }
  if (batches.size() < 2 || options.quiet) return sweep;
  sweep.beyond = RunsBeyond(study, workload, **std::max_element(batches.begin(), batches.end()));
  return sweep;
}

// The training step over other numbers of ranks, of that which needs most.
absl::Status AddMoreRanks(Study& study, Workload workload, const Options& options, RunSummary& run) {
  workload.mode = Mode::kTraining;
  workload.bindings.batch = BatchesOf(options).front();
  for (const int64_t ranks : options.more_ranks) {
    SetRanksAlong(options.ranks_axis, ranks, workload.layout);
    ASSIGN_OR_RETURN(const Need need, study.NeedOf(workload));
    run.by_ranks.emplace_back(ranks, need);
  }
  return absl::OkStatus();
}

// The same batches on another card: its figures alone.
absl::StatusOr<std::vector<RunSummary>> RunsOnCard(Study& study, const Workload& workload, const Options& options,
                                                   const Card& card) {
  Workload there = OnCard(workload, card);
  std::vector<RunSummary> runs;
  for (const std::optional<int64_t>& batch : BatchesOf(options)) {
    there.bindings.batch = batch;
    ASSIGN_OR_RETURN(const Analysis analysis, study.AskWithRange(there));
    runs.push_back(Summarize(analysis));
  }
  return runs;
}

// What the run takes now, of which --budget asks for a share: of a run with --plan, without it.
absl::StatusOr<Limit> BudgetOf(Study& study, Workload workload, const Options& options, const RunSummary& run) {
  if (!options.budget_percent || !options.plan) return BudgetLimit(options, MainPart(run).device_bytes, "");
  workload.run.segments.clear();
  workload.mode = Mode::kTraining;
  workload.bindings.batch = BatchesOf(options).front();
  ASSIGN_OR_RETURN(const Shared<RunFigures> without, study.Figures(workload));
  return BudgetLimit(options, without->device_bytes, "without the plan");
}

// The cards, and --budget.
absl::StatusOr<std::vector<Limit>> LimitsOfRuns(Study& study, const Workload& workload, const Options& options,
                                                const std::vector<Card>& cards, const std::vector<RunSummary>& runs) {
  const auto runs_on = [&](const Card& card) { return RunsOnCard(study, workload, options, card); };
  ASSIGN_OR_RETURN(std::vector<Limit> limits, LimitsOnCards(cards, runs, options.units, runs_on));
  if (!HasBudget(options)) return limits;
  ASSIGN_OR_RETURN(Limit budget, BudgetOf(study, workload, options, runs.front()));
  limits.push_back(std::move(budget));
  return limits;
}

bool IsAdvised(const Export& written) { return FormatNamed(written.format)->advises; }

bool WantsAdvice(const Options& options) {
  const bool shown = !options.quiet || std::any_of(options.exports.begin(), options.exports.end(), IsAdvised);
  return options.batches.size() <= 1 && shown && options.by == By::kNone && !FormatNamed(options.format)->one_run &&
         RuntimeOf(options.workload).eager && !IsSpread(options.workload.layout);
}

// Advice takes some forty enactments, and the checkpoints of a plan: two seconds for a graph of this size.
bool IsTooLargeForAdvice(const Graph& graph) {
  constexpr size_t kMostNodes = 16'000;
  return graph.nodes.size() > kMostNodes;
}

Diagnostic NoAdviceNote(const Graph& graph) {
  Diagnostic note{.code = Code::kNoAdvice, .severity = Severity::kNote, .count = 1};
  note.message = absl::StrFormat("what would save most is not worked out for a graph of %d nodes", graph.nodes.size());
  note.details = {"way out: the change itself, for example --amp bf16, --optimizer sgd or a smaller --batch"};
  return note;
}

// On a card the arena's regions count whole: what the other strategy would give back, where that is worth a word.
std::optional<Diagnostic> ArenaNote(Study& study, Workload workload, const RunFigures& now, ByteUnit units) {
  constexpr int64_t kWorthAWord = 50;  // a share of what is needed
  if (workload.allocator != "ort" || workload.device == Device::kCpu) return std::nullopt;
  workload.allocator = "ort-as-requested";
  workload.mode = Mode::kInference;
  const absl::StatusOr<Shared<RunFigures>> other = study.Figures(workload);
  if (!other.ok()) return std::nullopt;
  const int64_t saved = now.device_bytes - (*other)->device_bytes;
  if (saved * kWorthAWord < now.device_bytes) return std::nullopt;
  Diagnostic note{.code = Code::kArenaStrategy, .severity = Severity::kNote, .count = 1};
  note.bytes = saved;
  note.message = absl::StrFormat("arena_extend_strategy kSameAsRequested needs %s less", FormatBytesIn(saved, units));
  note.details = {"try: providers=[(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\"})]",
                  "why: regions of the default strategy double in size, and are never full"};
  return note;
}

// What would save most of the run that answers. Advice is no reason to fail: nothing is said where it cannot be had.
Table SavingsOf(Study& study, Workload workload, const Options& options, const Gpu* card, Advice advice) {
  constexpr int64_t kPlanIterations = 12;
  workload.bindings.batch = BatchesOf(options).front();
  workload.bindings = WithBatchOption(study, workload.bindings);
  if (workload.mode == Mode::kBoth) workload.mode = Mode::kTraining;
  const auto savings =
      RankSavings(study, workload, {card, kPlanIterations, advice == Advice::kFirstScreen ? kShownWays : 0});
  return savings.ok() ? SavingsTable(*savings) : Table{};
}

// For CommandAnswer::savings.
std::function<Table(Advice)> SavingsLater(std::shared_ptr<Study> study, const Workload& workload,
                                          const Options& options, const absl::StatusOr<Gpu>& card) {
  return [study = std::move(study), workload, options, card,
          kept = std::make_shared<std::optional<Table>>()](Advice advice) {
    if (*kept) return **kept;
    Table savings = SavingsOf(*study, workload, options, card.ok() ? &*card : nullptr, advice);
    if (advice == Advice::kWhole) *kept = savings;
    return savings;
  };
}

// What the options name and the model has not: errors, and a warning for what may be of another model.
absl::Status CheckNamed(const Options& options, const Clock& clock, Analysis& analysis) {
  RETURN_IF_ERROR(CheckNames(options.workload.run, *analysis.graph));
  RETURN_IF_ERROR(CheckFreeze(options.workload.run, analysis));
  std::vector<Diagnostic>& found = analysis.diagnostics;
  for (Diagnostic& warning : UnmatchedPatterns(options.workload.run, analysis)) found.push_back(std::move(warning));
  if (options.plan && options.plan->empty()) found.push_back(NoSegmentsNote());
  if (const RunFigures* figures = MainFigures(analysis)) {
    for (Diagnostic& warning : UnmatchedTimes(clock, *figures->program)) found.push_back(std::move(warning));
  }
  return absl::OkStatus();
}

// Writes options.exports, which hold all that there is.
absl::Status WriteWholeReport(ReportRequest request, const Options& options, const Sweep& sweep,
                              const std::function<Table(Advice)>& savings) {
  if (options.exports.empty()) return absl::OkStatus();
  request.tables = Tables::kAll;
  request.top = 0;
  Report report = BuildReport(request, sweep.runs, sweep.beyond, *sweep.first);
  AnalyzePart& part = std::get<AnalyzePart>(report.part);
  if (savings && std::any_of(options.exports.begin(), options.exports.end(), IsAdvised)) {
    part.savings = savings(Advice::kWhole);
  }
  if (sweep.runs.size() == 1 && DrawsSteps(options)) part.analysis = sweep.first;
  return WriteExports(report, options);
}

// What the analysis of the first batch has to say beside its figures.
absl::Status AddFindings(Study& study, Workload workload, const Options& requested, const Options& options,
                         const std::shared_ptr<const ModelFile>& file, const Clock& clock, Analysis& analysis) {
  RETURN_IF_ERROR(CheckNamed(options, clock, analysis));
  std::vector<Diagnostic>& findings = analysis.diagnostics;
  if (analysis.inference() != nullptr && analysis.inference()->session && options.batches.size() <= 1) {
    workload.bindings.batch = BatchesOf(options).front();
    std::optional<Diagnostic> note = ArenaNote(study, workload, *analysis.inference(), options.units);
    if (note) findings.push_back(*std::move(note));
  }
  if (WantsAdvice(options) && IsTooLargeForAdvice(*analysis.graph)) findings.push_back(NoAdviceNote(*analysis.graph));
  if (const auto note = RuntimeNote(requested, options, {file}, {""})) findings.push_back(*note);
  return absl::OkStatus();
}

ReportRequest RequestOf(const Options& options, const std::shared_ptr<const ModelFile>& file, const Clock& clock,
                        std::vector<Limit> limits) {
  ReportRequest request;
  request.by = options.by;
  request.verbose = options.verbose;
  request.limits = std::move(limits);
  request.clock = &clock;
  request.file = file;
  request.top = options.top;
  return request;
}

}  // namespace

absl::StatusOr<std::vector<Limit>> LimitsOf(const Options& options, const RunSummary& run) {
  std::vector<Limit> limits;
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  for (const Card& card : cards) limits.push_back(LimitOf(card, options.units));
  if (HasBudget(options)) limits.push_back(BudgetLimit(options, MainPart(run).device_bytes, ""));
  return limits;
}

absl::StatusOr<CommandAnswer> AnswerAnalyze(const Options& requested, const OpenModels& open) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelOf(requested, open, 0));
  const Options options = WithRuntimeOf(requested, {file});
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  Workload workload = OnFirstCard(options.workload, cards);
  if (options.plan) workload.run.segments = *options.plan;
  const std::optional<LocalCard> local = cards.empty() ? std::nullopt : cards.front().local;
  const bool lines_alone = ShowsLinesAlone(options);
  Clock clock;
  if (!lines_alone || !options.gpu.empty()) {
    ASSIGN_OR_RETURN(clock, ClockOf(options, local ? &local->gpu : nullptr));
    RETURN_IF_ERROR(CheckHostLink(clock, false, options.plan));
  }
  const auto study = std::make_shared<Study>(file);
  ASSIGN_OR_RETURN(Sweep sweep, AnalyzeBatches(*study, workload, options, lines_alone ? nullptr : &clock));
  RETURN_IF_ERROR(AddMoreRanks(*study, workload, options, sweep.runs.front()));
  ASSIGN_OR_RETURN(const std::vector<Limit> limits, LimitsOfRuns(*study, workload, options, cards, sweep.runs));
  Analysis& analysis = *sweep.first;
  RETURN_IF_ERROR(AddFindings(*study, workload, requested, options, file, clock, analysis));
  if (local && options.verbose) analysis.diagnostics.push_back(UseNote(local->gpu, options.units));

  CommandAnswer answer;
  answer.warnings = WarningsAmong(analysis.diagnostics);
  if (options.strict) RETURN_IF_ERROR(CheckStrict(answer.warnings));
  if (WantsAdvice(options) && !IsTooLargeForAdvice(*analysis.graph)) {
    answer.savings = SavingsLater(study, workload, options, FindGpu(local ? local->gpu.name : options.gpu));
  }
  const bool drawn = !options.quiet && FormatNamed(options.format)->every_step;
  ReportRequest request = RequestOf(options, file, clock, limits);
  RETURN_IF_ERROR(WriteWholeReport(request, options, sweep, answer.savings));
  request.tables = drawn ? Tables::kAll : lines_alone ? Tables::kNone : Tables::kShown;
  answer.report = BuildReport(request, std::move(sweep.runs), sweep.beyond, analysis);
  if (drawn && answer.report.runs.size() == 1) std::get<AnalyzePart>(answer.report.part).analysis = sweep.first;
  answer.yes = IsYes(VerdictOf(answer.report.runs, limits), options.strict);
  answer.analysis = std::move(sweep.first);
  answer.study = study;
  return answer;
}

}  // namespace onnx_mem
