#include "library/told_answers.h"

#include <utility>

#include "cli/error_text.h"
#include "library/rendering.h"
#include "report/analyze/json_parts.h"
#include "report/compare/comparison.h"
#include "report/plan/plan_report.h"

namespace onnx_mem::api {
namespace {

using Breakdown = std::vector<std::pair<std::string, int64_t>>;

Breakdown TrainingBreakdown(const onnx_mem::PartSummary& part) {
  Breakdown breakdown;
  for (size_t c = 0; c < kNumCategories; ++c) {
    breakdown.emplace_back(NameOf(static_cast<Category>(c)), part.breakdown[c]);
  }
  return breakdown;
}

std::string VerdictFrom(const std::optional<onnx_mem::Verdict>& verdict) {
  return verdict ? std::string(onnx_mem::NameOf(*verdict)) : "";
}

Figures FiguresFrom(const onnx_mem::RunSummary& run, onnx_mem::RunPart which,
                    const std::vector<onnx_mem::Limit>& limits, Breakdown breakdown) {
  const onnx_mem::PartSummary& part = *(run.*which);
  Figures figures;
  figures.verdict = VerdictFrom(onnx_mem::VerdictOf(run, which, limits));
  figures.peak_bytes = part.peak_bytes;
  if (part.peak_high_bytes > 0) figures.peak_interval = Interval{part.peak_low_bytes, part.peak_high_bytes};
  figures.first_step_peak_bytes = part.first_step_peak_bytes;
  figures.allocated_peak_bytes = part.allocated_peak_bytes;
  figures.allocated_interval = {part.allocated_low_bytes, part.allocated_high_bytes};
  figures.reserved_peak_bytes = part.reserved_peak_bytes;
  figures.device_bytes = part.device_bytes;
  figures.device_interval = {part.device_low_bytes, part.device_high_bytes};
  figures.breakdown = std::move(breakdown);
  figures.lower_bound = part.at_least;
  if (!part.peak.known) return figures;
  figures.peak_phase = NameOf(part.peak.phase);
  figures.peak_op = part.peak.op;
  figures.peak_node = part.peak.node;
  figures.peak_module = part.peak.module;
  return figures;
}

Run RunFrom(const onnx_mem::RunSummary& summary, const std::vector<onnx_mem::Limit>& limits = {}) {
  Run run;
  run.batch = summary.batch;
  if (summary.training) {
    run.training = FiguresFrom(summary, &onnx_mem::RunSummary::training, limits, TrainingBreakdown(*summary.training));
  }
  if (summary.inference) {
    Breakdown breakdown;
    for (const auto& [name, bytes] : InferenceBreakdown(*summary.inference)) breakdown.emplace_back(name, bytes);
    run.inference = FiguresFrom(summary, &onnx_mem::RunSummary::inference, limits, std::move(breakdown));
  }
  run.end_of_forward_bytes = summary.end_of_forward_bytes;
  run.saved_activation_bytes = summary.saved_activation_bytes;
  run.forward_flops = summary.forward_flops;
  run.backward_flops = summary.backward_flops;
  run.recompute_flops = summary.recompute_flops;
  return run;
}

ModelSummary ModelFrom(const onnx_mem::ModelSummary& model) {
  return {model.path, model.producer, model.nodes, model.parameters, model.parameter_bytes, model.buffer_bytes};
}

std::vector<Note> NotesFrom(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Note> notes;
  for (const Diagnostic& diagnostic : diagnostics) {
    notes.push_back({CodeOf(diagnostic), std::string(NameOf(diagnostic.severity)), diagnostic.message,
                     diagnostic.details, diagnostic.count, diagnostic.bytes});
  }
  return notes;
}

Segment SegmentFrom(const onnx_mem::PlannedSegment& segment) {
  return {segment.segment.modules, segment.nodes, segment.segment.keep, segment.saves_bytes, segment.recompute_flops};
}

Plan PlanFrom(const onnx_mem::ModulePlan& plan) {
  Plan told;
  told.id = plan.id;
  told.method = plan.method;
  told.label = plan.label;
  for (const onnx_mem::PlannedSegment& segment : plan.segments) told.segments.push_back(SegmentFrom(segment));
  told.settings = plan.settings;
  told.peak_bytes = plan.measured.peak_bytes;
  told.first_step_peak_bytes = plan.measured.first_step_peak_bytes;
  told.allocated_peak_bytes = plan.measured.allocated_peak_bytes;
  told.device_bytes = plan.measured.device_bytes;
  told.recompute_flops = plan.measured.recompute_flops;
  told.slowdown = plan.measured.slowdown;
  told.dominated = plan.dominated;
  return told;
}

Fitting::Card CardFrom(const onnx_mem::CardFit& card) {
  Fitting::Card told{card.name, card.usable_bytes, {}};
  for (const onnx_mem::CardFit::Part& part : card.parts) {
    Fitting::Part& made = told.parts.emplace_back();
    made.name = part.name;
    made.device_bytes = part.need.expected_bytes;
    made.device_interval = {part.need.low_bytes, part.need.high_bytes};
    made.verdict = onnx_mem::NameOf(part.verdict);
    made.fits = part.verdict != onnx_mem::Verdict::kDoesNotFit;
    if (!part.batches) continue;
    made.safe_batch = part.batches->safe.batch;
    made.largest_batch = part.batches->expected.batch;
    made.impossible_from = part.batches->impossible_from;
    made.at_least = part.batches->expected.at_least;
  }
  return told;
}

Fitting::Way WayFrom(const onnx_mem::FitWay& way) {
  const onnx_mem::Saving& saving = way.saving;
  return {saving.change.change,          saving.change.flags,  saving.change.cost,
          saving.footprint.device_bytes, saving.extra_compute, way.largest_batch};
}

Comparison::Side SideFrom(const onnx_mem::ComparedSide& side) {
  return {ModelFrom(side.report.model), RunFrom(side.report.runs.front()), {}};
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

Analysis AnalysisFrom(onnx_mem::Answered answered) {
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

Plans PlansFrom(onnx_mem::Answered answered) {
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
    plans.held.push_back({held.limit.name, held.limit.bytes, std::string(onnx_mem::NameOf(held.verdict))});
  }
  if (part.largest_batch) plans.largest_batch = part.largest_batch->batch;
  plans.report = ReportOf(std::move(answered));
  return plans;
}

Fitting FittingFrom(onnx_mem::Answered answered) {
  Fitting fitting;
  const onnx_mem::Report& report = answered.report;
  fitting.assumptions = report.assumptions;
  fitting.notes = NotesFrom(report.notes);
  fitting.model = ModelFrom(report.model);
  const auto& fit = std::get<onnx_mem::FitPart>(report.part);
  fitting.batch = fit.asked_batch;
  fitting.fits = answered.yes;
  for (const onnx_mem::CardFit& card : fit.cards) fitting.cards.push_back(CardFrom(card));
  for (const onnx_mem::FitWay& way : answered.ways) fitting.ways.push_back(WayFrom(way));
  fitting.report = ReportOf(std::move(answered));
  return fitting;
}

Comparison ComparisonFrom(onnx_mem::Answered answered) {
  Comparison comparison;
  const onnx_mem::Comparison& report = *std::get<onnx_mem::ComparePart>(answered.report.part);
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
