#include "report/analyze/report.h"

#include <algorithm>
#include <utility>

#include "report/analyze/range.h"
#include "report/analyze/tables.h"
#include "report/parts/layers.h"
#include "report/parts/skips.h"

namespace onnx_mem {
namespace {

constexpr int64_t kLargestTensors = 20;  // as many as a screen may show

std::vector<PhaseSpan> SpansOf(const MemoryProgram& program) {
  std::vector<PhaseSpan> spans;
  for (const Step& step : program.steps) {
    if (spans.empty() || spans.back().phase != step.phase) spans.push_back({step.phase, 0});
    ++spans.back().steps;
  }
  return spans;
}

PartSummary SummarizePart(const RunFigures& figures, const Clock* clock) {
  PartSummary part;
  static_cast<PeakFigures&>(part) = figures;
  part.breakdown = figures.timeline.at_peak;
  const StepId peak = figures.timeline.peak_step;
  if (figures.program->steps.contains(peak)) {
    const Step& step = figures.program->steps[peak];
    part.peak = {true, step.phase, peak.value(), step.op, step.node, step.module};
  }
  part.steps = static_cast<int64_t>(figures.program->steps.size());
  part.live_bytes = figures.timeline.live_bytes;
  part.phases = SpansOf(*figures.program);
  if (clock != nullptr && clock->unknown.empty()) {
    part.time = EstimateTime(*figures.program, clock->card, clock->measured, clock->micro_steps);
    if (part.time->step_ns == 0) part.time.reset();  // a session's steps say nothing of what they compute
  }
  return part;
}

std::string ParameterDType(const std::vector<Parameter>& parameters) {
  if (parameters.empty()) return "";
  for (const Parameter& parameter : parameters) {
    if (parameter.dtype != parameters.front().dtype) return "mixed";
  }
  return std::string(NameOf(parameters.front().dtype));
}

void AddTables(const ReportRequest& request, const Analysis& analysis, AnalyzePart& part, Report& report) {
  const bool all = request.tables == Tables::kAll;
  const auto wanted = [&](By by) { return all || request.by == by; };
  const RunFigures* figures = MainFigures(analysis);
  const Modules modules(analysis.parameters);
  if (wanted(By::kTensor)) {
    report.tables.push_back(
        TensorTable(*analysis.graph, modules, figures == nullptr ? nullptr : figures->program.get()));
  }
  if (wanted(By::kLayer)) report.tables.push_back(LayerTable(analysis, request.clock));
  if (wanted(By::kOp)) report.tables.push_back(OpTable(analysis));
  if (wanted(By::kCategory)) report.tables.push_back(CategoryTable(analysis));
  if (figures != nullptr) {
    if (wanted(By::kShape)) report.tables.push_back(ShapeTable(*figures));
    // Only with --by step: it is as long as the run, and made of what other formats draw.
    if (request.by == By::kStep) report.tables.push_back(StepTable(*figures));
    if (wanted(By::kTensor)) report.tables.push_back(LiveTable(*figures, modules, all ? 0 : report.top));
    part.layers_at_peak = BytesByLayer(*figures, modules);
    part.largest_tensors = LiveTable(*figures, modules, report.top == 0 ? 0 : std::max(report.top, kLargestTensors));
  }
  if (all || (request.verbose && request.by == By::kNone)) {
    Table range = RangeTable(report);
    if (!range.rows.empty()) report.tables.push_back(std::move(range));
  }
  if (analysis.inference() && (all || (request.verbose && request.by == By::kNone))) {
    Table skips = SkipTable(*analysis.inference()->program);
    if (!skips.rows.empty()) report.tables.push_back(std::move(skips));
  }
  switch (request.by) {
    case By::kNone: break;
    case By::kLayer: report.shown_table = "layers"; break;
    case By::kOp: report.shown_table = "ops"; break;
    case By::kTensor: report.shown_table = "live_at_peak"; break;
    case By::kShape: report.shown_table = "shapes"; break;
    case By::kCategory: report.shown_table = "categories"; break;
    case By::kStep: report.shown_table = "timeline"; break;
  }
}

}  // namespace

std::string_view NameOf(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "";
}

RunSummary Summarize(const Analysis& analysis, const Clock* clock) {
  RunSummary run;
  static_cast<PassFigures&>(run) = analysis;
  run.batch = analysis.batch;
  run.rank = analysis.rank;
  if (analysis.training()) run.training = SummarizePart(*analysis.training(), clock);
  if (analysis.inference()) run.inference = SummarizePart(*analysis.inference(), clock);
  return run;
}

ReportedModel SummarizeModel(const Analysis& analysis) {
  ReportedModel model;
  model.path = analysis.info.path;
  model.producer = analysis.info.producer;
  model.opsets = analysis.info.opsets;
  model.source = analysis.info.from_record ? "record" : "graph";
  model.nodes = analysis.info.node_count;
  model.parameters = analysis.parameter_count;
  model.parameter_bytes = analysis.parameter_bytes;
  model.buffer_bytes = analysis.buffer_bytes;
  model.parameter_dtype = ParameterDType(analysis.parameters);
  return model;
}

std::vector<std::pair<std::string_view, int64_t>> BreakdownOf(const PartSummary& part, FigureOf of) {
  std::vector<std::pair<std::string_view, int64_t>> breakdown;
  if (of == FigureOf::kTraining) {
    for (size_t c = 0; c < kNumCategories; ++c) {
      const auto category = static_cast<Category>(c);
      if (!IsOfLayout(category) || part.breakdown[c] != 0) breakdown.emplace_back(NameOf(category), part.breakdown[c]);
    }
    return breakdown;
  }
  int64_t activations = part.peak_bytes;
  for (Category category : {Category::kParameters, Category::kBuffers, Category::kInputs, Category::kWorkspace}) {
    breakdown.emplace_back(NameOf(category), part.breakdown[static_cast<size_t>(category)]);
    activations -= breakdown.back().second;
  }
  breakdown.insert(breakdown.end() - 1, {"activations", activations});
  return breakdown;
}

const PartSummary& MainPart(const RunSummary& run) {
  static const PartSummary kNothing;
  if (run.training) return *run.training;
  return run.inference ? *run.inference : kNothing;
}

std::vector<int64_t> BatchesBeyond(int64_t largest) {
  constexpr int64_t kLargest = int64_t{1} << 40;
  if (largest > kLargest) return {};
  return {largest + 1, 2 * largest};
}

std::optional<Scaling> ComputeScaling(const std::vector<RunSummary>& runs, const std::vector<RunSummary>& beyond) {
  using Point = std::pair<int64_t, int64_t>;  // batch, bytes
  const auto points_of = [](const std::vector<RunSummary>& from) {
    std::vector<Point> points;
    for (const RunSummary& run : from) points.emplace_back(run.batch, MainPart(run).peak_bytes);
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    return points;
  };
  const std::vector<Point> points = points_of(runs), further = points_of(beyond);
  if (points.size() < 2) return std::nullopt;
  const auto [batch, bytes] = points.back();
  const auto [other_batch, other_bytes] = further.empty() ? points[points.size() - 2] : further.front();
  Scaling law;
  law.bytes_per_sample = (other_bytes - bytes) / (other_batch - batch);
  law.fixed_bytes = bytes - law.bytes_per_sample * batch;
  const auto holds = [&](const Point& point) {
    return law.fixed_bytes + law.bytes_per_sample * point.first == point.second;
  };
  const auto first_off = std::find_if_not(points.rbegin(), points.rend(), holds);
  const auto holding = static_cast<size_t>(first_off - points.rbegin());
  law.to_batch = std::max(batch, further.empty() ? batch : further.back().first);
  law.from_batch = points[points.size() - std::max<size_t>(holding, 1)].first;
  // Two points lie on a line whatever they are; a third one says that it is the law.
  law.exact = further.empty() ? holding >= 3 : std::all_of(further.begin(), further.end(), holds);
  return law;
}

BatchFigures BatchFiguresOf(const CardFit::Part& part) {
  BatchFigures figures;
  if (part.ranks) {
    figures.fewest_ranks = part.ranks->expected;
    figures.safe_ranks = part.ranks->safe;
  }
  if (!part.batches) return figures;
  const BatchEdges& edges = *part.batches;
  figures.safe_batch = edges.safe.batch;
  figures.largest_batch = edges.expected.batch;
  figures.impossible_from = edges.impossible_from;
  figures.at_least = edges.expected.at_least;
  figures.refused_beyond = edges.expected.refused_beyond;
  figures.safe_batch_high_bytes = edges.safe.device_bytes;
  figures.next_safe_batch_high_bytes = edges.safe.device_bytes_beyond;
  figures.largest_batch_device_bytes = edges.expected.device_bytes;
  figures.next_batch_device_bytes = edges.expected.device_bytes_beyond;
  figures.last_possible_batch_low_bytes = edges.possible_low_bytes;
  figures.impossible_from_low_bytes = edges.impossible_low_bytes;
  return figures;
}

Need NeedOf(const PeakFigures& part) {
  Need need{part.device_bytes, part.device_bytes, part.device_bytes};
  if (part.device_high_bytes <= 0) return need;
  need.low_bytes = std::min(part.device_low_bytes, part.device_bytes);
  need.high_bytes = std::max(part.device_high_bytes, part.device_bytes);
  return need;
}

const RunSummary& RunOn(const Limit& limit, const RunSummary& run) {
  if (limit.runs == nullptr) return run;
  const auto found = std::find_if(limit.runs->begin(), limit.runs->end(),
                                  [&](const RunSummary& other) { return other.batch == run.batch; });
  return found != limit.runs->end() ? *found : run;
}

std::optional<Verdict> VerdictOf(const RunSummary& run, RunPart part, const std::vector<Limit>& limits) {
  std::optional<Verdict> worst;
  if (!(run.*part)) return worst;
  for (const Limit& limit : limits) {
    const std::optional<PartSummary>& there = RunOn(limit, run).*part;
    const Verdict verdict = VerdictOf(NeedOf(there ? *there : *(run.*part)), limit.bytes);
    worst = std::max(worst.value_or(verdict), verdict);
  }
  return worst;
}

std::optional<Verdict> VerdictOf(const std::vector<RunSummary>& runs, const std::vector<Limit>& limits) {
  std::optional<Verdict> worst;
  for (const RunSummary& run : runs) {
    for (const PartOfRun& which : kPartsOfRun) {
      const std::optional<Verdict> verdict = VerdictOf(run, which.part, limits);
      if (verdict) worst = std::max(worst.value_or(*verdict), *verdict);
    }
  }
  return worst;
}

const std::vector<Limit>& LimitsOf(const Report& report) {
  static const auto& none = *new std::vector<Limit>();
  const auto* analyzed = std::get_if<AnalyzePart>(&report.part);
  return analyzed != nullptr ? analyzed->limits : none;
}

Report BuildReport(const ReportRequest& request, std::vector<RunSummary> runs, const std::vector<RunSummary>& beyond,
                   const Analysis& analysis) {
  Report report;
  report.command = request.command;
  report.file = request.file;
  report.model = SummarizeModel(analysis);
  report.bound_dims = analysis.info.bound_dims;
  report.assumptions = analysis.assumptions;
  report.runs = std::move(runs);
  AnalyzePart part;
  part.scaling = ComputeScaling(report.runs, beyond);
  part.limits = request.limits;
  if (request.clock != nullptr) {
    part.card_named = request.clock->named;
    part.time_unknown = request.clock->unknown;
  }
  report.top = request.top.value_or(kDefaultTop);
  report.top_given = request.top.has_value();
  report.verbose = request.verbose;
  report.notes = analysis.diagnostics;
  if (report.runs.size() == 1 && request.tables != Tables::kNone) AddTables(request, analysis, part, report);
  report.part = std::move(part);
  return report;
}

const Table* TableNamed(const Report& report, std::string_view key) {
  for (const Table& table : report.tables) {
    if (table.key == key) return &table;
  }
  return nullptr;
}

}  // namespace onnx_mem
