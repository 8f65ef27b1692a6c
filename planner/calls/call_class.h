// The class of plans per operator call of one model: its candidates with their figures, and the limits that the search
// and the proof take.
#ifndef ONNX_MEM_PLANNER_CALLS_CALL_CLASS_H_
#define ONNX_MEM_PLANNER_CALLS_CALL_CLASS_H_

#include <functional>
#include <optional>
#include <vector>

#include "analyzer/analysis/enact.h"
#include "planner/calls/call_options.h"
#include "planner/measure/accountant.h"
#include "planner/measure/candidates.h"
#include "planner/measure/plan.h"
#include "planner/measure/profile.h"
#include "planner/measure/segment_limits.h"

namespace onnx_mem {

struct CallClass {
  Profile profile;       // of the candidates alone, without what a search over modules would estimate by
  SegmentLimits limits;  // a range for each candidate
  SegmentLimits proven;  // of all plans of the class: call_options.h
};

// Each can be one call of checkpoint: runs of neighbouring blocks, and `modules` that are no longer than those. By
// first node, longest first.
std::vector<Candidate> RangesOfClass(const Lowered& lowered, const CandidateSet& modules);

// What sets of ranges can do; nullopt where the step's own code checkpoints already.
using LimitsOfRanges = std::function<std::optional<SegmentLimits>(const std::vector<Candidate>&)>;

// Of `ranges`, as RangesOfClass gives them, each with what it may keep of the calls of `trace`, with `link` also on the
// host; nothing is proven then. nullopt: the model has no such class.
std::optional<CallClass> FindCallClass(const Accountant& accountant, const StepTrace& trace,
                                       const LimitsOfRanges& limits_of, std::vector<Candidate> ranges, CostLine line,
                                       const std::optional<LinkPrice>& link = std::nullopt);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CALLS_CALL_CLASS_H_
