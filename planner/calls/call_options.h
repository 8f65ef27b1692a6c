// What plans per operator call may choose from: for each range of the forward that can be one call of checkpoint, the
// corners of what it may keep (region_cut.h), as candidates of their own whose figures add up as those of whole modules
// do (segment_limits.h).
//
//   range frees 900, run again costs 50     option: keeps 200, runs 12 of it -> frees 700, costs 12 and a call
#ifndef ONNX_MEM_PLANNER_CALLS_CALL_OPTIONS_H_
#define ONNX_MEM_PLANNER_CALLS_CALL_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/run/region_calls.h"
#include "planner/calls/region_cut.h"
#include "planner/measure/candidates.h"
#include "planner/measure/plan.h"
#include "planner/measure/profile.h"
#include "planner/measure/segment_limits.h"

namespace onnx_mem {

// What it costs to keep bytes in host memory, in nanoseconds: for each tensor and for each byte. What computation will
// hide of a copy is known once a plan is enacted; this is what a search takes it to be.
struct LinkPrice {
  double ns_per_byte = 0;
  int64_t ns_per_tensor = 0;
};

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
// of checkpoint beside what runs again. `link`: each option may also move tensors to the host, and there is one more
// with what the range is given there; what moves early has more time, so later ranges pay up to twice the price.
// Nothing is proven of such options.
CallOptions OptionsOf(const RegionCalls& whole, const std::vector<Candidate>& ranges, const SegmentLimits& base,
                      CostLine line, int64_t call_cost, const OptionLimits& limits = {},
                      const std::optional<LinkPrice>& link = std::nullopt);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CALLS_CALL_OPTIONS_H_
