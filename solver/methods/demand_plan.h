// A plan that runs again what the next operator needs, when it needs it, in an order that fits (exact/provision.h).
// What is freed to make room is what costs little to make again for its bytes and is not needed soon. Finds a plan
// wherever each operator can be served on its own, whatever that costs; the plan is then thinned out
// (edit/run_thinning.h).
#ifndef ONNX_MEM_SOLVER_METHODS_DEMAND_PLAN_H_
#define ONNX_MEM_SOLVER_METHODS_DEMAND_PLAN_H_

#include <cstdint>
#include <map>

#include "solver/exact/provision.h"
#include "solver/methods/methods.h"
#include "solver/problem/op_sequence.h"

namespace onnx_mem {

// What is freed first: the least of cost^cost_power / (bytes * distance^distance_power), shaken by noise.
struct DemandTaste {
  double cost_power = 1.0;
  double distance_power = 1.0;
  double noise = 0.0;
  double cut_weight = 1.0;  // by how much what the cut at this instant keeps counts for more
  uint32_t seed = 1;
};

// How anchors can be served with nothing there to begin with, found once for all plans.
using ProvisionsFromNothing = std::map<int, Provision>;

// Empty if some anchor could not be served. `limits` are for one search; where it finds nothing, more states are
// allowed, up to 256 times as many.
OpSequence RunOnDemand(const StageProblem& problem, int64_t budget_bytes, const DemandTaste& taste,
                       const ProvisionLimits& limits, ProvisionsFromNothing& from_nothing);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_DEMAND_PLAN_H_
