// What a training step and an inference need, at one batch or several.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/status_macros.h"
#include "cli/answers/advice_tables.h"
#include "cli/answers/answers.h"
#include "cli/answers/batch_dim.h"
#include "cli/answers/cards.h"
#include "cli/answers/clock.h"
#include "cli/answers/local_card.h"
#include "cli/answers/runtime_of_file.h"
#include "cli/answers/strict.h"
#include "cli/answers/unmatched.h"
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

// With `asked_no_more` the last import lets go of the file: what was read of a large one is an eighth of all that its
// analysis holds.
absl::StatusOr<Sweep> AnalyzeBatches(std::shared_ptr<const ModelFile>& file, bool asked_no_more, Workload workload,
                                     const Options& options, const Clock* clock) {
  std::vector<std::optional<int64_t>> batches(options.batches.begin(), options.batches.end());
  if (batches.empty()) batches.push_back(std::nullopt);
  Sweep sweep;
  for (const std::optional<int64_t>& batch : batches) {
    workload.bindings.batch = batch;
    ASSIGN_OR_RETURN(ImportedModel model, file->Import(workload.bindings));
    if (asked_no_more && &batch == &batches.back()) file.reset();
    ASSIGN_OR_RETURN(Analysis analysis, AnalyzeImported(std::move(model), workload));
    RunSummary run = Summarize(analysis, clock);
    run.with_plan = options.plan.has_value();
    sweep.runs.push_back(std::move(run));
    if (!sweep.first) sweep.first = std::make_shared<Analysis>(std::move(analysis));
  }
  if (batches.size() < 2 || options.quiet) return sweep;
  if (workload.mode == Mode::kBoth) workload.mode = Mode::kTraining;
  workload.training_bounds = false;  // the law is about peaks alone
  for (int64_t batch : BatchesBeyond(**std::max_element(batches.begin(), batches.end()))) {
    workload.bindings.batch = batch;
    const absl::StatusOr<Analysis> analysis = Analyze(*file, workload);
    if (!analysis.ok()) {  // nobody asked for this batch
      sweep.beyond.clear();
      break;
    }
    sweep.beyond.push_back(Summarize(*analysis));
  }
  return sweep;
}

// The same batches on another card: its figures alone.
absl::StatusOr<std::vector<RunSummary>> RunsOnCard(const ModelFile& file, const Workload& workload,
                                                   const Options& options, const Card& card) {
  Workload there = OnCard(workload, card);
  there.keep_parts = false;
  there.addresses = false;
  std::vector<RunSummary> runs;
  std::vector<std::optional<int64_t>> batches(options.batches.begin(), options.batches.end());
  if (batches.empty()) batches.push_back(std::nullopt);
  for (const std::optional<int64_t>& batch : batches) {
    there.bindings.batch = batch;
    ASSIGN_OR_RETURN(const Analysis analysis, Analyze(file, there));
    runs.push_back(Summarize(analysis));
  }
  return runs;
}

// What the run takes now, of which --budget asks for a share: of a run with --plan, without it.
absl::StatusOr<Limit> BudgetOf(const ModelFile& file, Workload workload, const Options& options,
                               const RunSummary& run) {
  if (!options.budget_percent || !options.plan) return BudgetLimit(options, MainPart(run).device_bytes, "");
  workload.run.segments.clear();
  workload.mode = Mode::kTraining;
  workload.intervals = false;
  workload.keep_parts = false;
  workload.addresses = false;
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  ASSIGN_OR_RETURN(const Analysis without, Analyze(file, workload));
  return BudgetLimit(options, without.training->device_bytes, "without the plan");
}

bool IsAdvised(const Export& written) { return FormatNamed(written.format)->advises; }

bool WantsAdvice(const Options& options) {
  const bool shown = !options.quiet || std::any_of(options.exports.begin(), options.exports.end(), IsAdvised);
  return options.batches.size() <= 1 && shown && options.by == By::kNone && !FormatNamed(options.format)->one_run &&
         !RunsSessions(options.workload.allocator);
}

// Nothing of the run is shown but the bytes on the device, and the verdict.
bool WantsFiguresAlone(const Options& options) {
  return options.quiet && !options.strict && options.exports.empty() && options.cost_file.empty();
}

// Advice takes some forty enactments, and the checkpoints of a plan: two seconds for a graph of this size.
bool IsTooLargeForAdvice(const Graph& graph) {
  constexpr size_t kMostNodes = 16'000;
  return graph.nodes.size() > kMostNodes;
}

Diagnostic NoAdviceNote(const Graph& graph) {
  Diagnostic note{.code = Code::kNoAdvice, .severity = Severity::kNote, .count = 1};
  note.message = absl::StrFormat("what would save most is not worked out for a graph of %d nodes", graph.nodes.size());
  note.details = {"try: the change itself, for example --amp bf16, --optimizer sgd or a smaller --batch"};
  return note;
}

// On a card the arena's regions count whole: what the other strategy would give back, where that is worth a word.
std::optional<Diagnostic> ArenaNote(const ModelFile& file, Workload workload, const RunFigures& now, ByteUnit units) {
  constexpr int64_t kWorthAWord = 50;  // a share of what is needed
  if (workload.allocator != "ort" || workload.device == Device::kCpu) return std::nullopt;
  workload.allocator = "ort-as-requested";
  const absl::StatusOr<Analysis> other = Analyze(file, workload);
  if (!other.ok() || !other->inference) return std::nullopt;
  const int64_t saved = now.device_bytes - other->inference->device_bytes;
  if (saved * kWorthAWord < now.device_bytes) return std::nullopt;
  Diagnostic note{.code = Code::kArenaStrategy, .severity = Severity::kNote, .count = 1};
  note.bytes = saved;
  note.message = absl::StrFormat("arena_extend_strategy kSameAsRequested needs %s less", FormatBytesIn(saved, units));
  note.details = {"try: providers=[(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\"})]",
                  "why: regions of the default strategy double in size, and are never full"};
  return note;
}

// What would save most of the run that answers. Advice is no reason to fail: nothing is said where it cannot be had.
Table SavingsOf(const ModelFile& file, Workload workload, const Options& options, const Gpu* card,
                const std::shared_ptr<const TrainingParts>& known, Advice advice) {
  constexpr int64_t kPlanIterations = 12;
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  workload.bindings = WithBatchOption(file, workload.bindings);
  if (workload.mode == Mode::kBoth) workload.mode = Mode::kTraining;
  Meter meter = known != nullptr ? Meter(file, *known) : Meter(file);
  const auto savings =
      RankSavings(meter, workload, {card, kPlanIterations, advice == Advice::kFirstScreen ? kShownWays : 0});
  return savings.ok() ? SavingsTable(*savings) : Table{};
}

}  // namespace

absl::StatusOr<std::vector<Limit>> LimitsOf(const Options& options, const RunSummary& run) {
  std::vector<Limit> limits;
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  for (const Card& card : cards) limits.push_back(LimitOf(card, options.units));
  if (HasBudget(options)) limits.push_back(BudgetLimit(options, MainPart(run).device_bytes, ""));
  return limits;
}

absl::StatusOr<Answered> AnswerAnalyze(const Options& asked, const OpenModels& open) {
  ASSIGN_OR_RETURN(std::shared_ptr<const ModelFile> file, ModelOf(asked, open, 0));
  const Options options = WithRuntimeOf(asked, {file});
  const std::optional<Diagnostic> runtime_note = RuntimeNote(asked, options, {file}, {""});
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  Workload workload = cards.empty() ? options.workload : OnCard(options.workload, cards.front());
  const bool figures_alone = WantsFiguresAlone(options);
  const bool bytes_alone = figures_alone && cards.empty() && !HasBudget(options);
  workload.training_bounds = !bytes_alone;
  workload.intervals = !bytes_alone;
  workload.keep_parts = WantsAdvice(options);
  workload.addresses = options.batches.size() <= 1 && DrawsSteps(options);
  if (options.plan) workload.run.segments = *options.plan;
  const std::optional<LocalCard> local = cards.empty() ? std::nullopt : cards.front().local;
  Clock clock;
  if (!figures_alone || !options.gpu.empty()) {
    ASSIGN_OR_RETURN(clock, ClockOf(options, local ? &local->gpu : nullptr));
    RETURN_IF_ERROR(CheckHostLink(clock, false, options.plan));
  }
  const bool asked_no_more = bytes_alone && !RunsSessions(workload.allocator);  // sessions: ArenaNote
  ASSIGN_OR_RETURN(Sweep sweep,
                   AnalyzeBatches(file, asked_no_more, workload, options, figures_alone ? nullptr : &clock));
  ASSIGN_OR_RETURN(std::vector<Limit> limits, LimitsOnCards(cards, sweep.runs, options.units, [&](const Card& card) {
                     return RunsOnCard(*file, workload, options, card);
                   }));
  if (HasBudget(options)) {
    ASSIGN_OR_RETURN(Limit budget, BudgetOf(*file, workload, options, sweep.runs.front()));
    limits.push_back(std::move(budget));
  }

  RETURN_IF_ERROR(CheckNames(options.workload.run, sweep.first->graph));
  RETURN_IF_ERROR(CheckFreeze(options.workload.run, *sweep.first));
  for (Diagnostic& warning : UnmatchedPatterns(options.workload.run, *sweep.first)) {
    sweep.first->diagnostics.push_back(std::move(warning));
  }
  if (const RunFigures* figures = MainFigures(*sweep.first)) {
    for (Diagnostic& warning : UnmatchedTimes(clock, figures->program)) {
      sweep.first->diagnostics.push_back(std::move(warning));
    }
  }

  if (sweep.first->inference && sweep.first->inference->session && options.batches.size() <= 1) {
    workload.bindings.batch = options.batches.empty() ? std::nullopt : std::optional<int64_t>(options.batches.front());
    std::optional<Diagnostic> note = ArenaNote(*file, workload, *sweep.first->inference, options.units);
    if (note) sweep.first->diagnostics.push_back(*std::move(note));
  }
  const bool advise = WantsAdvice(options) && !IsTooLargeForAdvice(sweep.first->graph);
  if (WantsAdvice(options) && !advise) sweep.first->diagnostics.push_back(NoAdviceNote(sweep.first->graph));
  if (runtime_note) sweep.first->diagnostics.push_back(*runtime_note);
  if (local && options.verbose) sweep.first->diagnostics.push_back(UseNote(local->gpu, options.units));

  Answered answer;
  answer.warnings = WarningsAmong(sweep.first->diagnostics);
  if (options.strict) RETURN_IF_ERROR(CheckStrict(answer.warnings));
  ReportRequest request;
  request.by = options.by;
  request.verbose = options.verbose;
  request.limits = limits;
  request.clock = &clock;
  request.figures_alone = figures_alone;
  request.file = file;
  if (advise) {
    answer.savings = [file, workload, options, card = FindGpu(local ? local->gpu.name : options.gpu),
                      known = std::shared_ptr<const TrainingParts>(sweep.first->parts),
                      told = std::make_shared<std::optional<Table>>()](Advice advice) {
      if (*told) return **told;
      Table savings = SavingsOf(*file, workload, options, card.ok() ? &*card : nullptr, known, advice);
      if (advice == Advice::kWhole) *told = savings;
      return savings;
    };
  }
  if (!options.exports.empty()) {
    request.every_table = true;
    request.top = 0;
    Report report = BuildReport(request, sweep.runs, sweep.beyond, *sweep.first);
    const bool advised = std::any_of(options.exports.begin(), options.exports.end(), IsAdvised);
    if (advised && answer.savings) std::get<AnalyzePart>(report.part).savings = answer.savings(Advice::kWhole);
    if (workload.addresses) std::get<AnalyzePart>(report.part).analysis = sweep.first;
    RETURN_IF_ERROR(WriteExports(report, options));
  }
  const bool drawn = !options.quiet && FormatNamed(options.format)->every_step;
  request.every_table = drawn;
  request.top = options.top;
  answer.report = BuildReport(request, std::move(sweep.runs), sweep.beyond, *sweep.first);
  if (drawn && workload.addresses) std::get<AnalyzePart>(answer.report.part).analysis = sweep.first;
  answer.yes = IsYes(VerdictOf(answer.report.runs, limits), options.strict);
  answer.made_from = std::move(sweep.first);
  return answer;
}

}  // namespace onnx_mem
