#include "planner/answer/stage_plans.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/status_macros.h"
#include "planner/answer/answer_proof.h"
#include "planner/search/curve.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMostPoints = 12;  // of the curve

const ModulePlan& Without(const PlannedRank& rank) {
  return *std::find_if(rank.plans.begin(), rank.plans.end(),
                       [](const ModulePlan& plan) { return plan.segments.empty(); });
}

// A rank's plan is a part of one of the answer with all its segments.
bool IsPartOf(const ModulePlan& part, const ModulePlan& plan) {
  return std::all_of(part.segments.begin(), part.segments.end(), [&](const PlannedSegment& segment) {
    return std::any_of(plan.segments.begin(), plan.segments.end(),
                       [&](const PlannedSegment& other) { return other.segment == segment.segment; });
  });
}

constexpr size_t kMostCounts = 8;  // that a label lists

// `labels`: of the ranks that have segments; `counts`: of segments, by rank; `one`: what a rank has, where it is one.
std::string LabelOf(const ModulePlan& plan, const std::vector<std::string>& labels, const std::vector<size_t>& counts,
                    std::string_view one) {
  if (plan.method == "given") return "the given plan";
  if (labels.empty()) return "none";
  if (labels.size() == 1) return labels.front();
  if (counts.size() <= kMostCounts) return absl::StrCat(absl::StrJoin(counts, ", "), " segments by ", std::string(one));
  return absl::StrCat(plan.segments.size(), " segments in ", labels.size(), " ", std::string(one), "s");
}

}  // namespace

absl::Status StagePlans::AddRank(PlannedRank rank, const std::vector<std::string>& across, int64_t ranks) {
  PlanRequest search = request_;
  search.split = across;
  search.max_slowdown.reset();
  search.for_finer = true;
  search.time_limit_s /= static_cast<double>(ranks) * static_cast<double>(rank.stages.size());
  for (PlannedStage& stage : rank.stages) {
    search.given = stage.given;
    ASSIGN_OR_RETURN(PlanAnswer found, plan_one_card_(search, stage.accountant));
    stage.plans = std::move(found.plans);
    left_negligible_ = left_negligible_ || found.left_negligible;
  }
  ASSIGN_OR_RETURN(rank.plans, TogetherOnRank(rank.stages, request_, rank.enact));
  ranks_.push_back(std::move(rank));
  return absl::OkStatus();
}

PlanAnswer StagePlans::Answer() const {
  PlanAnswer answer;
  answer.plans = MakeCurve(Plans(), request_.budget_line, request_.cost_line);
  for (const ModulePlan& plan : answer.plans) {
    if (plan.segments.empty()) answer.baseline = plan.measured;
  }
  answer.chosen = Choose(answer.plans, request_);
  answer.left_negligible = left_negligible_;
  for (const PlannedRank& rank : ranks_) {
    answer.context_bytes = std::max(answer.context_bytes, rank.accountant().LeastDeviceBytes(0));
  }
  int64_t least_bytes = 0;
  for (const PlannedRank& rank : ranks_) {
    least_bytes = std::max(least_bytes, OptimizerBound(rank.accountant(), request_.budget_line));
  }
  SettleByOptimizer(request_, least_bytes, answer);
  const ModulePlan* const chosen = Chosen(answer);
  if (!request_.given.empty() && (chosen == nullptr || chosen->method != "given")) {
    answer.diagnostics.push_back(PlanOverLimitNote(chosen != nullptr));
  }
  return answer;
}

std::vector<StageNeed> StagePlans::NeedsWith(const ModulePlan* plan) const {
  std::vector<StageNeed> needs;
  for (const PlannedRank& rank : ranks_) {
    const ModulePlan& none = Without(rank);
    StageNeed need{rank.rank, rank.module, 0, none.measured, none.measured};
    for (const ModulePlan& own : rank.plans) {
      if (plan == nullptr || !IsPartOf(own, *plan) || std::ssize(own.segments) <= need.segments) continue;
      need.segments = std::ssize(own.segments);
      need.with = own.measured;
    }
    needs.push_back(std::move(need));
  }
  return needs;
}

int64_t StagePlans::BytesOfPlan(const ModulePlan& plan) const { return BytesOn(request_.budget_line, plan.measured); }

int64_t StagePlans::CostOfPlan(const ModulePlan& plan) const { return CostOn(request_.cost_line, plan.measured); }

std::vector<ModulePlan> StagePlans::Plans() const {
  std::vector<ModulePlan> plans;
  Picks none;
  for (const PlannedRank& rank : ranks_) none.push_back(&Without(rank));
  plans.push_back(Together(none, "none"));
  if (!request_.given.empty()) plans.push_back(Together(Given(), "given"));
  for (const int64_t level : Levels()) {
    const Picks picks = Within(level);
    if (!picks.empty() && picks != none) plans.push_back(Together(picks, "dag"));
  }
  return plans;
}

StagePlans::Picks StagePlans::Given() const {
  Picks picks;
  for (const PlannedRank& rank : ranks_) {
    const auto own = std::find_if(rank.plans.begin(), rank.plans.end(),
                                  [](const ModulePlan& plan) { return plan.method == "given"; });
    picks.push_back(own != rank.plans.end() ? &*own : &Without(rank));
  }
  return picks;
}

std::vector<int64_t> StagePlans::Levels() const {
  int64_t most = 0, least = 0;
  std::vector<int64_t> all;
  for (const PlannedRank& rank : ranks_) {
    most = std::max(most, BytesOfPlan(Without(rank)));
    least = std::max(least, BytesOfPlan(LeastOf(rank.plans)));
    for (const ModulePlan& plan : rank.plans) all.push_back(BytesOfPlan(plan));
  }
  std::erase_if(all, [&](int64_t level) { return level < least || level >= most; });
  std::sort(all.begin(), all.end());
  std::vector<int64_t> levels;
  if (request_.budget_bytes) levels.push_back(*request_.budget_bytes);
  const int64_t grain = (most - least) / kMostPoints;
  for (int64_t shown = -1; const int64_t level : all) {
    if (shown >= 0 && level - shown < grain) continue;
    levels.push_back(shown = level);
  }
  return levels;
}

StagePlans::Picks StagePlans::Within(int64_t level) const {
  Picks picks;
  for (const PlannedRank& rank : ranks_) {
    const ModulePlan* best = nullptr;
    for (const ModulePlan& plan : rank.plans) {
      if (plan.method == "given" || BytesOfPlan(plan) > level) continue;
      if (best != nullptr && CostOfPlan(plan) >= CostOfPlan(*best)) continue;
      best = &plan;
    }
    if (best == nullptr) return {};
    picks.push_back(best);
  }
  return picks;
}

ModulePlan StagePlans::Together(const Picks& picks, std::string method) const {
  ModulePlan plan;
  plan.method = std::move(method);
  std::vector<std::string> labels;
  std::vector<size_t> counts;
  for (size_t i = 0; i < picks.size(); ++i) {
    const ModulePlan& own = *picks[i];
    plan.segments.insert(plan.segments.end(), own.segments.begin(), own.segments.end());
    counts.push_back(own.segments.size());
    const bool alone = ranks_[i].stages.size() == 1;
    if (!own.segments.empty()) {
      labels.push_back(absl::StrCat(alone ? "stage " : "rank ", ranks_[i].rank, ": ", own.label));
    }
    if (!own.settings.empty()) plan.settings = own.settings;
  }
  plan.label = LabelOf(plan, labels, counts, ranks_.front().stages.size() == 1 ? "stage" : "rank");
  plan.measured = MeasuredOf(picks);
  return plan;
}

Measured StagePlans::MeasuredOf(const Picks& picks) const {
  const auto worst = std::max_element(picks.begin(), picks.end(), [](const ModulePlan* a, const ModulePlan* b) {
    return a->measured.peak_bytes < b->measured.peak_bytes;
  });
  Measured all;
  static_cast<PeakFigures&>(all) = (*worst)->measured;
  double flops = 0, ns = 0, added_ns = 0, wall_ns = 0, added_wall_ns = 0;
  for (size_t i = 0; i < picks.size(); ++i) {
    const Measured& own = picks[i]->measured;
    all.recompute_flops += own.recompute_flops;
    all.recompute_ns += own.recompute_ns;
    all.offload_ns += own.offload_ns;
    all.host_bytes = std::max(all.host_bytes, own.host_bytes);
    flops += ranks_[i].accountant().StepFlops();
    const auto step_ns = static_cast<double>(ranks_[i].accountant().step_ns());
    const auto own_wall = static_cast<double>(std::max(own.cpu_ns, own.gpu_ns));
    ns += step_ns;
    added_ns += own.time_slowdown * step_ns;
    all.cpu_ns += own.cpu_ns;
    all.gpu_ns += own.gpu_ns;
    wall_ns += own_wall;
    added_wall_ns += own_wall - own_wall / (1 + own.wall_slowdown);
  }
  all.flops_slowdown = flops > 0 ? static_cast<double>(all.recompute_flops) / flops : 0;
  all.time_slowdown = ns > 0 ? added_ns / ns : 0;
  all.wall_slowdown = wall_ns > added_wall_ns ? added_wall_ns / (wall_ns - added_wall_ns) : 0;
  all.slowdown = request_.cost_line == CostLine::kTime ? all.time_slowdown : all.flops_slowdown;
  return all;
}

}  // namespace onnx_mem
