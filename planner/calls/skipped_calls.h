// Plans say what their second runs skip, so that who applies them need not find out.
#ifndef ONNX_MEM_PLANNER_CALLS_SKIPPED_CALLS_H_
#define ONNX_MEM_PLANNER_CALLS_SKIPPED_CALLS_H_

#include "analyzer/graph/framework_graph.h"
#include "analyzer/run/region_calls.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// Fills `skip` of each segment that keeps calls and names none that it skips. `calls`: the forward's.
void NameSkipped(const FrameworkGraph& graph, const RegionCalls& calls, ModulePlan& plan);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CALLS_SKIPPED_CALLS_H_
