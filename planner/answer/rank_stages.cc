#include "planner/answer/rank_stages.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "planner/search/curve.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostOfEach = 6;  // plans that are put together with those of another stage

void NameStage(int64_t stage, std::vector<ModulePlan>& plans) {
  for (ModulePlan& plan : plans) {
    for (PlannedSegment& segment : plan.segments) segment.stage = stage;
  }
}

// The given plan has its place beside the others.
std::optional<ModulePlan> TakeGiven(std::vector<ModulePlan>& plans) {
  const auto given = std::find_if(plans.begin(), plans.end(), [](const ModulePlan& p) { return p.method == "given"; });
  if (given == plans.end()) return std::nullopt;
  std::optional<ModulePlan> taken = std::move(*given);
  plans.erase(given);
  return taken;
}

// Evenly spread over a curve, its ends among them: none, and the least.
std::vector<ModulePlan> Few(std::vector<ModulePlan> curve) {
  std::erase_if(curve, [](const ModulePlan& plan) { return plan.dominated; });
  if (curve.size() <= kMostOfEach) return curve;
  std::vector<ModulePlan> few;
  for (size_t i = 0; i < kMostOfEach; ++i) {
    few.push_back(std::move(curve[i * (curve.size() - 1) / (kMostOfEach - 1)]));
  }
  return few;
}

class Stages {
 public:
  Stages(std::vector<PlannedStage>& stages, const PlanRequest& request, const EnactStages& enact)
      : stages_(stages), request_(request), enact_(enact) {}

  absl::StatusOr<std::vector<ModulePlan>> Together() {
    if (stages_.size() == 1) {
      NameStage(stages_.front().stage, stages_.front().plans);
      return std::move(stages_.front().plans);
    }
    std::optional<ModulePlan> given;
    std::vector<ModulePlan> together;
    for (size_t i = 0; i < stages_.size(); ++i) {
      NameStage(stages_[i].stage, stages_[i].plans);
      std::optional<ModulePlan> own = TakeGiven(stages_[i].plans);
      if (own && given) {
        ASSIGN_OR_RETURN(given, Both(*given, *own));
      } else if (own) {
        given = std::move(own);
      }
      if (i == 0) {
        together = std::move(stages_[i].plans);
        continue;
      }
      ASSIGN_OR_RETURN(together, Products(Few(std::move(together)), Few(std::move(stages_[i].plans))));
    }
    for (ModulePlan& plan : together) RETURN_IF_ERROR(DropIdle(plan));
    if (given) together.push_back(*std::move(given));
    return MakeCurve(std::move(together), request_.budget_line, request_.cost_line);
  }

 private:
  absl::StatusOr<std::vector<ModulePlan>> Products(std::vector<ModulePlan> some, std::vector<ModulePlan> others) {
    std::vector<ModulePlan> plans;
    for (const ModulePlan& a : some) {
      for (const ModulePlan& b : others) {
        ASSIGN_OR_RETURN(plans.emplace_back(), Both(a, b));
      }
    }
    return MakeCurve(std::move(plans), request_.budget_line, request_.cost_line);
  }

  absl::StatusOr<ModulePlan> Both(const ModulePlan& a, const ModulePlan& b) {
    if (a.segments.empty()) return b;
    if (b.segments.empty()) return a;
    ModulePlan plan = a;
    plan.segments.insert(plan.segments.end(), b.segments.begin(), b.segments.end());
    RETURN_IF_ERROR(Measure(plan));
    return plan;
  }

  // A segment that lowers the peak of its stage may free nothing where another one of the rank has the peak.
  absl::Status DropIdle(ModulePlan& plan) {
    if (plan.dominated || plan.segments.size() < 2) return absl::OkStatus();
    for (size_t i = plan.segments.size(); i-- > 0 && plan.segments.size() > 1;) {
      ModulePlan less = plan;
      less.segments.erase(less.segments.begin() + static_cast<std::ptrdiff_t>(i));
      RETURN_IF_ERROR(Measure(less));
      const int64_t bytes = BytesOn(request_.budget_line, plan.measured);
      if (BytesOn(request_.budget_line, less.measured) <= bytes) plan = std::move(less);
    }
    return absl::OkStatus();
  }

  absl::Status Measure(ModulePlan& plan) {
    plan.label = absl::StrCat(plan.segments.size(), plan.segments.size() == 1 ? " segment" : " segments");
    std::vector<std::vector<Segment>> segments(stages_.size());
    for (const PlannedSegment& planned : plan.segments) {
      const auto stage = std::find_if(stages_.begin(), stages_.end(),
                                      [&](const PlannedStage& each) { return each.stage == planned.stage; });
      segments[static_cast<size_t>(stage - stages_.begin())].push_back(planned.segment);
    }
    ASSIGN_OR_RETURN(Enacted enacted, enact_(segments));
    ASSIGN_OR_RETURN(plan.measured, stages_.front().accountant.MeasureEnacted(std::move(enacted)));
    return absl::OkStatus();
  }

  std::vector<PlannedStage>& stages_;
  const PlanRequest& request_;
  const EnactStages& enact_;
};

}  // namespace

absl::StatusOr<std::vector<ModulePlan>> TogetherOnRank(std::vector<PlannedStage>& stages, const PlanRequest& request,
                                                       const EnactStages& enact) {
  return Stages(stages, request, enact).Together();
}

}  // namespace onnx_mem
