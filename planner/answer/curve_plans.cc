#include "planner/answer/curve_plans.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "planner/code/describe.h"
#include "planner/measure/effort.h"
#include "planner/search/curve.h"
#include "planner/search/mixed.h"

namespace onnx_mem {
namespace {

// The curve leaves out plans that free less than this share of what can be freed, beside the plan before.
constexpr int64_t kCurveGrain = 250;
// Of large models fewer: each point is enacted and replayed. In points times nodes.
constexpr int64_t kCurveWork = 60'000;
constexpr int64_t kLeastGrain = 5;
// Without a budget: how many plans of the curve modules go to the host for.
constexpr int64_t kMixedTargets = 4;
// And how much may be spent on that, beside the effort for second runs alone.
constexpr double kMixedShare = 3.0;
// Of that, until when single tensors are looked at.
constexpr double kHostedPart = 0.6;

}  // namespace

ModulePlan AsPlan(const Accountant& accountant, const Profile& profile, const JudgedPlan& judged) {
  return Described(accountant.lowered().graph, profile, judged.choice, judged.method, LabelOf(profile, judged.choice));
}

absl::StatusOr<ModulePlan> CurvePlans::MeasuredPlan(const Choice& choice, std::string method, std::string label,
                                                    const std::optional<Measured>& known) {
  ModulePlan plan = Described(accountant_.lowered().graph, profile_, choice, std::move(method), std::move(label));
  if (known) {
    plan.measured = *known;
  } else {
    ASSIGN_OR_RETURN(plan.measured, accountant_.Measure(SegmentsOf(profile_, choice)));
  }
  return plan;
}

// What was measured on the way is not measured again.
absl::StatusOr<ModulePlan> CurvePlans::MeasuredPlan(const JudgedPlan& judged) {
  if (!judged.measured) return MeasuredPlan(judged.choice, judged.method, LabelOf(profile_, judged.choice));
  ModulePlan plan = AsPlan(accountant_, profile_, judged);
  plan.measured = *judged.measured;
  return plan;
}

absl::Status CurvePlans::Add(const Front& front) {
  const BudgetLine line = request_.budget_line;
  const std::vector<JudgedPlan>& judged = front.plans(line);
  if (!judged.front().choice.empty()) {  // a plan without FLOPs beats it; it is what the user has now
    ASSIGN_OR_RETURN(ModulePlan none, MeasuredPlan({}, "none", "none"));
    plans_.push_back(std::move(none));
  }
  const auto nodes = static_cast<int64_t>(accountant_.lowered().graph.nodes.size());
  const int64_t points = std::clamp(kCurveWork / std::max<int64_t>(nodes, 1), kLeastGrain, kCurveGrain);
  const int64_t grain = (BytesOn(line, judged.front().score) - BytesOn(line, judged.back().score)) / points;
  int64_t shown = BytesOn(line, judged.front().score);
  for (size_t i = 0; i < judged.size(); ++i) {
    if (judged[i].beaten) continue;
    const bool end = i == 0 || i + 1 == judged.size();
    // The first one within the budget is the answer, however near it is to the one before.
    const auto within = [&](size_t k) {
      return request_.budget_bytes && BytesOn(line, judged[k].score) <= *request_.budget_bytes;
    };
    const bool answers = !end && within(i) && !within(i - 1);
    if (!end && !answers && shown - BytesOn(line, judged[i].score) < grain) continue;
    shown = BytesOn(line, judged[i].score);
    ASSIGN_OR_RETURN(ModulePlan plan, MeasuredPlan(judged[i]));
    plans_.push_back(std::move(plan));
  }
  // What the model's own code checkpoints is in no plan.
  const bool others = !accountant_.lowered().checkpointed.empty();
  const std::string stages = others ? "all other stages" : "all stages";
  RETURN_IF_ERROR(AddConventional(Convention(profile_, &Candidate::is_stage), stages, front));
  return AddConventional(Convention(profile_, &Candidate::is_block), others ? "each other block" : "each block", front);
}

absl::Status CurvePlans::AddConventional(const Choice& choice, std::string label, const Front& front) {
  if (choice.size() < 2 || front.IsBeaten(choice)) return absl::OkStatus();
  ASSIGN_OR_RETURN(ModulePlan plan, MeasuredPlan(choice, "hand", std::move(label), front.MeasuredOf(choice)));
  plans_.push_back(std::move(plan));
  return absl::OkStatus();
}

absl::Status CurvePlans::AddGiven() {
  ModulePlan plan;
  plan.method = "given";
  plan.label = "the given plan";
  ASSIGN_OR_RETURN(plan.measured, accountant_.Measure(request_.given));
  for (const Segment& segment : request_.given) {
    ASSIGN_OR_RETURN(const Enacted alone, accountant_.Enact({segment}));
    PlannedSegment planned{.segment = segment, .nodes = segment.nodes};
    planned.saves_bytes = accountant_.baseline().end_of_forward_bytes - alone.end_of_forward_bytes;
    planned.recompute_flops = alone.recompute_flops - accountant_.baseline().recompute_flops;
    planned.cost = accountant_.ScoreOf(alone).cost;
    plan.segments.push_back(std::move(planned));
  }
  plans_.push_back(std::move(plan));
  return absl::OkStatus();
}

absl::Status CurvePlans::AddMixed(const Front& front, const Profile& moves, const CallRanges* calls) {
  const std::vector<JudgedPlan>& judged = front.plans(front.line());
  std::vector<int64_t> limits;
  if (request_.budget_bytes) {
    limits.push_back(*request_.budget_bytes);
  } else {
    const int64_t most = BytesOn(front.line(), judged.front().score);
    const int64_t least = BytesOn(front.line(), judged.back().score);
    for (int64_t i = 1; i <= kMixedTargets; ++i) limits.push_back(most - (most - least) * i / kMixedTargets);
  }
  const Effort effort(request_, accountant_, accountant_.work());
  for (size_t i = 0; i < limits.size(); ++i) {
    std::optional<int64_t> cost;
    for (const JudgedPlan& plan : judged) {  // cheapest first
      if (!cost && BytesOn(front.line(), plan.score) <= limits[i]) cost = plan.score.cost;
    }
    if (cost == 0) continue;
    const auto until = [&](double part) {
      return [&, part] {
        return effort.Left(kMixedShare * (static_cast<double>(i) + part) / static_cast<double>(limits.size()));
      };
    };
    if (calls != nullptr) {
      ASSIGN_OR_RETURN(std::optional<ModulePlan> hosted, FindHosted(accountant_, *calls, front.line(), limits[i], cost,
                                                                    request_.host_bytes, until(kHostedPart)));
      if (hosted) {
        cost = CostOn(request_.cost_line, hosted->measured);
        plans_.push_back(*std::move(hosted));
      }
    }
    ASSIGN_OR_RETURN(std::optional<ModulePlan> mixed,
                     FindMixed(accountant_, profile_, moves, front, limits[i], cost, request_.host_bytes, until(1)));
    if (mixed) plans_.push_back(*std::move(mixed));
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
