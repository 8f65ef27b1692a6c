// Local search from the front: neighbours of a plan differ in one segment (added, dropped, exchanged for others that
// overlap it, cut in two). Those whose estimate promises to better the front are enacted; what holds joins it. Ends
// when every plan on the front was explored, or when `may_go_on` says so. Deterministic but for that.
#ifndef ONNX_MEM_PLANNER_SEARCH_SEARCH_H_
#define ONNX_MEM_PLANNER_SEARCH_SEARCH_H_

#include <functional>

#include "absl/status/status.h"
#include "planner/measure/profile.h"
#include "planner/search/front.h"

namespace onnx_mem {

absl::Status SearchFromFront(const Profile& profile, const std::function<bool()>& may_go_on, Front& front);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_SEARCH_H_
