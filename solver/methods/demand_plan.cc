#include "solver/methods/demand_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "solver/bound/cut_graph.h"
#include "solver/bound/cut_value.h"
#include "solver/edit/run_thinning.h"
#include "solver/problem/first_runs.h"

namespace onnx_mem {
namespace {

constexpr int kCutsRequested = 128;
constexpr int64_t kMoreStatesHere = 16;  // times as many, where the first search finds nothing
constexpr int kMoreStatesFromNothing = 256;

class DemandExecution {
 public:
  DemandExecution(const StageProblem& problem, int64_t budget, const DemandTaste& taste, const ProvisionLimits& limits,
                  ProvisionsFromNothing& from_nothing)
      : problem_(problem),
        budget_(budget),
        taste_(taste),
        limits_(limits),
        from_nothing_(from_nothing),
        provisioner_(problem),
        words_(provisioner_.words()),
        resident_(words_, 0),
        uses_(problem.items.size()),
        random_(taste.seed),
        first_runs_(problem),
        preferred_(problem.items.size(), 1.0) {
    for (int t = 0; t < problem.anchor_count(); ++t) {
      for (int need : problem.anchors[t].needs) {
        for (int item : problem.requirements[need].alternatives) uses_[item].push_back(t);
      }
    }
    for (size_t i = 0; i < problem.items.size(); ++i) {
      const double draw = static_cast<double>(random_() % 2001) / 1000.0 - 1.0;
      liking_.push_back(std::exp(taste.noise * draw));
    }
  }

  OpSequence Run() {
    for (now_ = 0; now_ < problem_.anchor_count(); ++now_) {
      if (!Serve() || limits_.stop()) return {};
    }
    return std::move(runs_);
  }

 private:
  bool Serve() {
    const StageAnchor& anchor = problem_.anchors[now_];
    Forget();
    std::vector<Word> needed;
    if (!Chosen(anchor.needs, needed)) {
      ProvisionQuestion question{now_, anchor.needs, resident_, Held(), budget_ - anchor.gap_bytes, 0, false};
      question.last_bytes = anchor.fixed_bytes - anchor.gap_bytes;
      for (int item : anchor.outputs) question.last_bytes += problem_.items[item].bytes;
      const Provision provision = Provide(question);
      if (provision.outcome != Provision::Outcome::kFound) return false;
      for (size_t i = 0; i < provision.ops.size(); ++i) {
        const StageOp& op = problem_.ops[provision.ops[i]];
        const auto is_there = [&](int item) { return TestBit(resident_.data(), item); };
        if (std::all_of(op.outputs.begin(), op.outputs.end(), is_there)) continue;
        if (!Perform(op.id, op.outputs, provision.required[i], anchor.gap_bytes + op.work_bytes)) return false;
      }
      needed = provision.required.back();
    }
    return Perform(anchor.id, anchor.outputs, needed, anchor.fixed_bytes);
  }

  // From what is there; where that takes long, as if all of it had gone that may, which has to be found once only.
  Provision Provide(const ProvisionQuestion& question) {
    ProvisionLimits limits = limits_;
    Provision provision = provisioner_.Find(question, limits);
    const auto open = [&] { return provision.outcome == Provision::Outcome::kUnknown && !limits_.stop(); };
    if (!open()) return provision;
    provision = ProvideFromNothing(question);
    limits.state_limit *= kMoreStatesHere;
    return open() ? provisioner_.Find(question, limits) : provision;
  }

  Provision ProvideFromNothing(ProvisionQuestion question) {
    question.resident = question.held;
    const bool from_nothing = std::all_of(question.held.begin(), question.held.end(), [](Word w) { return w == 0; });
    Provision unshared;
    Provision& known = from_nothing ? from_nothing_[now_] : unshared;
    ProvisionLimits limits = limits_;
    for (int more = 1; more <= kMoreStatesFromNothing && known.outcome == Provision::Outcome::kUnknown; more *= 4) {
      limits.state_limit = more * limits_.state_limit;
      if (known.states >= limits.state_limit) continue;  // tried for an earlier plan
      known = provisioner_.Find(question, limits);
      if (limits_.stop()) break;
    }
    return known;
  }

  // Of every need, an alternative that is there.
  bool Chosen(const std::vector<int>& needs, std::vector<Word>& row) const {
    row.assign(words_, 0);
    for (int need : needs) {
      const auto& alternatives = problem_.requirements[need].alternatives;
      const auto it = std::find_if(alternatives.begin(), alternatives.end(),
                                   [&](int item) { return TestBit(resident_.data(), item); });
      if (it == alternatives.end()) return false;
      SetBit(row.data(), *it);
    }
    return true;
  }

  // What nothing makes again.
  std::vector<Word> Held() const {
    std::vector<Word> held(words_, 0);
    ForEachBit(resident_.data(), words_, [&](int item) {
      if (problem_.items[item].producers.empty()) SetBit(held.data(), item);
    });
    return held;
  }

  void Forget() {
    for (int item = 0; item < problem_.item_count(); ++item) {
      if (problem_.items[item].useful_until < now_) ClearBit(resident_.data(), item);
    }
  }

  // Says whether it fits.
  bool Perform(StepOpId id, const std::vector<int>& outputs, const std::vector<Word>& needed, int64_t own_bytes) {
    std::vector<Word> stays(needed);
    for (int item : outputs) {
      SetBit(stays.data(), item);
      SetBit(resident_.data(), item);
    }
    runs_.push_back(id);
    return MakeRoom(stays, budget_ - own_bytes);
  }

  int64_t BytesOf(const std::vector<Word>& row) const {
    int64_t bytes = 0;
    ForEachBit(row.data(), words_, [&](int item) { bytes += problem_.items[item].bytes; });
    return bytes;
  }

  // What is best kept at this instant, as far as the bound sees.
  void AskTheCut() {
    if (requested_at_ >= 0 && now_ < requested_at_ + problem_.anchor_count() / kCutsRequested) return;
    requested_at_ = now_;
    CutGraph graph(problem_, first_runs_, budget_, now_, problem_.anchor_count() - 1);
    CutLimits limits;
    limits.stop = limits_.stop;
    const CutValue value = SolveCut(graph, problem_.cost_unit, limits);
    std::fill(preferred_.begin(), preferred_.end(), 1.0);
    for (int requirement : value.kept) {
      for (int item : problem_.requirements[requirement].alternatives) preferred_[item] = taste_.cut_weight;
    }
  }

  double WorthOf(int item) {
    const StageItem& described = problem_.items[item];
    const auto next = std::lower_bound(uses_[item].begin(), uses_[item].end(), now_);
    const double distance = next == uses_[item].end() ? 2.0 * problem_.anchor_count() : *next - now_ + 1;
    const double cost = static_cast<double>(provisioner_.CostToMake(item, now_, resident_.data()));
    return std::pow(cost, taste_.cost_power) * liking_[item] * preferred_[item] /
           (static_cast<double>(described.bytes + 1) * std::pow(distance, taste_.distance_power));
  }

  bool MakeRoom(const std::vector<Word>& stays, int64_t room) {
    int64_t bytes = BytesOf(resident_);
    if (bytes <= room) return true;
    AskTheCut();
    using Entry = std::pair<double, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> order;
    ForEachBit(resident_.data(), words_, [&](int item) {
      if (TestBit(stays.data(), item) || problem_.items[item].producers.empty()) return;
      if (problem_.items[item].bytes > 0) order.emplace(WorthOf(item), item);
    });
    while (!order.empty() && bytes > room) {
      const auto [worth, item] = order.top();
      order.pop();
      const double now = WorthOf(item);  // what it could be made from may have gone
      if (now > worth && !order.empty() && now > order.top().first) {
        order.emplace(now, item);
        continue;
      }
      ClearBit(resident_.data(), item);
      bytes -= problem_.items[item].bytes;
    }
    return bytes <= room;
  }

  const StageProblem& problem_;
  const int64_t budget_;
  const DemandTaste taste_;
  const ProvisionLimits& limits_;
  ProvisionsFromNothing& from_nothing_;
  Provisioner provisioner_;
  const int words_;
  std::vector<Word> resident_;
  std::vector<std::vector<int>> uses_;  // by item: anchors
  std::vector<double> liking_;
  std::mt19937 random_;
  const FirstRuns first_runs_;
  std::vector<double> preferred_;  // by item
  int requested_at_ = -1;
  OpSequence runs_;
  int now_ = 0;
};

constexpr int kFewestTries = 12;
constexpr double kShareWithoutPlan = 0.7;
constexpr double kShareWithPlan = 0.2;
constexpr int64_t kRequestedWithoutDeadline = 12'000;  // about 16 states each
constexpr int64_t kFewStates = 2000;
constexpr double kShareOfProof = 0.1;
constexpr int64_t kProofStates = 50'000;
constexpr size_t kProvenOperators = 16;
constexpr int kMostOperators = 3000;  // beyond, one pass takes longer than there is

// Tastes that differ much come first, then the best of them with more and more noise.
DemandTaste TasteOf(int attempt) {
  DemandTaste taste;
  taste.distance_power = attempt % 3 == 0 ? 0.0 : attempt % 3 == 1 ? 0.5 : 1.0;
  taste.cut_weight = attempt / 3 % 3 == 0 ? 10 : attempt / 3 % 3 == 1 ? 1 : 1000;
  taste.noise = attempt < 9 ? 0 : 0.3;
  taste.seed = static_cast<uint32_t>(attempt) + 1;
  return taste;
}

// The operators that need most, whether they can be brought to run at all.
void ProveThatNothingFits(const PlanningTask& task, Incumbent& incumbent) {
  const SolveLimits time = task.limits.Share(kShareOfProof);
  ProvisionLimits limits;
  limits.state_limit = kProofStates;
  limits.stop = [&] { return time.TimeIsUp(); };
  std::vector<std::pair<int64_t, int>> fullest;
  for (int t = 0; t < task.problem.anchor_count(); ++t) {
    fullest.emplace_back(-LeastBytes(task.problem, task.problem.anchors[t]), t);
  }
  std::sort(fullest.begin(), fullest.end());
  Provisioner provisioner(task.problem);
  for (size_t i = 0; i < std::min(fullest.size(), kProvenOperators) && !limits.stop(); ++i) {
    const int t = fullest[i].second;
    if (!provisioner.CannotRun(t, task.budget_bytes, limits)) continue;
    return incumbent.ProveInfeasible(absl::StrCat("what operator '", task.graph.ops[task.problem.anchors[t].id].name,
                                                  "' reads cannot be brought together, in whatever order it is made"));
  }
}

}  // namespace

void PlanOnDemand(const PlanningTask& task, Incumbent& incumbent) {
  if (incumbent.feasible() || task.problem.anchor_count() > kMostOperators) return;
  ProveThatNothingFits(task, incumbent);
  if (incumbent.infeasible()) return;
  const SolveLimits until_found = task.limits.Share(kShareWithoutPlan);
  const SolveLimits until_good = task.limits.Share(kShareWithPlan);
  int64_t calls = 0;
  ProvisionLimits limits;
  limits.state_limit = kFewStates;
  limits.stop = [&] {
    if (!task.limits.deadline) return ++calls > kRequestedWithoutDeadline;
    return (incumbent.feasible() ? until_good : until_found).TimeIsUp();
  };
  ProvisionsFromNothing from_nothing;
  for (int attempt = 0; attempt < kFewestTries || task.limits.deadline; ++attempt) {
    if (limits.stop() || !task.limits.Allows(attempt)) return;
    const OpSequence found = RunOnDemand(task.problem, task.budget_bytes, TasteOf(attempt), limits, from_nothing);
    if (found.empty()) continue;
    const std::optional<Schedule> schedule = ScheduleOf(task.graph, found);
    if (!schedule) continue;
    OpSequence runs;
    for (const ScheduleStep& step : *schedule) {
      if (step.kind == ScheduleStep::Kind::kCompute) runs.push_back(step.op());
    }
    incumbent.Offer(ThinOut(task.problem, runs, task.budget_bytes, limits.stop), "demand");
  }
}

OpSequence RunOnDemand(const StageProblem& problem, int64_t budget_bytes, const DemandTaste& taste,
                       const ProvisionLimits& limits, ProvisionsFromNothing& from_nothing) {
  return DemandExecution(problem, budget_bytes, taste, limits, from_nothing).Run();
}

}  // namespace onnx_mem
