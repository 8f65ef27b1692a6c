// Plans in which some modules run again and others go to the host (Segment::offload): for one limit, the cheapest that
// was found. What moves hides behind depends on what else moves, so prices do not add up; each plan is enacted.
//
// From each plan of the front that is not within the limit and cheaper than the answer so far, modules go to the host
// until it is: the first ones first (they have most time to move), the largest first, or spread evenly. The last module
// waits for its own moves; with a gate that is a small module further behind, so that the others have time.
#ifndef ONNX_MEM_PLANNER_PLANS_SEARCH_MIXED_H_
#define ONNX_MEM_PLANNER_PLANS_SEARCH_MIXED_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "planner/plans/measure/accountant.h"
#include "planner/plans/measure/profile.h"
#include "planner/plans/search/front.h"

namespace onnx_mem {

struct MixedPlan {
  Choice again;  // run a second time
  Choice away;   // go to the host, by node
  Measured measured;
};

// `limit`: on the front's line; `cost`: of the best plan known within it, by the clock; nullopt: none is known.
// `host_bytes`: at most on the host. nullopt: nothing cheaper was found.
absl::StatusOr<std::optional<MixedPlan>> FindMixed(Accountant& accountant, const Profile& profile,
                                                   const Front& front, int64_t limit, std::optional<int64_t> cost,
                                                   std::optional<int64_t> host_bytes,
                                                   const std::function<bool()>& may_go_on);

// Both kinds as the accountant takes them, by node.
std::vector<Segment> SegmentsOf(const Profile& profile, const MixedPlan& plan);

// As a plan of the curve; what its moves take is dealt out to the modules by what they free. `graph`: the lowered one.
ModulePlan Described(const Graph& graph, const Profile& profile, const MixedPlan& mixed);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_PLANS_SEARCH_MIXED_H_
