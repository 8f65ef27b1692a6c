#include "planner/advice/fewest_ranks.h"

#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

// More ranks need less: doubled until it fits, then halved in between.
absl::StatusOr<std::optional<int64_t>> Fewest(RankNeeds& needs, int64_t Need::*figure, int64_t limit_bytes) {
  int64_t fits = 1, beyond = 0;
  for (;; fits *= 2) {
    if (fits > kMostRanksTried) return std::optional<int64_t>();
    ASSIGN_OR_RETURN(const Need need, needs.At(fits));
    if (need.*figure <= limit_bytes) break;
    beyond = fits;
  }
  while (fits - beyond > 1) {
    const int64_t middle = beyond + (fits - beyond) / 2;
    ASSIGN_OR_RETURN(const Need need, needs.At(middle));
    (need.*figure <= limit_bytes ? fits : beyond) = middle;
  }
  return std::optional<int64_t>(fits);
}

}  // namespace

absl::StatusOr<Need> RankNeeds::At(int64_t ranks) {
  if (const auto known = known_.find(ranks); known != known_.end()) return known->second;
  workload_.layout.ranks = ranks;
  ASSIGN_OR_RETURN(const Need need, study_->NeedOf(workload_));
  known_.emplace(ranks, need);
  return need;
}

absl::StatusOr<FewestRanks> FindFewestRanks(RankNeeds& needs, int64_t limit_bytes) {
  FewestRanks fewest;
  ASSIGN_OR_RETURN(fewest.expected, Fewest(needs, &Need::expected_bytes, limit_bytes));
  ASSIGN_OR_RETURN(fewest.safe, Fewest(needs, &Need::high_bytes, limit_bytes));
  return fewest;
}

}  // namespace onnx_mem
