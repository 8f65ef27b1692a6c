#include "planner/search/one_class.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis/segments.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "planner/calls/call_class.h"
#include "planner/calls/skipped_calls.h"
#include "planner/code/describe.h"
#include "planner/measure/accountant.h"
#include "planner/measure/candidates.h"
#include "planner/measure/effort.h"
#include "planner/measure/moves.h"
#include "planner/measure/profile.h"
#include "planner/search/answer_proof.h"
#include "planner/search/curve.h"
#include "planner/search/exact.h"
#include "planner/search/front.h"
#include "planner/search/mixed.h"
#include "planner/search/proof.h"
#include "planner/search/proposals.h"
#include "planner/search/search.h"

namespace onnx_mem {
namespace {

// The curve leaves out plans that free less than this share of what can be freed, beside the plan before.
constexpr int64_t kCurveGrain = 250;
// Of large models fewer: each point is enacted and replayed. In points times nodes.
constexpr int64_t kCurveWork = 60'000;
constexpr int64_t kLeastGrain = 5;
// Plans that are tried on a card of the budget's size: each runs several steps through the allocator.
constexpr int kMostCards = 24;
// Without a budget: how many plans of the curve modules go to the host for.
constexpr int64_t kMixedTargets = 4;
// And how much may be spent on that, beside the effort for second runs alone.
constexpr double kMixedShare = 3.0;
// Until when, in shares of the effort, the best sets by the other price are tried.
constexpr double kOtherPrice = 1.3;
// The allocator that a plan is offered with where its fragments stand in the way of a cheaper one.
constexpr char kExpandable[] = "pytorch-expandable";

class ModelPlanner {
 public:
  // `others`: plans for the curve that were found and measured elsewhere. What `accountant` has done so far takes
  // nothing from the effort; it and `prover` outlive this.
  ModelPlanner(const PlanRequest& request, Accountant& accountant, const Prover& prover, std::vector<ModulePlan> others)
      : request_(request),
        accountant_(accountant),
        prover_(prover),
        done_before_(accountant.work() - 1),  // the step without a plan counts each time
        effort_(request_, accountant_, done_before_),
        plans_(std::move(others)) {}

  absl::StatusOr<PlanAnswer> Plan() {
    ASSIGN_OR_RETURN(const CandidateSet candidates, Candidates());
    std::optional<CallClass> calls;
    if (request_.granularity == Granularity::kCall) {
      calls = Calls(candidates);
      if (!calls) return WithoutCalls();
      profile_ = calls->profile;
    } else {
      ASSIGN_OR_RETURN(profile_,
                       MakeProfile(accountant_, candidates, [&] { return effort_.Left(0.4); }, request_.negligible));
    }
    if (profile_.added_up > 0) {
      NoteCut(absl::StrCat("what ", profile_.added_up, " of ", candidates.list.size(),
                           " candidates free, measured one by one"));
    }
    Exact exact =
        calls ? Exact(profile_, std::move(calls->limits), std::move(calls->proven)) : Exact(prover_, profile_);
    Front front(accountant_, profile_, request_.budget_line);
    RETURN_IF_ERROR(front.Try({}, "none"));
    RETURN_IF_ERROR(calls ? TryCalls(exact, front) : TryProposals(exact, front));
    RETURN_IF_ERROR(AddPlans(front));
    if (!request_.given.empty()) RETURN_IF_ERROR(AddGiven());
    if (request_.offload) RETURN_IF_ERROR(AddMixed(front));
    Note(candidates);
    PlanAnswer answer = Answer();
    if (request_.plans_alone || request_.for_finer) {
      NameSettings(answer);
      answer.status = answer.chosen ? PlanStatus::kFeasible : PlanStatus::kNotFound;
      return answer;
    }
    RETURN_IF_ERROR(Prove(exact, answer));
    RETURN_IF_ERROR(AddNearPlans(front, answer));
    NameSettings(answer);
    return answer;
  }

 private:
  // What is proven is so of second runs: where modules go to the host, of the best plan without.
  absl::Status Prove(const Exact& exact, PlanAnswer& answer) {
    const std::optional<size_t> chosen = answer.chosen;
    if (!chosen || answer.plans[*chosen].measured.host_bytes == 0)
      return ProveAnswer(request_, accountant_, prover_, exact, answer);
    answer.chosen.reset();
    for (size_t i = 0; i < answer.plans.size(); ++i) {
      const ModulePlan& plan = answer.plans[i];
      const bool fits =
          !request_.budget_bytes || BytesOn(request_.budget_line, plan.measured) <= *request_.budget_bytes;
      if (plan.measured.host_bytes > 0 || !fits) continue;
      if (!answer.chosen || plan.measured.slowdown < answer.plans[*answer.chosen].measured.slowdown) answer.chosen = i;
    }
    RETURN_IF_ERROR(ProveAnswer(request_, accountant_, prover_, exact, answer));
    answer.chosen = chosen;
    answer.status = PlanStatus::kFeasible;
    answer.infeasible_class.clear();
    answer.optimal_class.clear();
    answer.optimal = false;
    answer.gap = 0;
    if (answer.class_bound) answer.class_bound->gap = 0;
    return absl::OkStatus();
  }

  absl::StatusOr<CandidateSet> Candidates() const {
    return OfThePlans(FindCandidates(accountant_.lowered(), request_.granularity));
  }

  // Without those that overlap what the user's code checkpoints already.
  absl::StatusOr<CandidateSet> OfThePlans(CandidateSet set) const {
    ASSIGN_OR_RETURN(const std::vector<eager::NodeRange> own,
                     SegmentRanges(accountant_.lowered().graph, accountant_.workload().run));
    std::erase_if(set.list, [&](const Candidate& c) {
      return std::any_of(own.begin(), own.end(),
                         [&](const auto& range) { return range.first <= c.last && c.first <= range.last; });
    });
    return set;
  }

  std::optional<CallClass> Calls(const CandidateSet& modules) {
    const auto limits_of = [&](const std::vector<Candidate>& ranges) { return prover_.LimitSegments(ranges); };
    return FindCallClass(accountant_, prover_.trace(), limits_of, modules, request_.cost_line);
  }

  // Plans of whole modules answer where there is no class of plans per call.
  absl::StatusOr<PlanAnswer> WithoutCalls() {
    PlanRequest coarser = request_;
    coarser.granularity = Granularity::kModule;
    return ModelPlanner(coarser, accountant_, prover_, std::move(plans_)).Plan();
  }

  // For the budget first, then over the whole trade-off.
  absl::Status TryCalls(Exact& exact, Front& front) {
    Record("none", front);
    if (request_.budget_bytes) {
      const int64_t overhead = request_.budget_line == BudgetLine::kDevice ? accountant_.LeastDeviceBytes(0) : 0;
      RETURN_IF_ERROR(exact.TryNear(*request_.budget_bytes, request_.budget_line, overhead, front));
    }
    const int64_t most = accountant_.baseline_figures().peak_bytes;
    RETURN_IF_ERROR(exact.TryNearRow(most, [this] { return effort_.Left(1.0); }, front));
    Record("exact", front);
    return absl::OkStatus();
  }

  bool Uses(std::string_view method) const { return request_.method == "auto" || request_.method == method; }

  // On live bytes the limits of segments tell nearly all. What is tried does not depend on the budget but for the set
  // that they prove to be the best: so more budget never costs more.
  absl::Status TryProposals(Exact& exact, Front& front) {
    Record("none", front);
    const auto until = [&](double share) { return [this, share] { return effort_.Left(share); }; };
    if (Uses("chain")) {
      const int64_t most = accountant_.baseline_figures().peak_bytes;
      RETURN_IF_ERROR(exact.TryRow(most, effort_.IsSmall(), until(0.6), front));
      const bool live = request_.budget_line == BudgetLine::kLive;
      if (live && request_.budget_bytes) RETURN_IF_ERROR(exact.TryFor(*request_.budget_bytes, front));
      if (exact.left() > 0) NoteCut(absl::StrCat("the best sets for ", exact.left(), " of a row of limits"));
      Record("exact", front);
    }
    for (const ProposalRow& row : ProposalRows()) {
      if (!Uses(row.name) && request_.method != "dag") continue;
      RETURN_IF_ERROR(TryRow(row, front));
      Record(row.name, front);
    }
    if (!Uses("dag")) return absl::OkStatus();
    for (const auto kind : {&Candidate::is_stage, &Candidate::is_block}) {
      RETURN_IF_ERROR(front.Try(Convention(profile_, kind), "dag"));
    }
    if (!effort_.Left(1.0)) NoteCut("local search");
    RETURN_IF_ERROR(SearchFromFront(profile_, until(1.0), front));
    if (Uses("chain")) RETURN_IF_ERROR(TryOtherPrice(until(kOtherPrice), front));
    Record("search", front);
    return absl::OkStatus();
  }

  // What the limits of segments do not tell of a plan, the device's fragments and inputs held for several, may favour
  // the best sets by the other price: they and their neighbours are candidates too, measured by the request's.
  absl::Status TryOtherPrice(const std::function<bool()>& may_go_on, Front& front) {
    if (request_.plans_alone || effort_.IsSmall()) return absl::OkStatus();
    const CostLine other = request_.cost_line == CostLine::kTime ? CostLine::kFlops : CostLine::kTime;
    Exact exact(prover_, profile_, other);
    RETURN_IF_ERROR(exact.TryRow(accountant_.baseline_figures().peak_bytes, /*spread=*/false, may_go_on, front));
    return SearchFromFront(profile_, may_go_on, front);
  }

  void Record(std::string_view method, const Front& front) {
    if (!request_.budget_bytes) return;
    PlanAnswer::MethodResult method_result{
        .method = std::string(method), .work = accountant_.work() - done_before_, .cost = std::nullopt};
    for (const JudgedPlan& plan : front.plans(request_.budget_line)) {  // cheapest first
      if (method_result.cost || BytesOn(request_.budget_line, plan.score) > *request_.budget_bytes) continue;
      method_result.cost = plan.score.cost;
    }
    method_results_.push_back(std::move(method_result));
  }

  absl::Status TryRow(const ProposalRow& row, Front& front) {
    const double share = row.name == "chain" ? 0.8 : 0.7;
    if (row.always == 0 && !effort_.Left(share)) {  // to propose takes time too
      NoteCut(absl::StrCat("plans by \"", std::string(row.name), "\""));
      return absl::OkStatus();
    }
    std::vector<Choice> choices = row.propose(profile_);
    if (choices.empty()) return absl::OkStatus();
    const std::vector<Score> estimates = MostPromisingFirst(front, choices);
    const std::optional<size_t> within = CheapestWithin(estimates);
    size_t left_out = 0;
    for (size_t i = 0; i < choices.size(); ++i) {
      const bool first = i < static_cast<size_t>(row.always) || (row.always > 0 && i == within);
      const bool must = first && !request_.plans_alone;  // advice beside other figures has its effort and no more
      const bool may = effort_.Left(share);
      if (!front.IsPromising(estimates[i])) continue;
      if (!may && !must) {
        ++left_out;
        continue;
      }
      const int64_t before = accountant_.work();
      RETURN_IF_ERROR(front.Try(choices[i], row.name));
      if (!may && !effort_.IsSmall()) effort_.Forgive(accountant_.work() - before);
    }
    if (left_out == 0) return absl::OkStatus();
    NoteCut(absl::StrCat(left_out, " of ", choices.size(), " plans by \"", std::string(row.name), "\""));
    return absl::OkStatus();
  }

  // Should the effort end before the proposals do, those tried are spread over all of them. Their estimates.
  std::vector<Score> MostPromisingFirst(const Front& front, std::vector<Choice>& choices) const {
    std::vector<std::pair<int64_t, size_t>> order;
    std::vector<Score> estimates;
    for (size_t i = 0; i < choices.size(); ++i) {
      estimates.push_back(Estimate(profile_, choices[i]));
      order.emplace_back(-front.GainOf(BudgetLine::kLive, estimates.back()), i);
    }
    std::sort(order.begin(), order.end());
    std::vector<Choice> sorted;
    std::vector<Score> scores;
    for (const auto& [gain, i] : order) {
      sorted.push_back(std::move(choices[i]));
      scores.push_back(estimates[i]);
    }
    choices = std::move(sorted);
    return scores;
  }

  std::optional<size_t> CheapestWithin(const std::vector<Score>& estimates) const {
    if (!request_.budget_bytes) return std::nullopt;
    const bool device = request_.budget_line == BudgetLine::kDevice;
    std::optional<size_t> best;
    for (size_t i = 0; i < estimates.size(); ++i) {
      const int64_t bytes = estimates[i].peak_bytes;
      if ((device ? accountant_.LeastDeviceBytes(bytes) : bytes) > *request_.budget_bytes) continue;
      if (!best || estimates[i].cost < estimates[*best].cost) best = i;
    }
    return best;
  }

  void NoteCut(std::string what) { not_searched_.push_back(std::move(what)); }

  absl::StatusOr<ModulePlan> MeasuredPlan(const Choice& choice, std::string method, std::string label,
                                          const std::optional<Measured>& known = std::nullopt) {
    ModulePlan plan = Described(accountant_.lowered().graph, profile_, choice, std::move(method), std::move(label));
    if (known) {
      plan.measured = *known;
    } else {
      ASSIGN_OR_RETURN(plan.measured, accountant_.Measure(SegmentsOf(profile_, choice)));
    }
    return plan;
  }

  // What was measured on the way is not measured again.
  absl::StatusOr<ModulePlan> MeasuredPlan(const JudgedPlan& judged) {
    if (!judged.measured) return MeasuredPlan(judged.choice, judged.method, LabelOf(profile_, judged.choice));
    ModulePlan plan = AsPlan(judged);
    plan.measured = *judged.measured;
    return plan;
  }

  absl::Status AddPlans(const Front& front) {
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
    RETURN_IF_ERROR(AddConventional(Convention(profile_, &Candidate::is_stage), "all stages", front));
    return AddConventional(Convention(profile_, &Candidate::is_block), "each block", front);
  }

  absl::Status AddConventional(const Choice& choice, std::string label, const Front& front) {
    if (choice.size() < 2) return absl::OkStatus();
    ASSIGN_OR_RETURN(ModulePlan plan, MeasuredPlan(choice, "hand", std::move(label), front.MeasuredOf(choice)));
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
      planned.cost = accountant_.ScoreOf(alone).cost;
      plan.segments.push_back(std::move(planned));
    }
    plans_.push_back(std::move(plan));
    return absl::OkStatus();
  }

  // Plans in which modules also go to the host: for the budget, else for a row of limits.
  absl::Status AddMixed(const Front& front) {
    ASSIGN_OR_RETURN(const CandidateSet places, OfThePlans(FindPlaces(accountant_.lowered())));
    const Profile moves = MovesOf(places, prover_.trace());
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
      const double until = kMixedShare * static_cast<double>(i + 1) / static_cast<double>(limits.size());
      ASSIGN_OR_RETURN(std::optional<ModulePlan> mixed,
                       FindMixed(accountant_, profile_, moves, front, limits[i], cost, request_.host_bytes,
                                 [&] { return effort.Left(until); }));
      if (mixed) plans_.push_back(*std::move(mixed));
    }
    return absl::OkStatus();
  }

  // Plans that are cheaper than the chosen one, and fit but for the caching allocator's fragments: those that fit once
  // its segments can grow, and those that run once it has given back its cache.
  absl::Status AddNearPlans(const Front& front, PlanAnswer& answer) {
    if (!request_.budget_bytes || request_.budget_line != BudgetLine::kDevice) return absl::OkStatus();
    if (accountant_.workload().allocator != "pytorch") return absl::OkStatus();
    int cards = 0;
    for (const JudgedPlan& judged : front.plans(BudgetLine::kLive)) {
      if (answer.chosen && judged.score.cost >= CostOn(request_.cost_line, answer.plans[*answer.chosen].measured))
        break;
      if (accountant_.LeastDeviceBytes(judged.score.peak_bytes) > *request_.budget_bytes) continue;
      const bool card = !answer.on_such_a_card && cards < kMostCards;
      if (answer.with_expandable_segments && !card) continue;
      ASSIGN_OR_RETURN(const Enacted enacted, accountant_.Enact(SegmentsOf(profile_, judged.choice)));
      if (!answer.with_expandable_segments) RETURN_IF_ERROR(TryExpandable(judged, enacted, answer));
      if (!card) continue;
      ++cards;
      RETURN_IF_ERROR(TryCard(judged, enacted, front.MeasuredOf(judged.choice), answer));
    }
    return absl::OkStatus();
  }

  ModulePlan AsPlan(const JudgedPlan& judged) const {
    return Described(accountant_.lowered().graph, profile_, judged.choice, judged.method,
                     LabelOf(profile_, judged.choice));
  }

  // Plans were measured with the request's allocator, but for the one that is offered with another.
  void NameSettings(PlanAnswer& answer) const {
    const Workload& made_for = accountant_.workload();
    const auto name = [&](ModulePlan& plan, std::string_view allocator) {
      plan.settings = SettingsOf(allocator, AllocatorVariable(made_for.platform.Torch()));
      NameSkipped(accountant_.lowered().graph, prover_.trace().calls, plan);
    };
    for (ModulePlan& plan : answer.plans) name(plan, made_for.allocator);
    if (answer.fits_but_fragments) name(*answer.fits_but_fragments, made_for.allocator);
    if (answer.on_such_a_card) name(answer.on_such_a_card->plan, made_for.allocator);
    if (answer.with_expandable_segments) name(*answer.with_expandable_segments, kExpandable);
  }

  bool TooDear(const Measured& measured) const {
    return request_.max_slowdown && measured.slowdown > *request_.max_slowdown;
  }

  absl::Status TryExpandable(const JudgedPlan& judged, const Enacted& enacted, PlanAnswer& answer) {
    ASSIGN_OR_RETURN(const Measured measured, accountant_.MeasureWith(kExpandable, enacted));
    if (measured.device_bytes > *request_.budget_bytes || TooDear(measured)) return absl::OkStatus();
    answer.with_expandable_segments = AsPlan(judged);
    answer.with_expandable_segments->measured = measured;
    return absl::OkStatus();
  }

  // `known`: what was measured of it on a larger card.
  absl::Status TryCard(const JudgedPlan& judged, const Enacted& enacted, const std::optional<Measured>& known,
                       PlanAnswer& answer) {
    ASSIGN_OR_RETURN(const auto run, accountant_.RunWithin(*request_.budget_bytes, enacted));
    const bool note = !answer.chosen && !answer.fits_but_fragments;
    if (!run && !note) return absl::OkStatus();
    ModulePlan plan = AsPlan(judged);
    if (known) {
      plan.measured = *known;
    } else {
      ASSIGN_OR_RETURN(plan.measured, accountant_.MeasureEnacted(enacted));
    }
    if (TooDear(plan.measured)) return absl::OkStatus();
    if (note && accountant_.LeastDeviceBytes(plan.measured.allocated_peak_bytes) <= *request_.budget_bytes) {
      answer.fits_but_fragments = plan;
    }
    if (run) answer.on_such_a_card = PlanAnswer::OnSuchACard{std::move(plan), *run};
    return absl::OkStatus();
  }

  // What was requested is not what the answer means then.
  void NoteGiven(PlanAnswer& answer) const {
    const ModulePlan* chosen = Chosen(answer);
    if (request_.given.empty() || (chosen != nullptr && chosen->method == "given")) return;
    answer.diagnostics.push_back({.code = Code::kPlanOverLimit,
                                  .severity = Severity::kWarning,
                                  .message = chosen == nullptr
                                                 ? "the given plan does not keep the limits"
                                                 : "the given plan does not keep the limits: another one is chosen"});
  }

  void Note(const CandidateSet& candidates) {
    if (!candidates.by_module) {
      notes_.push_back({.code = Code::kNoModules,
                        .message = "the file does not tell modules: segments are runs of nodes between points that one "
                                   "tensor crosses"});
    }
    if (profile_.candidates.empty()) {
      notes_.push_back({.code = Code::kNothingToCheckpoint,
                        .message = "no module of this model frees memory when it is checkpointed"});
    }
    if (!candidates.called_twice.empty()) {
      notes_.push_back({.code = Code::kSharedModule,
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
    answer.context_bytes = accountant_.LeastDeviceBytes(0);
    answer.method_results = std::move(method_results_);
    answer.not_searched = std::move(not_searched_);
    answer.left_negligible = profile_.left_negligible;
    answer.diagnostics = baseline.diagnostics;
    answer.diagnostics.insert(answer.diagnostics.end(), notes_.begin(), notes_.end());
    NoteGiven(answer);
    return answer;
  }

  const PlanRequest& request_;
  Accountant& accountant_;
  const Prover& prover_;
  int64_t done_before_;
  Effort effort_;
  Profile profile_;
  std::vector<ModulePlan> plans_;
  std::vector<Diagnostic> notes_;
  std::vector<PlanAnswer::MethodResult> method_results_;
  std::vector<std::string> not_searched_;
};

}  // namespace

absl::StatusOr<PlanAnswer> PlanOneClass(const PlanRequest& request, Accountant& accountant, const Prover& prover,
                                        std::vector<ModulePlan> others) {
  return ModelPlanner(request, accountant, prover, std::move(others)).Plan();
}

}  // namespace onnx_mem
