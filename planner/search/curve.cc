#include "planner/search/curve.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

bool StaysWhenBeaten(const ModulePlan& plan) {
  return plan.segments.empty() || plan.method == "hand" || plan.method == "given";
}

// Steps of a knee: how far a point lies below the straight line from the first to the last, in shares of both ranges.
double BelowLine(const Measured& first, const Measured& last, const Measured& point, BudgetLine line, CostLine cost) {
  const auto share = [](int64_t part, int64_t whole) {
    return whole != 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
  };
  const double freed = share(BytesOn(line, first) - BytesOn(line, point), BytesOn(line, first) - BytesOn(line, last));
  return freed - share(CostOn(cost, point), CostOn(cost, last));
}

bool KeepsLimits(const ModulePlan& plan, const PlanRequest& request) {
  return (!request.max_slowdown || plan.measured.slowdown <= *request.max_slowdown) &&
         (!request.budget_bytes || BytesOn(request.budget_line, plan.measured) <= *request.budget_bytes);
}

}  // namespace

int64_t BytesOn(BudgetLine line, const Measured& measured) {
  return line == BudgetLine::kDevice ? measured.device_bytes : measured.peak_bytes;
}

int64_t CostOn(CostLine cost, const Measured& measured) {
  return cost == CostLine::kFlops ? measured.recompute_flops : measured.recompute_ns + measured.offload_ns;
}

std::vector<ModulePlan> MakeCurve(std::vector<ModulePlan> plans, BudgetLine line, CostLine cost) {
  const BudgetLine other = line == BudgetLine::kDevice ? BudgetLine::kLive : BudgetLine::kDevice;
  StableSort(plans, [&](const ModulePlan& a, const ModulePlan& b) {
    const auto key = [&](const ModulePlan& plan) {
      return std::tuple(CostOn(cost, plan.measured), BytesOn(line, plan.measured), BytesOn(other, plan.measured),
                        !StaysWhenBeaten(plan), plan.segments.size());
    };
    return key(a) < key(b);
  });
  // By rising recomputation: a plan has its place if it needs less than every plan before it.
  std::vector<ModulePlan> curve, beaten;
  for (ModulePlan& plan : plans) {
    const bool better = curve.empty() || BytesOn(line, plan.measured) < BytesOn(line, curve.back().measured);
    (better ? curve : beaten).push_back(std::move(plan));
  }
  for (auto plan = beaten.begin(); plan != beaten.end(); ++plan) {
    if (!StaysWhenBeaten(*plan)) continue;
    plan->dominated = true;
    curve.push_back(std::move(*plan));
  }
  StableSort(curve, [&](const ModulePlan& a, const ModulePlan& b) {
    return BytesOn(line, a.measured) > BytesOn(line, b.measured);
  });
  for (size_t i = 0; i < curve.size(); ++i) curve[i].id = static_cast<int64_t>(i);
  return curve;
}

const ModulePlan& LeastOf(const std::vector<ModulePlan>& curve) {
  return *std::find_if(curve.rbegin(), curve.rend(), [](const ModulePlan& plan) { return !plan.dominated; });
}

std::optional<size_t> Choose(const std::vector<ModulePlan>& curve, const PlanRequest& request) {
  for (size_t i = 0; i < curve.size(); ++i) {
    if (curve[i].method == "given" && KeepsLimits(curve[i], request)) return i;
  }
  std::optional<size_t> best;
  double furthest = 0;
  const Measured& least = LeastOf(curve).measured;
  const auto none =
      std::find_if(curve.begin(), curve.end(), [](const ModulePlan& plan) { return plan.segments.empty(); });
  for (size_t i = 0; i < curve.size(); ++i) {
    const Measured& m = curve[i].measured;
    const int64_t bytes = BytesOn(request.budget_line, m);
    if (request.max_slowdown && m.slowdown > *request.max_slowdown) continue;
    if (request.budget_bytes) {
      if (bytes > *request.budget_bytes) continue;
      if (!best || CostOn(request.cost_line, m) < CostOn(request.cost_line, curve[*best].measured)) best = i;
    } else if (request.max_slowdown) {
      if (!best || bytes < BytesOn(request.budget_line, curve[*best].measured)) best = i;
    } else if (!curve[i].dominated) {
      const double below = BelowLine(none->measured, least, m, request.budget_line, request.cost_line);
      if (!best || below > furthest) {
        best = i;
        furthest = below;
      }
    }
  }
  return best;
}

}  // namespace onnx_mem
