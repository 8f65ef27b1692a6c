#include "library/answers.h"

#include <utility>

#include "cli/error_text.h"
#include "library/rendering.h"
#include "report/compare/comparison.h"
#include "report/plan/plan_report.h"

namespace onnx_mem::api {
namespace {

std::string VerdictFrom(const std::optional<onnx_mem::Verdict>& verdict) {
  return verdict ? std::string(onnx_mem::NameOf(*verdict)) : "";
}

Figures FiguresFrom(const onnx_mem::RunSummary& run, const onnx_mem::PartOfRun& which,
                    const std::vector<onnx_mem::Limit>& limits) {
  const onnx_mem::PartSummary& part = *(run.*which.part);
  Figures figures;
#define ONNX_MEM_PEAK(member, ...) figures.member = part.member;
#define ONNX_MEM_RANGE(stem, ...) figures.stem##_interval = {part.stem##_low_bytes, part.stem##_high_bytes};
#define ONNX_MEM_OPEN_RANGE(stem, ...) \
  if (part.stem##_high_bytes > 0) figures.stem##_interval = Interval{part.stem##_low_bytes, part.stem##_high_bytes};
#include "include/onnx_mem/figures.inc"
  figures.verdict = VerdictFrom(onnx_mem::VerdictOf(run, which.part, limits));
  for (const auto& [name, bytes] : BreakdownOf(part, which.of)) figures.breakdown.emplace_back(name, bytes);
  figures.lower_bound = part.at_least;
  if (!part.peak.known) return figures;
  figures.peak_phase = NameOf(part.peak.phase);
  figures.peak_op = part.peak.op;
  figures.peak_node = part.peak.node;
  figures.peak_module = part.peak.module;
  return figures;
}

BatchRun RunFrom(const onnx_mem::RunSummary& summary, const std::vector<onnx_mem::Limit>& limits = {}) {
  BatchRun run;
  run.batch = summary.batch;
  for (const onnx_mem::PartOfRun& which : onnx_mem::kPartsOfRun) {
    auto& part = which.of == onnx_mem::FigureOf::kTraining ? run.training : run.inference;
    if (summary.*which.part) part = FiguresFrom(summary, which, limits);
  }
#define ONNX_MEM_PASS(member, ...) run.member = summary.member;
#define ONNX_MEM_PLAN_PASS(member, ...) \
  if (summary.with_plan) run.member = summary.member;
#include "include/onnx_mem/figures.inc"
  return run;
}

ModelSummary ModelFrom(const onnx_mem::ReportedModel& summary) {
  ModelSummary model;
  model.path = summary.path;
  model.producer = summary.producer;
#define ONNX_MEM_MODEL(member, ...) model.member = summary.member;
#include "include/onnx_mem/figures.inc"
  return model;
}

std::vector<Note> NotesFrom(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Note> notes;
  for (const Diagnostic& diagnostic : diagnostics) {
    notes.push_back({CodeOf(diagnostic), std::string(NameOf(diagnostic.severity)), diagnostic.message,
                     diagnostic.details, diagnostic.count, diagnostic.bytes});
  }
  return notes;
}

Segment SegmentFrom(const onnx_mem::PlannedSegment& planned) {
  Segment segment{planned.segment.modules, planned.nodes, planned.segment.keep, {}};
  for (const onnx_mem::KeptCall& kept : planned.segment.keep_calls) segment.keep.push_back(onnx_mem::TextOf(kept));
  for (const onnx_mem::CallId& call : planned.segment.skip) segment.skip.push_back(onnx_mem::TextOf(call));
  const onnx_mem::Offload offload = planned.segment.offload;
  if (offload != onnx_mem::Offload::kNo) segment.offload = onnx_mem::NameOf(offload);
  for (const onnx_mem::KeptCall& call : planned.segment.host_calls)
    segment.host_calls.push_back(onnx_mem::TextOf(call));
  segment.host_inputs = planned.segment.host_inputs;
#define ONNX_MEM_SEGMENT(member, ...) segment.member = planned.member;
#include "include/onnx_mem/figures.inc"
  return segment;
}

Plan PlanFrom(const onnx_mem::ModulePlan& found) {
  Plan plan;
  plan.id = found.id;
  plan.method = found.method;
  plan.label = found.label;
  for (const onnx_mem::PlannedSegment& segment : found.segments) plan.segments.push_back(SegmentFrom(segment));
  plan.settings = found.settings;
#define ONNX_MEM_PLAN_PEAK(member, ...) plan.member = found.measured.member;
#define ONNX_MEM_COST(type, member, ...) plan.member = found.measured.member;
#include "include/onnx_mem/figures.inc"
  plan.dominated = found.dominated;
  return plan;
}

Fitting::Card CardFrom(const onnx_mem::CardFit& card) {
  Fitting::Card result{card.name, card.usable_bytes, {}};
  for (const onnx_mem::CardFit::Part& part : card.parts) {
    Fitting::Part& made = result.parts.emplace_back();
    made.name = part.name;
    made.device_bytes = part.need.expected_bytes;
    made.device_interval = {part.need.low_bytes, part.need.high_bytes};
    made.verdict = onnx_mem::NameOf(part.verdict);
    made.fits = part.verdict != onnx_mem::Verdict::kDoesNotFit;
    const onnx_mem::BatchFigures batches = onnx_mem::BatchFiguresOf(part);
#define ONNX_MEM_BATCH(type, member, ...) made.member = batches.member;
#include "include/onnx_mem/figures.inc"
  }
  return result;
}

Fitting::Way WayFrom(const onnx_mem::FitWay& way) {
  const onnx_mem::Saving& saving = way.saving;
  return {saving.change.change,          saving.change.flags,  saving.change.cost,
          saving.footprint.device_bytes, saving.extra_compute, way.largest_batch};
}

Comparison::Side SideFrom(const onnx_mem::ComparedSide& side) {
  return {ModelFrom(side.report.model), RunFrom(side.run()), {}};
}

Comparison::Side HeadFrom(const onnx_mem::ComparedSide& side, const onnx_mem::Change& change) {
  Comparison::Side head = SideFrom(side);
  if (!change.layers) return head;
  for (const onnx_mem::LayerChange& layer : *change.layers) {
    head.layers.push_back({layer.name, layer.base_bytes, layer.head_bytes});
  }
  return head;
}

}  // namespace

Error ErrorFrom(const absl::Status& status) {
  Diagnostic error = onnx_mem::ErrorOf(status);
  return {CodeOf(error), std::move(error.message), std::move(error.details)};
}

Analysis AnalysisFrom(onnx_mem::CommandAnswer answered) {
  Analysis analysis;
  const onnx_mem::Report& report = answered.report;
  analysis.assumptions = report.assumptions;
  analysis.notes = NotesFrom(report.notes);
  analysis.model = ModelFrom(report.model);
  const std::vector<onnx_mem::Limit>& limits = onnx_mem::LimitsOf(report);
  for (const onnx_mem::RunSummary& run : report.runs) analysis.runs.push_back(RunFrom(run, limits));
  for (const onnx_mem::Limit& limit : limits) {
    Held& held = analysis.held.emplace_back();
    held.name = limit.name;
    held.limit_bytes = limit.bytes;
    held.verdict = VerdictFrom(onnx_mem::VerdictOf(report.runs, {limit}));
  }
  analysis.fits = answered.yes;
  analysis.report = ReportOf(std::move(answered));
  return analysis;
}

Plans PlansFrom(onnx_mem::CommandAnswer answered) {
  Plans plans;
  const onnx_mem::PlanPart& part = std::get<onnx_mem::PlanPart>(answered.report.part);
  plans.assumptions = answered.report.assumptions;
  plans.notes = NotesFrom(answered.report.notes);
  plans.status = NameOf(part.answer.status);
  for (const onnx_mem::ModulePlan& plan : part.answer.plans) plans.plans.push_back(PlanFrom(plan));
  plans.chosen = part.answer.chosen;
  plans.minimum_bytes = part.answer.minimum_bytes;
  plans.lower_bound_recompute_flops = part.answer.lower_bound_recompute_flops;
  plans.optimal = part.answer.optimal;
  plans.gap = part.answer.gap;
  for (const onnx_mem::PlanPart::Held& held : part.held) {
    plans.held.push_back({held.limit.name, std::string(onnx_mem::NameOf(held.verdict)), held.limit.bytes});
  }
  if (part.largest_batch) plans.largest_batch = part.largest_batch->batch;
  plans.report = ReportOf(std::move(answered));
  return plans;
}

Fitting FittingFrom(onnx_mem::CommandAnswer answered) {
  Fitting fitting;
  const onnx_mem::Report& report = answered.report;
  fitting.assumptions = report.assumptions;
  fitting.notes = NotesFrom(report.notes);
  fitting.model = ModelFrom(report.model);
  const auto& fit = std::get<onnx_mem::FitPart>(report.part);
  fitting.batch = fit.batch;
  fitting.over = fit.over;
  fitting.size = fit.size;
  fitting.fits = answered.yes;
  for (const onnx_mem::CardFit& card : fit.cards) fitting.cards.push_back(CardFrom(card));
  for (const onnx_mem::FitWay& way : answered.ways) fitting.ways.push_back(WayFrom(way));
  fitting.report = ReportOf(std::move(answered));
  return fitting;
}

Comparison ComparisonFrom(onnx_mem::CommandAnswer answered) {
  Comparison comparison;
  const onnx_mem::ComparedReports& report = *std::get<onnx_mem::ComparePart>(answered.report.part);
  comparison.assumptions = report.base.report.assumptions;
  comparison.notes = NotesFrom(answered.warnings);
  comparison.base = SideFrom(report.base);
  for (size_t h = 0; h < report.heads.size(); ++h) {
    comparison.heads.push_back(HeadFrom(report.heads[h], report.changes[h]));
  }
  comparison.within = answered.yes;
  comparison.report = ReportOf(std::move(answered));
  return comparison;
}

}  // namespace onnx_mem::api
