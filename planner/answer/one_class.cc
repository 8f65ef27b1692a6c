#include "planner/answer/one_class.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis/segments.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/parallel/unit_borders.h"
#include "planner/answer/answer_proof.h"
#include "planner/answer/curve_plans.h"
#include "planner/answer/near_plans.h"
#include "planner/calls/call_class.h"
#include "planner/calls/skipped_calls.h"
#include "planner/code/describe.h"
#include "planner/measure/accountant.h"
#include "planner/measure/candidates.h"
#include "planner/measure/effort.h"
#include "planner/measure/moves.h"
#include "planner/measure/profile.h"
#include "planner/search/curve.h"
#include "planner/search/exact.h"
#include "planner/search/front.h"
#include "planner/search/proof.h"
#include "planner/search/tries.h"

namespace onnx_mem {
namespace {

class ModelPlanner {
 public:
  // As PlanOneClass; all outlive this.
  ModelPlanner(const PlanRequest& request, Accountant& accountant, Prover& prover, const OtherPlans& others,
               const Front* finer)
      : request_(request),
        accountant_(accountant),
        prover_(prover),
        done_before_(accountant.work() - 1),  // the step without a plan counts each time
        effort_(request_, accountant_, done_before_),
        others_(others),
        finer_(finer) {}

  absl::StatusOr<PlanAnswer> Plan() {
    ASSIGN_OR_RETURN(const CandidateSet candidates, Candidates());
    std::optional<CallClass> calls;
    if (request_.granularity == Granularity::kCall) {
      ASSIGN_OR_RETURN(calls, Calls(candidates));
      if (!calls) return WithoutCalls();
      profile_ = calls->profile;
    } else {
      ASSIGN_OR_RETURN(profile_,
                       MakeProfile(accountant_, candidates, [&] { return effort_.Left(0.4); }, request_.negligible));
    }
    if (profile_.added_up > 0) {
      not_searched_.push_back(absl::StrCat("what ", profile_.added_up, " of ", candidates.list.size(),
                                           " candidates free, measured one by one"));
    }
    Exact exact =
        calls ? Exact(profile_, std::move(calls->limits), std::move(calls->proven)) : Exact(prover_, profile_);
    Front front(accountant_, profile_, request_.budget_line);
    if (finer_ != nullptr && exact.has_bound())
      front.SkipBeatenBy(*finer_, [&](const Choice& choice) { return exact.LeastOf(choice); });
    RETURN_IF_ERROR(front.Try({}, "none"));
    Tries tries(request_, accountant_, prover_, profile_, done_before_, effort_);
    RETURN_IF_ERROR(calls ? tries.TryCalls(exact, front) : tries.TryProposals(exact, front));
    ASSIGN_OR_RETURN(plans_, others_(front));
    RETURN_IF_ERROR(AddPlans(front));
    Note(candidates);
    PlanAnswer answer = Answer(tries);
    if (request_.plans_alone || request_.for_finer) {
      NameSettings(answer);
      answer.status = answer.chosen ? PlanStatus::kFeasible : PlanStatus::kNotFound;
      return answer;
    }
    RETURN_IF_ERROR(Prove(exact, answer));
    RETURN_IF_ERROR(AddNearPlans(request_, accountant_, profile_, front, answer));
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

  // Without those that overlap what the user's code checkpoints already, cross units of FSDP, or end where a module is
  // split.
  absl::StatusOr<CandidateSet> OfThePlans(CandidateSet set) const {
    ASSIGN_OR_RETURN(const std::vector<eager::NodeRange> ranges,
                     SegmentRanges(accountant_.lowered().graph, accountant_.workload().run));
    std::vector<NodeSpan> own(ranges.begin(), ranges.end());
    for (const CheckpointCall& call : accountant_.lowered().checkpointed) own.push_back(call.span);
    std::erase_if(set.list, [&](const Candidate& c) {
      return !KeepsUnits(c.segment, request_.units) || !KeepsHooks(c.segment, request_.split) ||
             std::any_of(own.begin(), own.end(),
                         [&](const NodeSpan& span) { return span.first <= c.last && c.first <= span.last; });
    });
    return set;
  }

  absl::StatusOr<std::optional<CallClass>> Calls(const CandidateSet& modules) {
    if (!modules.by_module) return std::optional<CallClass>();
    ASSIGN_OR_RETURN(CandidateSet ranges, OfThePlans({.list = RangesOfClass(accountant_.lowered(), modules)}));
    const auto limits_of = [&](const std::vector<Candidate>& list) { return prover_.LimitSegments(list); };
    if (request_.offload) ranges_.emplace(CallRanges{prover_.trace(), limits_of, ranges.list});
    return FindCallClass(accountant_, prover_.trace(), limits_of, std::move(ranges.list), request_.cost_line);
  }

  // Plans of whole modules answer where there is no class of plans per call.
  absl::StatusOr<PlanAnswer> WithoutCalls() {
    PlanRequest coarser = request_;
    coarser.granularity = Granularity::kModule;
    return ModelPlanner(coarser, accountant_, prover_, others_, finer_).Plan();
  }

  absl::Status AddPlans(const Front& front) {
    CurvePlans plans(request_, accountant_, profile_, std::move(plans_));
    RETURN_IF_ERROR(plans.Add(front));
    if (!request_.given.empty()) RETURN_IF_ERROR(plans.AddGiven());
    if (request_.offload) {
      ASSIGN_OR_RETURN(const CandidateSet places, OfThePlans(FindPlaces(accountant_.lowered())));
      RETURN_IF_ERROR(plans.AddMixed(front, MovesOf(places, prover_.trace()), ranges_ ? &*ranges_ : nullptr));
    }
    plans_ = plans.Take();
    return absl::OkStatus();
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

  // What was requested is not what the answer means then.
  void NoteGiven(PlanAnswer& answer) const {
    const ModulePlan* chosen = Chosen(answer);
    if (request_.given.empty() || (chosen != nullptr && chosen->method == "given")) return;
    answer.diagnostics.push_back(PlanOverLimitNote(chosen != nullptr));
  }

  void Note(const CandidateSet& candidates) {
    if (!candidates.by_module) {
      notes_.push_back({.code = Code::kNoModules,
                        .message = "the file does not tell modules: segments are runs of nodes between points that one "
                                   "tensor crosses"});
    }
    if (profile_.candidates.empty()) {
      notes_.push_back({.code = Code::kNothingToCheckpoint,
                        .message = absl::StrCat("no ", accountant_.lowered().checkpointed.empty() ? "" : "other ",
                                                "module of this model frees memory when it is checkpointed")});
    }
    if (!candidates.called_twice.empty()) {
      notes_.push_back({.code = Code::kSharedModule,
                        .count = static_cast<int64_t>(candidates.called_twice.size()),
                        .message = absl::StrCat("called more than once, so left out: ",
                                                absl::StrJoin(candidates.called_twice, ", "))});
    }
  }

  PlanAnswer Answer(Tries& tries) {
    PlanAnswer answer;
    const Enacted& baseline = accountant_.baseline();
    answer.baseline_forward_flops = baseline.forward_flops;
    answer.baseline_backward_flops = baseline.backward_flops;
    answer.plans = MakeCurve(std::move(plans_), request_.budget_line, request_.cost_line);
    for (const ModulePlan& plan : answer.plans) {
      if (plan.segments.empty()) answer.baseline = plan.measured;
    }
    answer.chosen = Choose(answer.plans, request_);
    if (!request_.for_finer) TellApart(answer.plans);
    answer.context_bytes = accountant_.LeastDeviceBytes(0);
    answer.method_results = tries.TakeResults();
    answer.not_searched = std::move(not_searched_);
    for (std::string& what : tries.TakeNotSearched()) answer.not_searched.push_back(std::move(what));
    answer.left_negligible = profile_.left_negligible;
    answer.diagnostics = baseline.diagnostics;
    answer.diagnostics.insert(answer.diagnostics.end(), notes_.begin(), notes_.end());
    NoteGiven(answer);
    return answer;
  }

  const PlanRequest& request_;
  Accountant& accountant_;
  Prover& prover_;
  int64_t done_before_;
  Effort effort_;
  const OtherPlans& others_;
  const Front* finer_;
  Profile profile_;
  std::optional<CallRanges> ranges_;  // of a class of plans per call, where tensors may move
  std::vector<ModulePlan> plans_;
  std::vector<Diagnostic> notes_;
  std::vector<std::string> not_searched_;
};

}  // namespace

absl::StatusOr<PlanAnswer> PlanOneClass(const PlanRequest& request, Accountant& accountant, Prover& prover,
                                        const OtherPlans& others, const Front* finer) {
  return ModelPlanner(request, accountant, prover, others, finer).Plan();
}

}  // namespace onnx_mem
