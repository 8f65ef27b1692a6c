// The trade-off curve: which of the measured plans stand on it, and which of them answers the request.
#ifndef ONNX_MEM_PLANNER_SEARCH_CURVE_H_
#define ONNX_MEM_PLANNER_SEARCH_CURVE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "planner/measure/plan.h"

namespace onnx_mem {

int64_t BytesOn(BudgetLine line, const Measured& measured);

int64_t CostOn(CostLine cost, const Measured& measured);

// Sorts by falling bytes on `line` and marks plans that another one beats: no more bytes for no more recomputation.
// Drops those that are marked, but for "none", conventions and the given plan.
std::vector<ModulePlan> MakeCurve(std::vector<ModulePlan> plans, BudgetLine line, CostLine cost);

// The plan of least bytes, the cheapest of them. `curve` holds one without segments.
const ModulePlan& LeastOf(const std::vector<ModulePlan>& curve);

// Index of the plan that answers; `curve` holds one without segments: within the budget and the slowdown, the least
// recomputation; without a budget, the least bytes within the slowdown; without either, the knee. nullopt when none
// fits.
std::optional<size_t> Choose(const std::vector<ModulePlan>& curve, const PlanRequest& request);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_CURVE_H_
