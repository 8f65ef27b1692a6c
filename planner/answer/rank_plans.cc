#include "planner/answer/rank_plans.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/devices/gpus.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/parallel/data_parallel.h"
#include "analyzer/parallel/fsdp_units.h"
#include "analyzer/parallel/rank_note.h"
#include "analyzer/parallel/rank_step.h"
#include "analyzer/parallel/step_facts.h"
#include "analyzer/parallel/traffic.h"
#include "analyzer/parallel/unit_borders.h"
#include "planner/answer/answer_proof.h"
#include "planner/code/describe.h"
#include "planner/search/curve.h"

namespace onnx_mem {
namespace {

// What a rank has beside the step of one card depends on where its peak is, and so on the plan: a second search knows
// it of a plan near the budget.
constexpr int kMostSearches = 2;

// What data parallelism spreads: a step of one card, or of the ranks that split its tensors.
Workload OnOneCard(Workload workload) {
  workload.run = EnactedRun(std::move(workload.run), workload.layout);
  RankLayout whole;
  if (IsTensorParallel(workload.layout)) whole.tensor = workload.layout.tensor;
  workload.layout = std::move(whole);
  return workload;
}

std::vector<Segment> SegmentsOf(const ModulePlan& plan) {
  std::vector<Segment> segments;
  for (const PlannedSegment& planned : plan.segments) segments.push_back(planned.segment);
  return segments;
}

// Modules of fully_shard but for the root; none where nothing is sharded.
absl::StatusOr<std::vector<std::string>> UnitsAround(const Enacted& enacted, const RankLayout& layout) {
  if (layout.data != DataParallel::kFsdp) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const std::vector<FsdpUnit> units, UnitsOf(FactsOf(enacted), layout));
  return NamesOf(units);
}

class RankPlanner {
 public:
  // `ranks`: of the step as it is spread; `card`: of the step that each rank runs. All outlive this.
  RankPlanner(const PlanRequest& request, const Accountant& ranks, Accountant& card, const PlanOneCard& plan_one_card)
      : request_(request), ranks_(ranks), card_(card), plan_one_card_(plan_one_card) {}

  absl::StatusOr<PlanAnswer> Plan(std::vector<std::string> units, std::vector<SplitModule> split) {
    PlanRequest search = SearchOf(units);
    search.split = PathsOf(split);
    // A plan that moves tensors may need less than others on one card, and more on a rank: those are searched too.
    if (request_.offload) {
      PlanRequest without = search;
      without.offload = false;
      without.given.clear();
      RETURN_IF_ERROR(Search(std::move(without)).status());
    }
    ASSIGN_OR_RETURN(PlanAnswer answer, Search(std::move(search)));
    Fill(answer);
    answer.spread =
        SpreadPlan{ranks_.workload().layout, ranks_.workload().run.accumulate, "", std::move(units), std::move(split)};
    return answer;
  }

 private:
  struct Found {
    ModulePlan plan;  // measured on the rank
    int64_t card_bytes = 0;
  };

  // What is found is measured; the rest of the answer is that of one card.
  absl::StatusOr<PlanAnswer> Search(PlanRequest search) {
    PlanAnswer answer;
    int64_t beside = BytesOn(request_.budget_line, ranks_.baseline_figures()) - card_.baseline_figures().peak_bytes;
    for (int i = 0; i < kMostSearches; ++i) {
      if (request_.budget_bytes) search.budget_bytes = std::max<int64_t>(0, *request_.budget_bytes - beside);
      ASSIGN_OR_RETURN(answer, plan_one_card_(search, card_));
      RETURN_IF_ERROR(MeasureAll(std::move(answer.plans)));
      const int64_t there = BesideNearBudget();
      if (!request_.budget_bytes || there == beside) break;
      beside = there;
    }
    return answer;
  }

  template <class Figures>
  static int64_t BytesOn(BudgetLine line, const Figures& figures) {
    return line == BudgetLine::kDevice ? figures.device_bytes : figures.peak_bytes;
  }

  PlanRequest SearchOf(const std::vector<std::string>& units) const {
    PlanRequest search = request_;
    search.budget_line = BudgetLine::kLive;
    search.max_slowdown.reset();
    search.for_finer = true;
    search.units = units;
    search.time_limit_s /= request_.offload ? 2 * kMostSearches : kMostSearches;
    return search;
  }

  absl::Status MeasureAll(std::vector<ModulePlan> plans) {
    for (ModulePlan& plan : plans) {
      const std::vector<Segment> segments = SegmentsOf(plan);
      const bool known = std::any_of(found_.begin(), found_.end(), [&](const Found& other) {
        return SegmentsOf(other.plan) == segments && (other.plan.method == "given") == (plan.method == "given");
      });
      if (known) continue;
      const int64_t card_bytes = plan.measured.peak_bytes;
      RETURN_IF_ERROR(Measure(segments, plan.measured));
      plan.dominated = false;
      found_.push_back({std::move(plan), card_bytes});
    }
    return absl::OkStatus();
  }

  // Bytes of the rank in place of those of one card.
  absl::Status Measure(const std::vector<Segment>& segments, Measured& measured) {
    if (segments.empty()) {
      static_cast<PeakFigures&>(measured) = ranks_.baseline_figures();
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Enacted enacted, card_.Enact(segments));
    ASSIGN_OR_RETURN(const RunFigures figures, TrainingFigures(enacted, ranks_.workload()));
    static_cast<PeakFigures&>(measured) = figures;
    return absl::OkStatus();
  }

  // Of the cheapest plan within the budget, else of the one that takes least.
  int64_t BesideNearBudget() const {
    const auto bytes = [&](const Found& found) { return BytesOn(request_.budget_line, found.plan.measured); };
    const auto cost = [&](const Found& found) { return CostOn(request_.cost_line, found.plan.measured); };
    const auto fits = [&](const Found& found) { return bytes(found) <= request_.budget_bytes.value_or(0); };
    const auto best = std::min_element(found_.begin(), found_.end(), [&](const Found& a, const Found& b) {
      if (fits(a) != fits(b)) return fits(a);
      return fits(a) ? cost(a) < cost(b) : bytes(a) < bytes(b);
    });
    return bytes(*best) - best->card_bytes;
  }

  void Fill(PlanAnswer& answer) {
    answer.plans.clear();
    for (Found& found : found_) answer.plans.push_back(std::move(found.plan));
    answer.plans = MakeCurve(std::move(answer.plans), request_.budget_line, request_.cost_line);
    TellApart(answer.plans);
    for (const ModulePlan& plan : answer.plans) {
      if (plan.segments.empty()) answer.baseline = plan.measured;
    }
    answer.chosen = Choose(answer.plans, request_);
    answer.context_bytes = ranks_.LeastDeviceBytes(0);
    answer.method_results.clear();  // by the budget of one card
    NoteGiven(answer);
    SettleByOptimizer(request_, OptimizerBound(ranks_, request_.budget_line), answer);
  }

  void NoteGiven(PlanAnswer& answer) const {
    std::erase_if(answer.diagnostics, [](const Diagnostic& note) { return note.code == Code::kPlanOverLimit; });
    const ModulePlan* chosen = Chosen(answer);
    if (request_.given.empty() || (chosen != nullptr && chosen->method == "given")) return;
    answer.diagnostics.push_back(PlanOverLimitNote(chosen != nullptr));
  }

  const PlanRequest& request_;
  const Accountant& ranks_;
  Accountant& card_;
  const PlanOneCard& plan_one_card_;
  std::vector<Found> found_;
};

// Communication of the step as it is, and of what a plan runs twice.
absl::StatusOr<std::optional<ReceivedBytes>> Received(const PlanAnswer& answer, const PlanRequest& request,
                                                      const Workload& workload, const LocalStep& step,
                                                      Accountant& card) {
  const ModulePlan* const chosen = Chosen(answer);
  const absl::StatusOr<Gpu> gpu = FindGpu(request.clock.card.name);
  if (chosen == nullptr || !gpu.ok()) return std::optional<ReceivedBytes>();
  ASSIGN_OR_RETURN(const Enacted enacted, card.Enact(SegmentsOf(*chosen)));
  ASSIGN_OR_RETURN(const LocalStep planned, SpreadStep(enacted, workload.run, workload.layout));
  return ReceivedBytes{CostOf(TrafficOf(step, workload.run, workload.layout), *gpu),
                       CostOf(TrafficOf(planned, workload.run, workload.layout), *gpu)};
}

}  // namespace

absl::StatusOr<PlanAnswer> PlanRanks(Study& study, const Workload& workload, const PlanRequest& request,
                                     const PlanOneCard& plan_one_card) {
  ASSIGN_OR_RETURN(const Accountant ranks, Accountant::Create(study, workload, request.clock, request.cost_line));
  ASSIGN_OR_RETURN(Accountant card,
                   Accountant::Create(study, OnOneCard(ranks.workload()), request.clock, request.cost_line));
  ASSIGN_OR_RETURN(std::vector<std::string> units, UnitsAround(card.baseline(), workload.layout));
  RETURN_IF_ERROR(CheckSegments(request.given, units));
  ASSIGN_OR_RETURN(const Shared<Lowered> whole,
                   study.Lower(workload.bindings, EnactedRun(workload.run, workload.layout)));
  ASSIGN_OR_RETURN(std::vector<SplitModule> split, SplitModulesOf(*whole, workload.layout));
  RETURN_IF_ERROR(CheckHooks(request.given, PathsOf(split)));
  ASSIGN_OR_RETURN(PlanAnswer answer,
                   RankPlanner(request, ranks, card, plan_one_card).Plan(std::move(units), std::move(split)));
  ASSIGN_OR_RETURN(const Shared<LocalStep> step, study.Local(ranks.workload()));
  answer.spread->whose = RankText(*step, workload.layout);
  ASSIGN_OR_RETURN(answer.spread->received, Received(answer, request, ranks.workload(), *step, card));
  ASSIGN_OR_RETURN(Diagnostic note, RankNote(card.baseline(), *step, workload.layout));
  answer.diagnostics.push_back(std::move(note));
  return answer;
}

}  // namespace onnx_mem
