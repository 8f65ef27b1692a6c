// The part of a report on checkpoint plans in JSON, as the contract has it.
#include <algorithm>

#include "report/analyze/json_parts.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {

std::string_view NameOf(PlanStatus status) {
  switch (status) {
    case PlanStatus::kFeasible: return "feasible";
    case PlanStatus::kInfeasible: return "infeasible";
    case PlanStatus::kNotFound: return "unknown";
  }
  return "unknown";
}

namespace {

using Layout = JsonWriter::Layout;

void WriteNames(JsonWriter& json, std::string_view key, const std::vector<std::string>& names) {
  json.Key(key).BeginArray(Layout::kOneLine);
  for (const std::string& name : names) json.String(name);
  json.EndArray();
}

void WriteSegment(JsonWriter& json, const PlannedSegment& segment) {
  json.BeginObject();
  WriteNames(json, "modules", segment.segment.modules);
  WriteNames(json, "nodes", segment.nodes);
  if (!segment.segment.keep.empty()) WriteNames(json, "keep", segment.segment.keep);
  if (segment.segment.offload != Offload::kNo) json.Key("offload").String(NameOf(segment.segment.offload));
  json.Key("saves_bytes").Int(segment.saves_bytes);
  json.Key("recompute_flops").Int(segment.recompute_flops);
  json.EndObject();
}

void WriteOnePlan(JsonWriter& json, const ModulePlan& plan, Granularity granularity) {
  json.BeginObject();
  json.Add({{"id", plan.id}, {"method", plan.method}, {"label", plan.label}});
  json.Key("granularity").String(granularity == Granularity::kOp ? "op" : "module");
  for (const PeakRow& row : kPeakRows) {
    if (row.is_of_plans()) json.Key(row.key).Int(plan.measured.*row.value);
  }
#define ONNX_MEM_COST(type, member, ...) json.Add({{#member, plan.measured.member}});
#include "include/onnx_mem/figures.inc"
  json.Key("dominated").Bool(plan.dominated);
  json.Key("settings").BeginObject(Layout::kOneLine);
  for (const auto& [variable, value] : plan.settings) json.Key(variable).String(value);
  json.EndObject();
  json.Key("segments").BeginArray();
  for (const PlannedSegment& segment : plan.segments) WriteSegment(json, segment);
  json.EndArray();
  json.EndObject();
}

void WriteBaseline(JsonWriter& json, const PlanAnswer& answer) {
  json.Key("baseline").BeginObject();
  json.Add({{"peak_bytes", answer.baseline.peak_bytes},
            {"first_step_peak_bytes", answer.baseline.first_step_peak_bytes},
            {"device_bytes", answer.baseline.device_bytes},
            {"forward_flops", answer.baseline_forward_flops},
            {"backward_flops", answer.baseline_backward_flops}});
  json.EndObject();
}

// What no framework executes: the reference that plans are held against.
void WriteAnySchedule(JsonWriter& json, const PlanAnswer& answer) {
  json.Key("any_schedule");
  if (!answer.any_schedule) {
    json.Null();
    return;
  }
  json.BeginObject(Layout::kOneLine);
  json.Key("peak_bytes").Int(answer.any_schedule->peak_bytes);
  json.Key("recompute_flops").Int(answer.any_schedule->recompute_flops);
  json.Key("recompute_ns").Int(answer.any_schedule->recompute_ns);
  json.Key("slowdown").Number(answer.any_schedule->slowdown);
  json.Key("optimal").Bool(answer.any_schedule->optimal);
  json.EndObject();
}

void WriteClassBound(JsonWriter& json, const PlanAnswer& answer) {
  json.Key("class_bound");
  if (!answer.class_bound) {
    json.Null();
    return;
  }
  json.BeginObject(Layout::kOneLine);
  json.Key("class").String(answer.class_bound->name);
  json.Key("candidates").Int(answer.class_bound->candidates);
  json.Key("floor_bytes").Int(answer.class_bound->floor_bytes);
  json.Key("lower_bound_recompute");
  answer.class_bound->cost ? json.Int(*answer.class_bound->cost) : json.Null();
  json.Key("gap").Number(answer.class_bound->gap);
  json.EndObject();
}

void WriteLargestBatch(JsonWriter& json, const LargestBatch& largest) {
  json.Key("largest_batch").BeginObject(Layout::kOneLine);
  json.Key("with_plan").Int(largest.batch);
  json.Key("without_plan").Int(largest.without_plan);
  json.Key("class_bound");
  largest.class_bound ? json.Int(*largest.class_bound) : json.Null();
  json.Key("proven_bound");
  largest.bound ? json.Int(*largest.bound) : json.Null();
  json.EndObject();
}

// The verdict on the budget (or the smallest card), and what the step needs on each card.
void WriteHeldPlan(JsonWriter& json, const PlanPart& part) {
  json.Key("verdict");
  if (part.held.empty()) {
    json.Null();
    return;
  }
  Verdict worst = Verdict::kFits;
  for (const PlanPart::Held& held : part.held) worst = std::max(worst, held.verdict);
  json.String(onnx_mem::NameOf(worst));
  const Need& planned = part.held.front().planned;
  json.Key("planned_interval_bytes").BeginArray(Layout::kOneLine);
  json.Int(planned.low_bytes).Int(planned.high_bytes).EndArray();
  json.Key("gpus").BeginArray();
  for (const PlanPart::Held& held : part.held) {
    if (held.limit.kind == Limit::Kind::kBudget) continue;
    json.BeginObject();
    WriteCardName(json, held.limit, held.verdict);
    WriteNeed(json, "as_it_is", held.as_it_is, held.limit.bytes);
    WriteNeed(json, "planned", held.planned, held.limit.bytes);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

void WritePlan(JsonWriter& json, const PlanPart& part) {
  const PlanAnswer& answer = part.answer;
  WriteBaseline(json, answer);
  const bool share = !part.held.empty() && part.held.front().limit.percent;
  if (share) {
    WriteBudget(json, part.held.front().limit);
  } else {
    json.Key("budget_bytes");
    part.request.budget_bytes ? json.Int(*part.request.budget_bytes) : json.Null();
  }
  json.Key("budget_on").String(part.request.budget_line == BudgetLine::kDevice ? "device" : "live");
  json.Key("cost_in").String(part.request.cost_line == CostLine::kFlops ? "flops" : "time");
  json.Key("card").String(part.request.clock.card.name);
  json.Key("max_slowdown");
  part.request.max_slowdown ? json.Number(*part.request.max_slowdown) : json.Null();
  json.Key("status").String(NameOf(answer.status));
  json.Key("infeasible_class");
  answer.infeasible_class.empty() ? json.Null() : json.String(answer.infeasible_class);
  json.Key("minimum_bytes").Int(answer.minimum_bytes);
  json.Key("minimum_why").String(answer.minimum_why);
  json.Key("lower_bound_recompute_flops").Int(answer.lower_bound_recompute_flops);
  json.Key("lower_bound_recompute_ns").Int(answer.lower_bound_recompute_ns);
  WriteClassBound(json, answer);
  WriteAnySchedule(json, answer);
  json.Key("optimal").Bool(answer.optimal);
  json.Key("optimal_class");
  answer.optimal_class.empty() ? json.Null() : json.String(answer.optimal_class);
  json.Key("gap").Number(answer.gap);
  json.Key("ladder").BeginArray();
  for (const PlanAnswer::Rung& rung : answer.rungs) {
    json.BeginObject(Layout::kOneLine);
    json.Key("method").String(rung.method);
    json.Key("work").Int(rung.work);
    json.Key("recompute");
    rung.cost ? json.Int(*rung.cost) : json.Null();
    json.Key("gap");
    rung.cost&& answer.class_bound ? json.Number(rung.gap) : json.Null();
    json.EndObject();
  }
  json.EndArray();
  json.Key("not_searched").BeginArray();
  for (const std::string& what : answer.not_searched) json.String(what);
  json.EndArray();
  WriteHeldPlan(json, part);
  json.Key("chosen");
  answer.chosen ? json.Int(answer.plans[*answer.chosen].id) : json.Null();
  if (answer.with_expandable_segments) {
    json.Key("with_expandable_segments");
    WriteOnePlan(json, *answer.with_expandable_segments, part.request.granularity);
  }
  if (answer.on_such_a_card) {
    json.Key("on_such_a_card").BeginObject();
    json.Key("device_bytes").Int(answer.on_such_a_card->run.device_bytes);
    json.Key("first_retries").Int(answer.on_such_a_card->run.first_retries);
    json.Key("retries_per_step").Int(answer.on_such_a_card->run.retries_per_step);
    json.Key("plan");
    WriteOnePlan(json, answer.on_such_a_card->plan, part.request.granularity);
    json.EndObject();
  }
  if (answer.fits_but_fragments) {
    json.Key("fits_but_fragments");
    WriteOnePlan(json, *answer.fits_but_fragments, part.request.granularity);
  }
  if (answer.with_op) {
    json.Key("with_op");
    WriteOnePlan(json, *answer.with_op, Granularity::kOp);
  }
  if (part.smaller_batch) {
    json.Key("smaller_batch").BeginObject();
    json.Key("batch").Int(part.smaller_batch->batch);
    json.Key("plan");
    WriteOnePlan(json, part.smaller_batch->plan, part.request.granularity);
    json.EndObject();
  }
  if (part.largest_batch) WriteLargestBatch(json, *part.largest_batch);
  json.Key("plans").BeginArray();
  for (const ModulePlan& plan : answer.plans) WriteOnePlan(json, plan, part.request.granularity);
  json.EndArray();
}

}  // namespace onnx_mem
