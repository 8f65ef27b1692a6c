#include "cli/answers/plan_verdicts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "planner/search/curve.h"

namespace onnx_mem {
namespace {

// What a step needs with `plan`, on the line that the budget is of.
struct PlannedNeed {
  Need device, live;
};

absl::StatusOr<PlannedNeed> NeedWith(Study& study, Workload workload, const ModulePlan* plan) {
  if (plan != nullptr) {
    for (const PlannedSegment& planned : plan->segments) workload.run.segments.push_back(planned.segment);
  }
  ASSIGN_OR_RETURN(const Analysis analysis, study.AskWithRange(workload));
  const RunFigures& figures = *analysis.training();
  PlannedNeed need{NeedOf(figures), {figures.peak_bytes, figures.peak_bytes, figures.peak_bytes}};
  if (figures.peak_high_bytes > 0) {
    need.live.low_bytes = figures.peak_low_bytes;
    need.live.high_bytes = figures.peak_high_bytes;
  }
  return need;
}

class Holding {
 public:
  Holding(Study& study, const Workload& workload, const PlanPart& part) : study_(study), workload_(workload) {
    plan_ = Chosen(part.answer);
    if (plan_ == nullptr && !part.answer.plans.empty()) plan_ = &LeastOf(part.answer.plans);
  }

  // On `card`, or as the plan was made where it is nullptr.
  absl::StatusOr<PlanPart::Held> On(const Limit& limit, const Card* card, bool live) {
    const Workload there = card != nullptr ? OnCard(workload_, *card) : workload_;
    ASSIGN_OR_RETURN(const PlannedNeed as_it_is, NeedWith(study_, there, nullptr));
    PlannedNeed planned = as_it_is;
    if (plan_ != nullptr && !plan_->segments.empty()) {
      ASSIGN_OR_RETURN(planned, NeedWith(study_, there, plan_));
    }
    PlanPart::Held held{limit, live ? as_it_is.live : as_it_is.device, live ? planned.live : planned.device,
                        Verdict::kDoesNotFit};
    held.verdict = VerdictOf(held.planned, limit.bytes);
    return held;
  }

 private:
  Study& study_;
  const Workload& workload_;
  const ModulePlan* plan_ = nullptr;
};

}  // namespace

absl::StatusOr<std::vector<PlanPart::Held>> VerdictsOfPlan(Study& study, const Workload& workload, const PlanPart& part,
                                                           const std::vector<Limit>& limits,
                                                           const std::vector<Card>& cards, ByteUnit units) {
  std::vector<PlanPart::Held> all;
  Holding holding(study, workload, part);
  for (const Limit& limit : limits) {
    ASSIGN_OR_RETURN(PlanPart::Held held, holding.On(limit, nullptr, part.request.budget_line == BudgetLine::kLive));
    all.push_back(std::move(held));
  }
  std::vector<std::pair<const Card*, PlanPart::Held>> measured;
  for (const Card& card : cards) {
    const Limit limit = LimitOf(card, units);
    const auto alike = std::find_if(measured.begin(), measured.end(),
                                    [&](const auto& other) { return RunsAlike(*other.first, card); });
    if (alike != measured.end()) {
      PlanPart::Held held{limit, alike->second.as_it_is, alike->second.planned, Verdict::kDoesNotFit};
      held.verdict = VerdictOf(held.planned, limit.bytes);
      all.push_back(std::move(held));
      continue;
    }
    ASSIGN_OR_RETURN(PlanPart::Held held, holding.On(limit, &card, /*live=*/false));
    measured.emplace_back(&card, held);
    all.push_back(std::move(held));
  }
  return all;
}

}  // namespace onnx_mem
