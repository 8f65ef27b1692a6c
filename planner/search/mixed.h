// Plans in which some modules run again and others go to the host (Segment::offload): for one limit, the cheapest that
// was found. What moves hides behind depends on what else moves, so prices do not add up; each plan is enacted.
//
// Two ways. From plans of the front that are not within the limit and cheaper than the answer so far, modules go to the
// host until it is: the first ones first (they have most time to move), the largest first, or spread evenly. And to
// modules on the host comes the cheapest plan of the front that brings it within the limit, without what they touch.
// The last module waits for its own moves, or a gate stands further behind, so that it has time; the others leave one
// after another, or all are held until the gate.
#ifndef ONNX_MEM_PLANNER_SEARCH_MIXED_H_
#define ONNX_MEM_PLANNER_SEARCH_MIXED_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "planner/measure/accountant.h"
#include "planner/measure/profile.h"
#include "planner/search/front.h"

namespace onnx_mem {

// `limit`: on the front's line; `cost`: of the best plan known within it, by the clock; nullopt: none is known.
// `host_bytes`: at most on the host. `moves`: of MovesOf. As a plan of the curve, where what the moves take is dealt
// out to the modules by what they free; nullopt: nothing cheaper was found.
absl::StatusOr<std::optional<ModulePlan>> FindMixed(Accountant& accountant, const Profile& profile,
                                                    const Profile& moves, const Front& front, int64_t limit,
                                                    std::optional<int64_t> cost, std::optional<int64_t> host_bytes,
                                                    const std::function<bool()>& may_go_on);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_MIXED_H_
