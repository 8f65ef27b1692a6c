// Plans per operator call in which tensors also wait in host memory: for one limit, the cheapest that was found.
//
// What of a copy computation hides depends on all that moves, so its price is not known before a plan is enacted. The
// search over what each segment holds, moves and runs again (calls/call_options.h) runs with several prices: from
// nearly none, as if all were hidden, to both ways of each copy in full. Each plan is enacted, where the step waits for
// every copy that is not hidden (devices/roofline.h).
#ifndef ONNX_MEM_PLANNER_ANSWER_HOST_PLANS_H_
#define ONNX_MEM_PLANNER_ANSWER_HOST_PLANS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/calls/call_class.h"
#include "planner/measure/accountant.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// The class of plans per call that there is without moves.
struct CallRanges {
  const StepTrace& trace;
  LimitsOfRanges limits_of;
  std::vector<Candidate> list;
};

// `limit`: on `line`; `cost`: of the best plan known within it, by the clock; nullopt: none is known. `host_bytes`: at
// most on the host. nullopt: nothing cheaper was found.
absl::StatusOr<std::optional<ModulePlan>> FindHosted(Accountant& accountant, const CallRanges& ranges, BudgetLine line,
                                                     int64_t limit, std::optional<int64_t> cost,
                                                     std::optional<int64_t> host_bytes,
                                                     const std::function<bool()>& may_go_on);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_HOST_PLANS_H_
