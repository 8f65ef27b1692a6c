// What plans per operator call may choose from: for each range of the forward that can be one call of checkpoint, the
// corners of what it may keep (region_cut.h), as candidates of their own whose figures add up as those of whole modules
// do (segment_limits.h).
//
//   range frees 900, run again costs 50     option: keeps 200, runs 12 of it -> frees 700, costs 12 and a call
#ifndef ONNX_MEM_PLANNER_CALLS_CALL_OPTIONS_H_
#define ONNX_MEM_PLANNER_CALLS_CALL_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/run/region_calls.h"
#include "planner/calls/region_cut.h"
#include "planner/measure/candidates.h"
#include "planner/measure/plan.h"
#include "planner/measure/profile.h"
#include "planner/measure/segment_limits.h"

namespace onnx_mem {

// The calls of a region as a cut takes them: what an operator costs by `line`.
CutRegion CutRegionOf(const RegionCalls& region, CostLine line);

struct CallOptions {
  std::vector<Candidate> candidates;      // an option each
  std::vector<CandidateFigures> figures;  // of each
  SegmentLimits limits;                   // with a range for each
  // The same for all plans of the class, also those between corners: a set of these costs no more than the best plan.
  SegmentLimits proven;
};

struct OptionLimits {
  size_t corners = 64;     // of a run of blocks
  size_t few_corners = 8;  // of other ranges
};

// `whole`: the calls of the forward; `ranges`: with their `base` limits, whose order is theirs; `call_cost`: of a call
// of checkpoint beside what runs again.
CallOptions OptionsOf(const RegionCalls& whole, const std::vector<Candidate>& ranges, const SegmentLimits& base,
                      CostLine line, int64_t call_cost, const OptionLimits& limits = {});

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CALLS_CALL_OPTIONS_H_
