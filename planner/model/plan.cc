// The ladder: candidates, profile, one proposal after another, local search; then the curve, measured plan by plan.
#include "planner/model/plan.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "planner/model/accountant.h"
#include "planner/model/candidates.h"
#include "planner/model/curve.h"
#include "planner/model/front.h"
#include "planner/model/profile.h"
#include "planner/model/proof.h"
#include "planner/model/proposals.h"
#include "planner/model/search.h"

namespace onnx_mem {
namespace {

// Work without an iteration limit, in enactments times nodes: about half a second of a 2020s core.
constexpr int64_t kDefaultWork = 80'000;
constexpr int64_t kLeastEnactments = 60;
// The curve leaves out plans that free less than this share of what can be freed, beside the plan before.
constexpr int64_t kCurveGrain = 250;

// Of the time limit, for the bound and the schedules that it is held against.
constexpr double kProofShare = 0.25;
constexpr int64_t kProofIterations = 300;

size_t Index(int32_t i) { return static_cast<size_t>(i); }

// How much of the effort is left: enactments, and as a ceiling processor time, so that a busy machine plans no worse.
class Effort {
 public:
  Effort(const PlanRequest& request, const Accountant& accountant)
      : accountant_(accountant), begin_(std::clock()), seconds_(request.time_limit_s) {
    const auto nodes = static_cast<int64_t>(accountant.lowered().graph.nodes.size());
    enactments_ = request.iteration_limit > 0 ? request.iteration_limit
                                              : std::max(kLeastEnactments, kDefaultWork / std::max<int64_t>(nodes, 1));
  }

  // True while less than `share` of the effort is spent.
  bool Left(double share) const {
    if (static_cast<double>(accountant_.work()) >= share * static_cast<double>(enactments_)) return false;
    const double spent = static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC;
    return seconds_ <= 0 || spent < share * 0.7 * seconds_;  // the rest is for measuring the curve
  }

 private:
  const Accountant& accountant_;
  std::clock_t begin_;
  double seconds_;
  int64_t enactments_;
};

std::string LabelOf(const Profile& profile, const Choice& choice) {
  if (choice.empty()) return "none";
  std::vector<std::string> labels;
  bool blocks = true;
  for (int32_t c : choice) {
    labels.push_back(profile.candidates[Index(c)].label);
    blocks = blocks && profile.candidates[Index(c)].is_block;
  }
  std::string label = absl::StrJoin(labels, ", ");
  if (label.size() <= 48) return label;
  return absl::StrCat(choice.size(), blocks ? " blocks" : " segments");
}

// What people do by hand: every child of the root, every block.
Choice Habit(const Profile& profile, bool Candidate::*kind) {
  Choice choice;
  int32_t next = 0;
  for (size_t i = 0; i < profile.candidates.size(); ++i) {
    const Candidate& candidate = profile.candidates[i];
    if (!(candidate.*kind) || candidate.first < next) continue;
    choice.push_back(static_cast<int32_t>(i));
    next = candidate.last + 1;
  }
  return choice;
}

std::vector<std::string> NodesBetween(const Graph& graph, int32_t first, int32_t last) {
  std::vector<std::string> nodes;
  for (int32_t i = first; i <= last; ++i) {
    const std::string& name = graph.nodes[NodeId(i)].name;
    if (!name.empty() && std::find(nodes.begin(), nodes.end(), name) == nodes.end()) nodes.push_back(name);
  }
  return nodes;
}

class ModelPlanner {
 public:
  ModelPlanner(const PlanRequest& request, Accountant accountant)
      : request_(request), accountant_(std::move(accountant)), effort_(request_, accountant_) {}

  absl::StatusOr<PlanAnswer> Plan() {
    const CandidateSet candidates = FindCandidates(accountant_.lowered(), request_.granularity);
    ASSIGN_OR_RETURN(profile_, MakeProfile(accountant_, candidates, [&] { return effort_.Left(0.4); }));
    Front front(accountant_, profile_, request_.budget_line);
    RETURN_IF_ERROR(front.Try({}, "none"));
    RETURN_IF_ERROR(TryProposals(front));
    RETURN_IF_ERROR(AddPlans(front));
    if (!request_.given.empty()) RETURN_IF_ERROR(AddGiven());
    Note(candidates);
    PlanAnswer answer = Answer();
    RETURN_IF_ERROR(Prove(answer));
    RETURN_IF_ERROR(AddExpandable(front, answer));
    return answer;
  }

 private:
  bool Uses(std::string_view method) const { return request_.method == "auto" || request_.method == method; }

  absl::Status TryProposals(Front& front) {
    for (const ProposalRow& row : ProposalRows()) {
      if (!Uses(row.name) && request_.method != "dag") continue;
      std::vector<Choice> choices = row.propose(profile_);
      // Should the effort end before the proposals do, those tried are spread over all of them.
      std::stable_sort(choices.begin(), choices.end(), [&](const Choice& a, const Choice& b) {
        return front.GainOf(BudgetLine::kLive, Estimate(profile_, a)) > front.GainOf(BudgetLine::kLive, Estimate(profile_, b));
      });
      for (const Choice& choice : choices) {
        if (!effort_.Left(row.name == "chain" ? 0.75 : 0.6)) break;
        if (!front.IsPromising(Estimate(profile_, choice))) continue;
        RETURN_IF_ERROR(front.Try(choice, row.name));
      }
    }
    if (!Uses("dag")) return absl::OkStatus();
    for (const auto kind : {&Candidate::is_stage, &Candidate::is_block}) {
      RETURN_IF_ERROR(front.Try(Habit(profile_, kind), "dag"));
    }
    return SearchFromFront(profile_, [&] { return effort_.Left(1.0); }, front);
  }

  ModulePlan Described(const Choice& choice, std::string method, std::string label) const {
    ModulePlan plan;
    plan.method = std::move(method);
    plan.label = std::move(label);
    for (int32_t c : choice) {
      const Candidate& candidate = profile_.candidates[Index(c)];
      PlannedSegment segment;
      segment.segment = candidate.segment;
      segment.nodes = NodesBetween(accountant_.lowered().graph, candidate.first, candidate.last);
      segment.saves_bytes = profile_.figures[Index(c)].saves_bytes;
      segment.recompute_flops = profile_.figures[Index(c)].recompute_flops;
      plan.segments.push_back(std::move(segment));
    }
    return plan;
  }

  absl::StatusOr<ModulePlan> MeasuredPlan(const Choice& choice, std::string method, std::string label) {
    ModulePlan plan = Described(choice, std::move(method), std::move(label));
    ASSIGN_OR_RETURN(plan.measured, accountant_.Measure(SegmentsOf(profile_, choice)));
    return plan;
  }

  absl::Status AddPlans(const Front& front) {
    const BudgetLine line = request_.budget_line;
    const std::vector<JudgedPlan>& judged = front.plans(line);
    if (!judged.front().choice.empty()) {  // a plan without FLOPs beats it; it is what the user has now
      ASSIGN_OR_RETURN(ModulePlan none, MeasuredPlan({}, "none", "none"));
      plans_.push_back(std::move(none));
    }
    const int64_t grain = (BytesOn(line, judged.front().score) - BytesOn(line, judged.back().score)) / kCurveGrain;
    int64_t shown = BytesOn(line, judged.front().score);
    for (size_t i = 0; i < judged.size(); ++i) {
      const bool end = i == 0 || i + 1 == judged.size();
      if (!end && shown - BytesOn(line, judged[i].score) < grain) continue;
      shown = BytesOn(line, judged[i].score);
      ASSIGN_OR_RETURN(ModulePlan plan,
                       MeasuredPlan(judged[i].choice, judged[i].method, LabelOf(profile_, judged[i].choice)));
      plans_.push_back(std::move(plan));
    }
    RETURN_IF_ERROR(AddHabit(Habit(profile_, &Candidate::is_stage), "all stages"));
    return AddHabit(Habit(profile_, &Candidate::is_block), "every block separately");
  }

  absl::Status AddHabit(const Choice& choice, std::string label) {
    if (choice.size() < 2) return absl::OkStatus();
    ASSIGN_OR_RETURN(ModulePlan plan, MeasuredPlan(choice, "habit", std::move(label)));
    plans_.push_back(std::move(plan));
    return absl::OkStatus();
  }

  absl::Status AddGiven() {
    ModulePlan plan;
    plan.method = "given";
    plan.label = "the given plan";
    ASSIGN_OR_RETURN(plan.measured, accountant_.Measure(request_.given));
    for (const Segment& segment : request_.given) {
      ASSIGN_OR_RETURN(const Enacted alone, accountant_.Enact({segment}));
      PlannedSegment planned{.segment = segment, .nodes = segment.nodes};
      planned.saves_bytes = accountant_.baseline().end_of_forward_bytes - alone.end_of_forward_bytes;
      planned.recompute_flops = alone.recompute_flops - accountant_.baseline().recompute_flops;
      plan.segments.push_back(std::move(planned));
    }
    plans_.push_back(std::move(plan));
    return absl::OkStatus();
  }

  // What the budget means for bytes that are alive: the device holds the context and what the allocator takes besides.
  int64_t AllowedLive(const PlanAnswer& answer) const {
    const RunFigures& figures = accountant_.baseline_figures();
    const int64_t apart = request_.budget_line == BudgetLine::kDevice ? figures.device_bytes - figures.reserved_peak_bytes : 0;
    if (request_.budget_bytes) return *request_.budget_bytes - apart;
    return answer.chosen ? answer.plans[*answer.chosen].measured.peak_bytes : figures.peak_bytes;
  }

  absl::Status Prove(PlanAnswer& answer) {
    ASSIGN_OR_RETURN(const Prover prover, Prover::Create(accountant_, request_.cost_line));
    answer.minimum_bytes = prover.minimum().bytes;
    answer.minimum_why = prover.minimum().why;
    if (request_.budget_line == BudgetLine::kDevice) answer.minimum_bytes = accountant_.LeastDeviceBytes(answer.minimum_bytes);
    const bool free = answer.chosen && CostOn(request_.cost_line, answer.plans[*answer.chosen].measured) == 0;
    ProvenBound bound;
    if (!free) {
      // Schedules are looked for while time lasts: not where the answer must be the same on any machine.
      const bool schedules = request_.iteration_limit == 0 && request_.time_limit_s > 0;
      ASSIGN_OR_RETURN(bound, prover.BoundFor(AllowedLive(answer), schedules,
                                              (schedules ? kProofShare : 1.0) * request_.time_limit_s, kProofIterations));
    }
    if (!answer.chosen) answer.status = bound.infeasible ? PlanStatus::kInfeasible : PlanStatus::kNotFound;
    if (bound.infeasible && !bound.why.empty()) answer.minimum_why = bound.why;
    FillBound(bound, answer);
    return absl::OkStatus();
  }

  void FillBound(const ProvenBound& bound, PlanAnswer& answer) const {
    const bool time = request_.cost_line == CostLine::kTime;
    (time ? answer.lower_bound_recompute_ns : answer.lower_bound_recompute_flops) = bound.cost;
    if (bound.best) {
      answer.any_schedule.emplace();
      answer.any_schedule->peak_bytes = bound.best->peak_bytes;
      (time ? answer.any_schedule->recompute_ns : answer.any_schedule->recompute_flops) = bound.best->cost;
      answer.any_schedule->slowdown = static_cast<double>(bound.best->cost) / accountant_.StepCost();
      answer.any_schedule->optimal = bound.best->optimal;
    }
    if (!answer.chosen) return;
    const auto cost = CostOn(request_.cost_line, answer.plans[*answer.chosen].measured);
    answer.optimal = cost == bound.cost;
    answer.gap = cost > bound.cost ? static_cast<double>(cost - bound.cost) / (accountant_.StepCost() + static_cast<double>(cost)) : 0;
    if (answer.optimal) answer.optimal_class = "all schedules with this backward order";
  }

  // A plan that is cheaper than the chosen one, and fits but for the caching allocator's fixed segments.
  absl::Status AddExpandable(const Front& front, PlanAnswer& answer) {
    if (!request_.budget_bytes || request_.budget_line != BudgetLine::kDevice) return absl::OkStatus();
    if (accountant_.workload().allocator != "pytorch") return absl::OkStatus();
    for (const JudgedPlan& judged : front.plans(BudgetLine::kLive)) {
      if (answer.chosen && judged.score.cost >= CostOn(request_.cost_line, answer.plans[*answer.chosen].measured)) break;
      if (accountant_.LeastDeviceBytes(judged.score.peak_bytes) > *request_.budget_bytes) continue;
      ASSIGN_OR_RETURN(const Measured measured,
                       accountant_.MeasureWith("pytorch-expandable", SegmentsOf(profile_, judged.choice)));
      if (measured.device_bytes > *request_.budget_bytes) continue;
      if (request_.max_slowdown && measured.slowdown > *request_.max_slowdown) break;
      answer.with_expandable_segments = Described(judged.choice, judged.method, LabelOf(profile_, judged.choice));
      answer.with_expandable_segments->measured = measured;
      break;
    }
    return absl::OkStatus();
  }

  void Note(const CandidateSet& candidates) {
    if (!candidates.by_module) {
      notes_.push_back({.code = "no-modules",
                        .message = "the file does not tell modules: segments are runs of nodes between points that one "
                                   "tensor crosses"});
    }
    if (profile_.candidates.empty()) {
      notes_.push_back({.code = "nothing-to-checkpoint",
                        .message = "no module of this model frees memory when it is checkpointed"});
    }
    if (!candidates.called_twice.empty()) {
      notes_.push_back({.code = "shared-module",
                        .count = static_cast<int64_t>(candidates.called_twice.size()),
                        .message = absl::StrCat("called more than once, so left out: ",
                                                absl::StrJoin(candidates.called_twice, ", "))});
    }
  }

  PlanAnswer Answer() {
    PlanAnswer answer;
    const Enacted& baseline = accountant_.baseline();
    answer.baseline_forward_flops = baseline.forward_flops;
    answer.baseline_backward_flops = baseline.backward_flops;
    answer.plans = MakeCurve(std::move(plans_), request_.budget_line, request_.cost_line);
    for (const ModulePlan& plan : answer.plans) {
      if (plan.segments.empty()) answer.baseline = plan.measured;
    }
    answer.chosen = Choose(answer.plans, request_);
    answer.diagnostics = baseline.diagnostics;
    answer.diagnostics.insert(answer.diagnostics.end(), notes_.begin(), notes_.end());
    return answer;
  }

  const PlanRequest& request_;
  Accountant accountant_;
  Effort effort_;
  Profile profile_;
  std::vector<ModulePlan> plans_;
  std::vector<Diagnostic> notes_;
};

absl::Status CheckMethod(const std::string& method) {
  if (method == "auto" || method == "none" || method == "dag") return absl::OkStatus();
  std::vector<std::string> known = {"auto", "none"};
  for (const ProposalRow& row : ProposalRows()) {
    if (row.name == method) return absl::OkStatus();
    known.emplace_back(row.name);
  }
  known.emplace_back("dag");
  return ErrorStatus(absl::StatusCode::kInvalidArgument, "unknown-method",
                     absl::StrCat("'", method, "' is not a planning method"),
                     {absl::StrCat("known: ", absl::StrJoin(known, ", "))});
}

}  // namespace

absl::StatusOr<PlanAnswer> PlanModel(const ImportedModel& model, const Workload& workload, const PlanRequest& request) {
  RETURN_IF_ERROR(CheckMethod(request.method));
  ASSIGN_OR_RETURN(Accountant accountant, Accountant::Create(model, workload, request.clock, request.cost_line));
  return ModelPlanner(request, std::move(accountant)).Plan();
}

}  // namespace onnx_mem
