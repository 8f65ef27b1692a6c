// Plans that are cheaper than the chosen one, and fit but for the caching allocator's fragments: those that fit once
// its segments can grow, and those that run once it has given back its cache.
#ifndef ONNX_MEM_PLANNER_ANSWER_NEAR_PLANS_H_
#define ONNX_MEM_PLANNER_ANSWER_NEAR_PLANS_H_

#include <string_view>

#include "absl/status/status.h"
#include "planner/measure/accountant.h"
#include "planner/measure/plan.h"
#include "planner/measure/profile.h"
#include "planner/search/front.h"

namespace onnx_mem {

// The allocator that a plan is offered with where its fragments stand in the way of a cheaper one.
inline constexpr std::string_view kExpandable = "pytorch-expandable";

// `answer` has its plans and the chosen one; those of `front` join it.
absl::Status AddNearPlans(const PlanRequest& request, Accountant& accountant, const Profile& profile,
                          const Front& front, PlanAnswer& answer);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_NEAR_PLANS_H_
