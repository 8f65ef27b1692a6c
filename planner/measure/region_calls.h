// The operator calls of a step's forward with what each costs, from which plans per call are chosen.
//
//   trace = TraceStep(lowered, run);                     analysis/enact.h: trace.calls is the whole forward's
//   SetCosts(trace.enacted.program, clock, trace.calls)
//   region = PartOf(trace.calls, range.first, range.last);   of a segment (analysis/segments.h has its range)
//   states = StatesOf(region, kept);                     which of them its second run skips
#ifndef ONNX_MEM_PLANNER_MEASURE_REGION_CALLS_H_
#define ONNX_MEM_PLANNER_MEASURE_REGION_CALLS_H_

#include "analyzer/devices/roofline.h"
#include "analyzer/memory/program.h"
#include "analyzer/run/region_calls.h"
#include "analyzer/run/second_run.h"

namespace onnx_mem {

// `flops` and `ns` of each call: what its steps of `program` take.
void SetCosts(const MemoryProgram& program, const Clock& clock, RegionCalls& calls);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_REGION_CALLS_H_
