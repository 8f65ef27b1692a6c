// Modules under torch.utils.checkpoint, as the planner of planner/model chooses them.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/devices/roofline.h"
#include "planner/advice/segment_flags.h"
#include "planner/advice/way.h"
#include "planner/measure/plan.h"
#include "planner/search/curve.h"

namespace onnx_mem {
namespace {

bool NamesModules(const ModulePlan& plan) { return !plan.segments.empty() && IsForFlags(plan); }

// A label that leaves room for what the change costs; its flags name the modules.
std::string ShortLabel(const ModulePlan& plan) {
  constexpr size_t kLongest = 32;
  return plan.label.size() <= kLongest
             ? plan.label
             : absl::StrCat(plan.segments.size(), plan.segments.size() == 1 ? " segment" : " segments");
}

Proposal ChangeOf(const ModulePlan& plan, const PlanRequest& request, const Situation& s) {
  Proposal change{"checkpoint " + ShortLabel(plan), {}, "", Price::kTime, s.workload};
  AddSegments(plan, change);
  if (!IsSpread(s.workload.layout)) return change;
  change.planned_for_ranks = true;
  if (request.cost_line == CostLine::kTime) change.extra_time = plan.measured.time_slowdown;
  return change;
}

// Of ranks what onnx-mem plan asks for, whose command stands beside the way.
PlanRequest RequestFor(const Situation& s) {
  PlanRequest request;
  request.budget_bytes = s.budget_bytes;
  request.time_limit_s = 0;
  if (!IsSpread(s.workload.layout)) {
    request.iteration_limit = s.plan_iterations;
    request.plans_alone = true;
    return request;
  }
  request.clock.micro_steps = s.workload.run.accumulate;
  if (s.card == nullptr) return request;
  absl::StatusOr<RooflineCard> rates = RooflineOf(*s.card);
  if (rates.ok()) {
    request.clock.card = *std::move(rates);
  } else {
    request.cost_line = CostLine::kFlops;
  }
  return request;
}

}  // namespace

std::vector<Proposal> ProposeCheckpoints(const Situation& s) {
  if (s.checkpoints != nullptr) return *s.checkpoints;
  const Run& run = s.workload.run;
  const bool checkpointed = !run.segments.empty() || !run.checkpointed.empty();
  if (s.workload.mode != Mode::kTraining || s.plan_iterations == 0 || checkpointed) return {};
  const PlanRequest request = RequestFor(s);
  const absl::StatusOr<PlanAnswer> answer = PlanModel(s.study, s.workload, request);
  if (!answer.ok()) return {};
  std::vector<Proposal> changes;
  if (answer->chosen && NamesModules(answer->plans[*answer->chosen])) {
    changes.push_back(ChangeOf(answer->plans[*answer->chosen], request, s));
  }
  // Without a budget also the least that any plan needs.
  const ModulePlan& floor = LeastOf(answer->plans);
  if (!s.budget_bytes && NamesModules(floor) && answer->chosen != static_cast<size_t>(floor.id)) {
    changes.push_back(ChangeOf(floor, request, s));
  }
  return changes;
}

}  // namespace onnx_mem
