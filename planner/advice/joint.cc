#include "planner/advice/joint.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/order/stable_sort.h"
#include "analyzer/run/work.h"
#include "planner/advice/segment_flags.h"
#include "planner/measure/plan.h"

namespace onnx_mem {
namespace {

constexpr int kMostPlans = 3;        // searches for plans, of each base: at the largest micro-batches
constexpr int64_t kHopeless = 8;     // no plan is looked for where the run takes so many times what there is
constexpr size_t kPlansOfCurve = 3;  // of one search
constexpr size_t kMostRuns = 6;      // of a frontier

struct Base {
  Proposal change;
  bool same_numbers = true;
};

// Of the flag that both have, the later one counts.
Proposal Joined(const Proposal& first, Proposal second) {
  second.flags.insert(second.flags.begin(), first.flags.begin(), first.flags.end());
  if (!first.change.empty()) second.change = absl::StrCat(first.change, ", ", second.change);
  if (!first.cost.empty()) second.cost = absl::StrCat(first.cost, second.cost.empty() ? "" : "; ", second.cost);
  second.price = std::max(first.price, second.price);
  return second;
}

Proposal WithPlan(const Proposal& change, const ModulePlan& plan) {
  Proposal with{"", {}, "", Price::kTime, change.workload};
  AddSegments(plan, with);
  const auto away =
      static_cast<size_t>(std::count_if(plan.segments.begin(), plan.segments.end(),
                                        [](const PlannedSegment& planned) { return planned.segment.moves_all(); }));
  const auto gates =
      static_cast<size_t>(std::count_if(plan.segments.begin(), plan.segments.end(), [](const PlannedSegment& planned) {
        return planned.segment.offload == Offload::kGate;
      }));
  const size_t again = plan.segments.size() - away, moved = away - gates;
  const auto counted = [](size_t count, std::string_view what) {
    return absl::StrCat(count, " ", std::string(what), count == 1 ? "" : "s");
  };
  if (again > 0) with.change = absl::StrCat("checkpoint ", counted(again, "segment"));
  if (moved > 0) absl::StrAppend(&with.change, again > 0 ? ", " : "", counted(moved, "module"), " to the host");
  return Joined(change, std::move(with));
}

class Joint {
 public:
  Joint(Study& study, const Workload& workload, const JointRequest& request)
      : study_(study), workload_(workload), request_(request) {}

  std::vector<JointRun> Run() {
    for (const Base& base : Bases()) TryBase(base);
    std::vector<JointRun> chosen = Frontier([](const JointRun& run) { return run.same_numbers; });
    for (JointRun& run : Frontier([](const JointRun&) { return true; })) {
      if (!run.same_numbers) chosen.push_back(std::move(run));
    }
    return chosen;
  }

 private:
  // What `propose` has for the run with `change`; nothing where the model cannot do that.
  std::vector<Proposal> Of(const Proposal& change, std::vector<Proposal> (*propose)(const Situation&)) {
    absl::StatusOr<Situation> situation = SituationOf(study_, change.workload);
    if (!situation.ok()) return {};
    situation->card = request_.card;
    situation->budget_bytes = request_.limit_bytes;
    return propose(*situation);
  }

  std::vector<Base> Bases() {
    std::vector<Base> bases = {{Proposal{"", {}, "", Price::kNothing, workload_}}};
    const Proposal given = bases.back().change;
    for (const Proposal& change : Of(given, ProposeFusedOptimizer)) bases.push_back({Joined(given, change)});
    const Proposal same = bases.back().change;
    for (const Proposal& change : Of(same, ProposeAutocast)) bases.push_back({Joined(same, change), false});
    for (const Proposal& half : Of(given, ProposeAutocast)) {
      const Proposal fast = Joined(given, half);
      const std::vector<Proposal> smaller = Of(fast, ProposeSmallerState);
      if (!smaller.empty()) bases.push_back({Joined(fast, smaller.front()), false});
    }
    return bases;
  }

  // As many samples per step, in fewer and fewer at a time, until it fits as it is; then once more.
  void TryBase(const Base& base) {
    std::vector<Proposal> divided = {base.change};
    for (const Proposal& change : Of(base.change, ProposeAccumulation)) divided.push_back(Joined(base.change, change));
    int plans = 0;
    bool fitted = false;
    for (const Proposal& change : divided) {
      if (!work::HasLeft(work::kAdviceShare)) break;
      absl::StatusOr<JointRun> run = Measure(change, base.same_numbers);
      if (!run.ok()) continue;  // the model cannot do it
      const int64_t bytes = run->device_bytes;
      if (bytes <= request_.limit_bytes) {
        runs_.push_back(*std::move(run));
        if (std::exchange(fitted, true)) break;
      } else if (plans < kMostPlans && bytes / kHopeless <= request_.limit_bytes) {
        ++plans;
        TryPlans(change, base.same_numbers);
      }
    }
  }

  void TryPlans(const Proposal& change, bool same_numbers) {
    const struct Run& run = change.workload.run;
    if (!run.segments.empty() || !run.checkpointed.empty()) return;
    PlanRequest request;
    request.budget_bytes = request_.limit_bytes;
    request.clock.card = request_.rates;
    request.clock.micro_steps = run.accumulate;
    request.iteration_limit = request_.plan_iterations;
    request.offload = request_.rates.link_bandwidth > 0;
    request.plans_alone = true;
    const absl::StatusOr<PlanAnswer> answer = PlanModel(study_, change.workload, request);
    if (!answer.ok() || !answer->chosen) return;
    std::vector<size_t> fitting;
    for (size_t i = *answer->chosen; i < answer->plans.size(); ++i) {  // by falling bytes
      const ModulePlan& plan = answer->plans[i];
      if (!plan.dominated && IsForFlags(plan)) fitting.push_back(i);
    }
    const size_t count = std::min(kPlansOfCurve, fitting.size());
    for (size_t i = 0; i < count; ++i) {
      const size_t at = fitting[count == 1 ? 0 : i * (fitting.size() - 1) / (count - 1)];
      absl::StatusOr<JointRun> with = Measure(WithPlan(change, answer->plans[at]), same_numbers);
      if (with.ok() && with->device_bytes <= request_.limit_bytes) runs_.push_back(*std::move(with));
    }
  }

  absl::StatusOr<JointRun> Measure(Proposal change, bool same_numbers) {
    const Workload& workload = change.workload;
    ASSIGN_OR_RETURN(const Shared<Enacted> enacted, study_.Enact(workload));
    ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study_.Import(workload.bindings));
    ASSIGN_OR_RETURN(const Shared<RunFigures> figures, study_.Figures(workload));
    const int64_t micro = workload.bindings.batch.value_or(model->info.file_batch);
    const int64_t samples = std::max<int64_t>(1, micro) * workload.run.accumulate;
    const TimeEstimate time = EstimateTime(*figures->program, request_.rates, {}, workload.run.accumulate);
    const bool fewer = enacted->batch_statistics && workload.run.accumulate != workload_.run.accumulate;
    JointRun run{.change = std::move(change), .device_bytes = figures->device_bytes, .peak_bytes = figures->peak_bytes};
    run.ns_per_sample = time.step_ns / samples;
    run.same_numbers = same_numbers;
    if (fewer) run.batch_norm_sees = micro;
    return run;
  }

  // Of the runs that `counts` takes: those that no other one beats in both, the fastest first; of many, evenly.
  template <class Counts>
  std::vector<JointRun> Frontier(const Counts& counts) const {
    std::vector<JointRun> runs;
    std::copy_if(runs_.begin(), runs_.end(), std::back_inserter(runs), counts);
    StableSort(runs, [](const JointRun& a, const JointRun& b) {
      return std::pair(a.ns_per_sample, a.device_bytes) < std::pair(b.ns_per_sample, b.device_bytes);
    });
    std::vector<JointRun> frontier;
    for (JointRun& run : runs) {
      if (frontier.empty() || run.device_bytes < frontier.back().device_bytes) frontier.push_back(std::move(run));
    }
    if (frontier.size() <= kMostRuns) return frontier;
    std::vector<JointRun> some;
    for (size_t i = 0; i < kMostRuns; ++i) some.push_back(frontier[i * (frontier.size() - 1) / (kMostRuns - 1)]);
    return some;
  }

  Study& study_;
  const Workload& workload_;
  const JointRequest& request_;
  std::vector<JointRun> runs_;
};

}  // namespace

std::vector<JointRun> ChooseJointly(Study& study, const Workload& workload, const JointRequest& request) {
  return Joint(study, workload, request).Run();
}

}  // namespace onnx_mem
