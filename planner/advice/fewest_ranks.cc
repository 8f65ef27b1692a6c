#include "planner/advice/fewest_ranks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace {

absl::StatusOr<std::optional<int64_t>> FirstThatFits(RankRange among, FitsOver fits_over) {
  for (int64_t ranks = among.fewest; ranks <= among.most; ++ranks) {
    ASSIGN_OR_RETURN(const bool fit, fits_over(ranks));
    if (fit) return std::optional<int64_t>(ranks);
  }
  return std::optional<int64_t>();
}

// A number of which there is no such step, by what was requested.
bool IsRefused(const absl::Status& status) { return DiagnosticOf(status).code == Code::kUsage; }

absl::Status NonePossible(RankRange among, const absl::Status& last) {
  const Diagnostic why = DiagnosticOf(last);
  if (among.fewest == among.most) return last;
  return ErrorStatus(
      absl::StatusCode::kInvalidArgument, Code::kUsage,
      absl::StrCat("none of ", among.fewest, " to ", among.most, " ranks is possible; the last: ", why.message),
      {"way out: one number, of which more is said, or another range"});
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

absl::StatusOr<std::optional<Need>> RankNeeds::At(int64_t ranks) {
  if (const auto known = known_.find(ranks); known != known_.end()) return known->second;
  SetRanksAlong(axis_, ranks, workload_.layout);
  const absl::StatusOr<Need> need = study_->NeedOf(workload_);
  if (!need.ok()) {
    if (axis_ == RankAxis::kData || !IsRefused(need.status())) return need.status();
    refusal_ = need.status();
  }
  return known_[ranks] = need.ok() ? std::optional<Need>(*need) : std::nullopt;
}

absl::StatusOr<int64_t> RankNeeds::Few() {
  constexpr int64_t kFewest = 16, kMost = 64, kSteps = 64'000;  // of all numbers together
  if (axis_ != RankAxis::kData) return kMostRanksTried;
  ASSIGN_OR_RETURN(const Shared<Enacted> enacted, study_->Enact(workload_));
  const auto steps = static_cast<int64_t>(enacted->program.steps.size());
  return std::clamp(kSteps / std::max<int64_t>(steps, 1), kFewest, kMost);
}

absl::StatusOr<FewestRanks> FindFewestRanks(RankNeeds& needs, int64_t limit_bytes, RankRange among) {
  ASSIGN_OR_RETURN(const int64_t few, needs.Few());
  FewestRanks fewest{among};
  std::set<int64_t> tried;
  const auto with = [&](int64_t Need::*figure) {
    return FewestThatFit(among, few, [&](int64_t ranks) -> absl::StatusOr<bool> {
      ASSIGN_OR_RETURN(const std::optional<Need> need, needs.At(ranks));
      if (!need) return false;
      tried.insert(ranks);
      return (*need).*figure <= limit_bytes;
    });
  };
  ASSIGN_OR_RETURN(fewest.expected, with(&Need::expected_bytes));
  ASSIGN_OR_RETURN(fewest.safe, with(&Need::high_bytes));
  if (tried.empty()) return NonePossible(among, needs.refusal());
  if (!fewest.safe) fewest.among.most = *tried.rbegin();
  fewest.tried.assign(tried.begin(), tried.end());
  // Doubling tries the first two, with nothing between them.
  fewest.each_tried = among.most - among.fewest < few || (fewest.safe && *fewest.safe <= among.fewest + 1);
  return fewest;
}

std::optional<PlannedRanks> FewestRanksWithPlan(Study& study, const Workload& workload, RankAxis axis, const Gpu* card,
                                                int64_t limit_bytes, RankRange among) {
  Workload spread = workload;
  PlannedRanks planned{among.most, {}};
  const absl::StatusOr<std::optional<int64_t>> fewest =
      FewestThatFit(among, axis == RankAxis::kData ? 0 : kMostRanksTried, [&](int64_t ranks) -> absl::StatusOr<bool> {
        if (!work::HasLeft(work::kAdviceShare)) return absl::ResourceExhaustedError("no work is left");
        SetRanksAlong(axis, ranks, spread.layout);
        absl::StatusOr<Situation> situation = SituationOf(study, spread);
        if (!situation.ok() && IsRefused(situation.status())) return false;
        RETURN_IF_ERROR(situation.status());
        situation->card = card;
        situation->budget_bytes = limit_bytes;
        situation->plan_iterations = 1;  // of a rank's plans the search has its own
        std::vector<Proposal> plans = ProposeCheckpoints(*situation);
        if (plans.empty()) return false;
        planned = {ranks, std::move(plans)};
        return true;
      });
  if (!fewest.ok()) return std::nullopt;
  return planned;
}

}  // namespace onnx_mem
