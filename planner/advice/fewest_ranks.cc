#include "planner/advice/fewest_ranks.h"

#include <algorithm>

#include "analyzer/graph/status_macros.h"
#include "analyzer/run/work.h"
#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

absl::StatusOr<std::optional<int64_t>> FirstThatFits(RankRange among, FitsOver fits_over) {
  for (int64_t ranks = among.fewest; ranks <= among.most; ++ranks) {
    ASSIGN_OR_RETURN(const bool fit, fits_over(ranks));
    if (fit) return std::optional<int64_t>(ranks);
  }
  return std::optional<int64_t>();
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> FewestThatFit(RankRange among, int64_t few, FitsOver fits_over) {
  if (among.most - among.fewest < few) return FirstThatFits(among, fits_over);
  int64_t fits = among.fewest, beyond = among.fewest - 1;
  for (;;) {
    ASSIGN_OR_RETURN(const bool fit, fits_over(fits));
    if (fit) break;
    if (fits == among.most) return std::optional<int64_t>();
    beyond = fits;
    fits = std::min(2 * fits, among.most);
  }
  while (fits - beyond > 1) {
    const int64_t middle = beyond + (fits - beyond) / 2;
    ASSIGN_OR_RETURN(const bool fit, fits_over(middle));
    (fit ? fits : beyond) = middle;
  }
  return std::optional<int64_t>(fits);
}

absl::StatusOr<Need> RankNeeds::At(int64_t ranks) {
  if (const auto known = known_.find(ranks); known != known_.end()) return known->second;
  workload_.layout.ranks = ranks;
  ASSIGN_OR_RETURN(const Need need, study_->NeedOf(workload_));
  known_.emplace(ranks, need);
  return need;
}

absl::StatusOr<FewestRanks> FindFewestRanks(RankNeeds& needs, int64_t limit_bytes, RankRange among) {
  const auto with = [&](int64_t Need::*figure) {
    return FewestThatFit(among, kFewNumbers, [&](int64_t ranks) -> absl::StatusOr<bool> {
      ASSIGN_OR_RETURN(const Need need, needs.At(ranks));
      return need.*figure <= limit_bytes;
    });
  };
  FewestRanks fewest{among};
  ASSIGN_OR_RETURN(fewest.expected, with(&Need::expected_bytes));
  ASSIGN_OR_RETURN(fewest.safe, with(&Need::high_bytes));
  return fewest;
}

std::optional<int64_t> FewestRanksWithPlan(Study& study, const Workload& workload, const Gpu* card, int64_t limit_bytes,
                                           RankRange among) {
  Workload spread = workload;
  const absl::StatusOr<std::optional<int64_t>> fewest =
      FewestThatFit(among, /*few=*/0, [&](int64_t ranks) -> absl::StatusOr<bool> {
        if (!work::HasLeft(work::kAdviceShare)) return absl::ResourceExhaustedError("no work is left");
        spread.layout.ranks = ranks;
        ASSIGN_OR_RETURN(Situation situation, SituationOf(study, spread));
        situation.card = card;
        situation.budget_bytes = limit_bytes;
        situation.plan_iterations = 1;  // of a rank's plans the search has its own
        return !ProposeCheckpoints(situation).empty();
      });
  return fewest.ok() ? *fewest : std::nullopt;
}

}  // namespace onnx_mem
