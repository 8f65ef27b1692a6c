#include "planner/model/front.h"

#include <algorithm>
#include <limits>

#include "analyzer/graph/status_macros.h"

namespace onnx_mem {

int64_t Front::GainOf(const Score& score) const {
  int64_t peak = std::numeric_limits<int64_t>::max();
  for (const JudgedPlan& plan : plans_) {
    if (plan.score.recompute_flops > score.recompute_flops) break;
    peak = plan.score.peak_bytes;
  }
  return peak - score.peak_bytes;
}

absl::StatusOr<bool> Front::Try(const Choice& choice, std::string_view method) {
  if (!tried_.insert(choice).second) return false;
  ASSIGN_OR_RETURN(const Enacted enacted, accountant_.Enact(SegmentsOf(profile_, choice)));
  JudgedPlan plan{choice, {}, std::string(method)};
  plan.score.peak_bytes = accountant_.PeakOf(enacted.program);
  plan.score.recompute_flops = enacted.recompute_flops - accountant_.baseline().recompute_flops;
  // At equal figures the first one found stays.
  if (!plans_.empty() && GainOf(plan.score) <= 0) return false;
  std::erase_if(plans_, [&](const JudgedPlan& other) {
    return other.score.recompute_flops >= plan.score.recompute_flops && other.score.peak_bytes >= plan.score.peak_bytes;
  });
  const auto place = std::find_if(plans_.begin(), plans_.end(), [&](const JudgedPlan& other) {
    return other.score.recompute_flops > plan.score.recompute_flops;
  });
  plans_.insert(place, std::move(plan));
  return true;
}

}  // namespace onnx_mem
