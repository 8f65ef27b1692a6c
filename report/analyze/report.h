// What is reported, before it takes a form: key figures of every run, tables, notes. Built once from analyses;
// each format (parts/formats.cc) turns it into text.
#ifndef ONNX_MEM_REPORT_ANALYZE_REPORT_H_
#define ONNX_MEM_REPORT_ANALYZE_REPORT_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/devices/roofline.h"
#include "analyzer/devices/verdict.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/memory/program.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/parallel/traffic.h"
#include "analyzer/study/axis.h"
#include "planner/advice/fewest_ranks.h"
#include "planner/advice/fit.h"
#include "report/analyze/limit.h"
#include "report/explain/explain_part.h"
#include "report/parts/layers.h"
#include "report/parts/table.h"
#include "report/plan/plan_part.h"

namespace onnx_mem {

struct PhaseSpan {
  Phase phase = Phase::kForward;
  int64_t steps = 0;
  friend bool operator==(const PhaseSpan&, const PhaseSpan&) = default;
};

struct PeakPlace {
  bool known = false;  // false for a program without steps
  Phase phase = Phase::kForward;
  int64_t step = 0;  // from 0
  std::string op;
  std::string node;
  std::string module;
};

// Figures of one training step or one inference, without the program that gave them.
struct PartSummary : PeakFigures {
  BytesByCategory breakdown = {};
  PeakPlace peak;
  int64_t steps = 0;
  std::vector<int64_t> live_bytes;  // per step; empty in a sweep
  std::vector<PhaseSpan> phases;    // in order
  std::optional<TimeEstimate> time;
};

struct RunSummary : PassFigures {
  int64_t batch = 1;
  std::string rank;                                // Analysis::rank
  std::vector<std::pair<int64_t, Need>> by_ranks;  // what the training step needs over other numbers of ranks
  std::optional<TrafficCost> traffic;              // of a training step over several cards
  std::optional<PartSummary> training;
  std::optional<PartSummary> inference;
  bool with_plan = false;  // recompute_flops is reported
};

// Counts of a model: the MODEL rows of figures.inc.
struct ModelCounts {
#define ONNX_MEM_MODEL(member, ...) int64_t member = 0;
#include "include/onnx_mem/figures.inc"
};
struct ModelRow {
  std::string_view key;
  int64_t ModelCounts::*value;
};
inline constexpr auto kModelRows = std::to_array<ModelRow>({
#define ONNX_MEM_MODEL(member, ...) {#member, &ModelCounts::member},
#include "include/onnx_mem/figures.inc"
});

struct ReportedModel : ModelCounts {
  std::string path;
  std::string producer;
  std::map<std::string, int64_t> opsets;
  std::string source;           // "graph" or "record": what was analyzed
  std::string parameter_dtype;  // "float32"; "mixed"; "" without parameters
};

// bytes = fixed_bytes + bytes_per_sample * batch, for the exact peak (training's where there is one).
struct Scaling {
  int64_t fixed_bytes = 0;
  int64_t bytes_per_sample = 0;
  bool exact = false;      // it gives the bytes of every batch that was looked at, `from_batch` to `to_batch`
  int64_t from_batch = 1;  // smaller batches peak at another place of the step
  int64_t to_batch = 1;    // larger ones may: nobody looked
};

// What onnx-mem fit answers for one card.
struct CardFit {
  struct Part {
    std::string name;  // "training"
    Need need;         // at the batch of the question
    Verdict verdict = Verdict::kDoesNotFit;
    std::optional<BatchEdges> batches;  // unset: the file's batch is fixed
    std::optional<FewestRanks> ranks;   // of a sharded step
    std::optional<int64_t> over_ranks;  // whose figures they are, where fit chose the number
  };
  std::string name;  // "" for a size
  std::optional<int64_t> memory_bytes;
  int64_t usable_bytes = 0;
  std::vector<Part> parts;  // the first one answers
};

// The batches that fit: the BATCH rows of figures.inc.
struct BatchFigures {
#define ONNX_MEM_BATCH(type, member, ...) type member = {};
#include "include/onnx_mem/figures.inc"
};
BatchFigures BatchFiguresOf(const CardFit::Part& part);

// What is reported of one model at one batch or several.
struct AnalyzePart {
  std::optional<Scaling> scaling = {};
  std::vector<Limit> limits = {};
  bool card_named = false;        // the card of the times is the user's choice
  std::string time_unknown = {};  // why there are no times
  // For one batch, what the first screen shows of who holds the peak:
  std::vector<LayerShare> layers_at_peak = {};    // BytesByLayer
  Table largest_tensors = {};                     // LiveTable, the largest few
  Table savings = {};                             // what would save most; without a key: not looked for
  std::shared_ptr<const Analysis> analysis = {};  // for formats that draw every step; of one batch
};

struct FitPart {
  std::vector<CardFit> cards = {};
  int64_t batch = 0;
  std::string over = std::string(kBatchAxis);  // what is varied: the batch, or a dimension by its name
  int64_t size = 0;                            // of the question, along it
  std::optional<size_t> ways_card = {};        // of `cards`: that the ways are for
  std::optional<int64_t> ways_ranks = {};      // with so many ranks, where fit chose the number
};

struct TablesPart {};  // the tables and the notes are all that there is to tell

struct ComparedReports;
using ComparePart = std::shared_ptr<const ComparedReports>;  // its sides are reports

struct Report {
  std::string command;
  ReportedModel model;
  std::map<std::string, int64_t> bound_dims;  // symbolic dimensions; of the first run
  std::vector<std::pair<std::string, std::string>> assumptions;
  std::vector<RunSummary> runs;  // of AnalyzePart one per batch, of PlanPart the step without any plan, else none
  std::vector<Table> tables;     // that the question wants
  std::string shown_table;       // key of the table that --by asks for, or ""
  int64_t top = 0;               // rows of a list; 0: all
  bool top_given = false;        // by the user
  bool verbose = false;
  std::vector<Diagnostic> notes;
  std::shared_ptr<const ModelFile> file = {};  // that was read, for the format that is a copy of it; or null
  std::variant<TablesPart, AnalyzePart, PlanPart, FitPart, ComparePart, ExplainPart> part;
};

// A function for each part that a report may have, for std::visit.
template <class... Functions>
struct ForPart : Functions... {
  using Functions::operator()...;
};
template <class... Functions>  // Clang finds it by itself from 17 on
ForPart(Functions...) -> ForPart<Functions...>;

// The limits that its runs are held against; none where it is not about one analysis.
const std::vector<Limit>& LimitsOf(const Report& report);

// Which tables are made: for a file, which holds everything, all; for a line of figures none.
enum class Tables { kNone, kShown, kAll };

// What of an analysis is reported beyond the key figures.
struct ReportRequest {
  std::string command = "analyze";
  By by = By::kNone;
  std::optional<int64_t> top = {};  // unset: kDefaultTop
  bool verbose = false;
  std::vector<Limit> limits = {};
  const Clock* clock = nullptr;  // for times of layers; null: without them
  Tables tables = Tables::kShown;
  std::shared_ptr<const ModelFile> file = {};
};

// `runs` are the summaries of all batches, `beyond` those of BatchesBeyond, `analysis` is the first one.
Report BuildReport(const ReportRequest& request, std::vector<RunSummary> runs, const std::vector<RunSummary>& beyond,
                   const Analysis& analysis);

std::string_view NameOf(Severity severity);  // "warning"

// With a clock, times too.
RunSummary Summarize(const Analysis& analysis, const Clock* clock = nullptr);
ReportedModel SummarizeModel(const Analysis& analysis);

// Batches beyond those of a sweep at which ComputeScaling wants to know the peak: the next one gives the slope, the
// last one tells whether it is a law. Empty where they would be too large to say anything.
std::vector<int64_t> BatchesBeyond(int64_t largest);

// The law at the largest batch of `runs`, from it and `beyond` (runs of BatchesBeyond). Where `beyond` is empty, it
// passes through the two largest batches and is exact if a third one confirms it. Nullopt for fewer than two batches.
std::optional<Scaling> ComputeScaling(const std::vector<RunSummary>& runs, const std::vector<RunSummary>& beyond);

// The part that answers: training where there is one.
const PartSummary& MainPart(const RunSummary& run);

// What a part needs on the device; without a range all three figures are one.
Need NeedOf(const PeakFigures& part);

// `run` as it is on the card of `limit`.
const RunSummary& RunOn(const Limit& limit, const RunSummary& run);

// Training or inference of a run: &RunSummary::training.
using RunPart = std::optional<PartSummary> RunSummary::*;

// Both, in the order of every form.
struct PartOfRun {
  std::string_view name;
  FigureOf of;
  RunPart part;
};
inline constexpr auto kPartsOfRun = std::to_array<PartOfRun>({
    {"training", FigureOf::kTraining, &RunSummary::training},
    {"inference", FigureOf::kInference, &RunSummary::inference},
});

// By category, in the report's order; the activations of an inference are one.
std::vector<std::pair<std::string_view, int64_t>> BreakdownOf(const PartSummary& part, FigureOf of);

// The worst over all limits, of one part or of every run and part; none without a limit.
std::optional<Verdict> VerdictOf(const RunSummary& run, RunPart part, const std::vector<Limit>& limits);
std::optional<Verdict> VerdictOf(const std::vector<RunSummary>& runs, const std::vector<Limit>& limits);

// nullptr when the report has no such table.
const Table* TableNamed(const Report& report, std::string_view key);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_ANALYZE_REPORT_H_
