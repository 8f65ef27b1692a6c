// The operator calls of a step's forward with what each costs, from which plans per call are chosen.
//
//   trace = TraceCalls(accountant);                      the whole forward, enacted once
//   region = PartOf(*trace, range.first, range.last);    the calls of a segment (analysis/segments.h has its range)
//   states = StatesOf(region, kept);                     which of them its second run skips
#ifndef ONNX_MEM_PLANNER_MEASURE_REGION_CALLS_H_
#define ONNX_MEM_PLANNER_MEASURE_REGION_CALLS_H_

#include "absl/status/statusor.h"
#include "analyzer/run/region_calls.h"
#include "analyzer/run/second_run.h"
#include "planner/measure/accountant.h"

namespace onnx_mem {

// `ns` of a call is what its steps take on the accountant's clock.
absl::StatusOr<RegionCalls> TraceCalls(Accountant& accountant);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_REGION_CALLS_H_
