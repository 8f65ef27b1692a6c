// The part of a report on checkpoint plans in JSON, as the contract has it.
#include <algorithm>

#include "analyzer/parallel/rank_note.h"
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

void WriteCalls(JsonWriter& json, const std::vector<KeptCall>& calls) {
  for (const KeptCall& kept : calls) {
    json.Key(TextOf(kept.call)).BeginArray(Layout::kOneLine);
    for (const int8_t output : kept.outputs) json.Int(output);
    json.EndArray();
  }
}

// A list of operators' names, or an object of calls with the outputs that are kept, none for all.
void WriteKeep(JsonWriter& json, const Segment& segment) {
  if (!segment.by_call()) {
    if (!segment.keep.empty()) json.Key("keep").Texts(segment.keep);
    return;
  }
  json.Key("keep").BeginObject();
  for (const std::string& name : segment.keep) json.Key(name).BeginArray(Layout::kOneLine).EndArray();
  WriteCalls(json, segment.keep_calls);
  json.EndObject();
  json.Key("skip").BeginArray();
  for (const CallId& call : segment.skip) json.String(TextOf(call));
  json.EndArray();
}

// A word where all that a module saves moves, else an object.
void WriteOffload(JsonWriter& json, const Segment& segment) {
  if (segment.moves_all()) json.Key("offload").String(NameOf(segment.offload));
  if (!segment.moves_some()) return;
  json.Key("offload").BeginObject();
  json.Key("when").String(NameOf(segment.offload));
  json.Key("inputs").Bool(segment.host_inputs);
  json.Key("calls").BeginObject();
  WriteCalls(json, segment.host_calls);
  json.EndObject();
  json.EndObject();
}

void WriteSegment(JsonWriter& json, const PlannedSegment& segment) {
  json.BeginObject();
  json.Key("modules").Texts(segment.segment.modules);
  json.Key("nodes").Texts(segment.nodes);
  WriteKeep(json, segment.segment);
  WriteOffload(json, segment.segment);
#define ONNX_MEM_SEGMENT(member, ...) json.Add({{#member, segment.member}});
#include "include/onnx_mem/figures.inc"
  json.EndObject();
}

void WriteOnePlan(JsonWriter& json, const ModulePlan& plan, Granularity granularity) {
  json.BeginObject();
  json.Add({{"id", plan.id}, {"method", plan.method}, {"label", plan.label}});
  json.Key("granularity").String(NameOf(granularity));
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

// A plan that the answer may not have, as a member.
void WritePlanIfAny(JsonWriter& json, std::string_view key, const std::optional<ModulePlan>& plan,
                    Granularity granularity) {
  if (!plan) return;
  json.Key(key);
  WriteOnePlan(json, *plan, granularity);
}

void WriteBaseline(JsonWriter& json, const PlanAnswer& answer) {
  json.Key("baseline")
      .Object({{"peak_bytes", answer.baseline.peak_bytes},
               {"first_step_peak_bytes", answer.baseline.first_step_peak_bytes},
               {"device_bytes", answer.baseline.device_bytes},
               {"forward_flops", answer.baseline_forward_flops},
               {"backward_flops", answer.baseline_backward_flops},
               {"cpu_ns", answer.baseline.cpu_ns},
               {"gpu_ns", answer.baseline.gpu_ns}},
              Layout::kLines);
}

void WriteRequest(JsonWriter& json, const PlanPart& part) {
  if (!part.held.empty() && part.held.front().limit.percent) {
    WriteBudget(json, part.held.front().limit);
  } else {
    json.Add({{"budget_bytes", part.request.budget_bytes}});
  }
  json.Add({{"budget_on", part.request.budget_line == BudgetLine::kDevice ? "device" : "live"},
            {"cost_in", part.request.cost_line == CostLine::kFlops ? "flops" : "time"},
            {"card", part.request.clock.card.name},
            {"max_slowdown", part.request.max_slowdown}});
}

// What is proven, and what no framework executes: the references that plans are held against.
void WriteBounds(JsonWriter& json, const PlanAnswer& answer) {
  json.Add({{"status", NameOf(answer.status)},
            {"infeasible_class", NullIfEmpty(answer.infeasible_class)},
            {"minimum_bytes", answer.minimum_bytes},
            {"minimum_why", answer.minimum_why},
            {"lower_bound_recompute_flops", answer.lower_bound_recompute_flops},
            {"lower_bound_recompute_ns", answer.lower_bound_recompute_ns}});
  if (const auto& bound = answer.class_bound; json.KeyOf("class_bound", bound.has_value())) {
    json.Object({{"class", bound->name},
                 {"candidates", bound->candidates},
                 {"floor_bytes", bound->floor_bytes},
                 {"lower_bound_recompute", bound->cost},
                 {"gap", bound->gap}});
  }
  if (const auto& any = answer.any_schedule; json.KeyOf("any_schedule", any.has_value())) {
    json.Object({{"peak_bytes", any->peak_bytes},
                 {"recompute_flops", any->recompute_flops},
                 {"recompute_ns", any->recompute_ns},
                 {"slowdown", any->slowdown},
                 {"optimal", any->optimal}});
  }
  json.Add({{"optimal", answer.optimal}, {"optimal_class", NullIfEmpty(answer.optimal_class)}, {"gap", answer.gap}});
}

// What each method found, and what there was no time for.
void WriteSearch(JsonWriter& json, const PlanAnswer& answer) {
  json.Key("ladder").BeginArray();
  for (const PlanAnswer::MethodResult& method_result : answer.method_results) {
    const bool has_gap = method_result.cost && answer.class_bound;
    json.Object({{"method", method_result.method},
                 {"work", method_result.work},
                 {"recompute", method_result.cost},
                 {"gap", has_gap ? std::optional(method_result.gap) : std::nullopt}});
  }
  json.EndArray();
  json.Key("not_searched").Texts(answer.not_searched, Layout::kLines);
}

// The verdict on the budget (or the smallest card), and what the step needs on each card.
void WriteHeldPlan(JsonWriter& json, const PlanPart& part) {
  if (!json.KeyOf("verdict", !part.held.empty())) return;
  Verdict worst = Verdict::kFits;
  for (const PlanPart::Held& held : part.held) worst = std::max(worst, held.verdict);
  json.String(onnx_mem::NameOf(worst));
  const Need& planned = part.held.front().planned;
  json.Key("planned_interval_bytes").Range(planned.low_bytes, planned.high_bytes);
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

// Plans beside the chosen one: what another setting, card, granularity or batch would allow.
void WriteOffers(JsonWriter& json, const PlanPart& part) {
  const PlanAnswer& answer = part.answer;
  const Granularity granularity = part.request.granularity;
  WritePlanIfAny(json, "with_expandable_segments", answer.with_expandable_segments, granularity);
  if (const auto& there = answer.on_such_a_card) {
    json.Key("on_such_a_card").BeginObject();
    json.Add({{"device_bytes", there->run.device_bytes},
              {"first_retries", there->run.first_retries},
              {"retries_per_step", there->run.retries_per_step}});
    WritePlanIfAny(json, "plan", there->plan, granularity);
    json.EndObject();
  }
  WritePlanIfAny(json, "fits_but_fragments", answer.fits_but_fragments, granularity);
  WritePlanIfAny(json, "with_op", answer.with_op, Granularity::kOp);
  if (part.smaller_batch) {
    json.Key("smaller_batch").BeginObject();
    json.Key("batch").Int(part.smaller_batch->batch);
    WritePlanIfAny(json, "plan", part.smaller_batch->plan, granularity);
    json.EndObject();
  }
  if (const auto& largest = part.largest_size) {
    json.Key("largest_size")
        .Object({{"over", largest->over}, {"size", largest->size}, {"without_plan", largest->without_plan}});
  }
  if (const auto& largest = part.largest_batch) {
    json.Key("largest_batch")
        .Object({{"with_plan", largest->batch},
                 {"without_plan", largest->without_plan},
                 {"class_bound", largest->class_bound},
                 {"proven_bound", largest->bound}});
  }
}

// Each with what its rank takes without the plan, and with it.
void WriteStages(JsonWriter& json, const std::vector<StageNeed>& stages) {
  if (stages.empty()) return;
  json.Key("stages").BeginArray();
  for (const StageNeed& stage : stages) {
    json.Object({{"rank", stage.rank},
                 {"begins_at", stage.module},
                 {"segments", stage.segments},
                 {"peak_bytes", stage.without.peak_bytes},
                 {"device_bytes", stage.without.device_bytes},
                 {"peak_with_plan_bytes", stage.with.peak_bytes},
                 {"device_with_plan_bytes", stage.with.device_bytes}});
  }
  json.EndArray();
}

// Of a step over several cards: all bytes are those of one rank.
void WriteSpread(JsonWriter& json, const PlanAnswer& answer) {
  if (!answer.spread) return;
  json.Add({{"layout", TextOf(answer.spread->layout)}, {"rank", answer.spread->whose}});
  json.Key("units").Texts(answer.spread->units, Layout::kLines);
  WriteStages(json, answer.spread->stages);
  if (const std::optional<ReceivedBytes>& received = answer.spread->received) {
    json.Add(
        {{"received_bytes", received->without.peer_bytes}, {"received_with_plan_bytes", received->with.peer_bytes}});
  }
}

}  // namespace

void WritePlan(JsonWriter& json, const PlanPart& part) {
  WriteBaseline(json, part.answer);
  WriteSpread(json, part.answer);
  WriteRequest(json, part);
  WriteBounds(json, part.answer);
  WriteSearch(json, part.answer);
  WriteHeldPlan(json, part);
  const ModulePlan* chosen = Chosen(part.answer);
  json.Add({{"chosen", chosen != nullptr ? std::optional(chosen->id) : std::nullopt}});
  WriteOffers(json, part);
  json.Key("plans").BeginArray();
  for (const ModulePlan& plan : part.answer.plans) WriteOnePlan(json, plan, part.request.granularity);
  json.EndArray();
}

}  // namespace onnx_mem
