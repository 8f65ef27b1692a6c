// The best plans by the limits of their segments (segment_limits.h), tried on the accountant; and the proof for the
// class of plans that a request allows, all sets of disjoint candidates: the least memory, and for a budget the least
// recomputation.
#ifndef ONNX_MEM_PLANNER_SEARCH_EXACT_H_
#define ONNX_MEM_PLANNER_SEARCH_EXACT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/search/front.h"
#include "planner/search/proof.h"
#include "planner/search/segment_bound.h"

namespace onnx_mem {

class Exact {
 public:
  // Where the step's own code checkpoints already, nothing is tried and nothing proven. `profile` outlives this.
  Exact(const Prover& prover, const Profile& profile);

  // The same where costs are by `line`: other sets to try, that prove nothing of the request's costs.
  Exact(const Prover& prover, const Profile& profile, CostLine line);

  // Of a class whose limits are known: those to search by, with a range for each of the profile's candidates, and those
  // that prove.
  Exact(const Profile& profile, SegmentLimits limits, SegmentLimits proven);

  bool has_bound() const { return bound_.has_value(); }
  int64_t candidates() const { return static_cast<int64_t>(list().size()); }
  const std::vector<Candidate>& list() const { return profile_.candidates; }
  int64_t Floor() const { return Proven().Floor(); }             // alive: no set has less
  int64_t Constant() const { return Proven().constant_live(); }  // nor has one of other segments

  // The cheapest set for each of a row of limits on live bytes, the lowest first or, with `spread`, all over. The row
  // is the same for every budget.
  absl::Status TryRow(int64_t baseline_peak, bool spread, const std::function<bool()>& may_go_on, Front& front);

  // The cheapest set for one limit: if what was tried of the row was as its limits said, so that more of a budget never
  // costs more.
  absl::Status TryFor(int64_t live_limit, Front& front);

  // Nearly the cheapest set for a row of limits, all over; and for `limit` on `line`: one limit on live bytes after
  // another, each a little lower, until the enacted set is within. They are of one row for all limits on the line, so
  // that what a smaller one finds is found for a larger one too, if nothing cheaper is. `overhead`: what the line has
  // beside live bytes. After `may_go_on` the steps are as wide as what is missing.
  absl::Status TryNearRow(int64_t baseline_peak, const std::function<bool()>& may_go_on, Front& front);
  absl::Status TryNear(int64_t limit, BudgetLine line, int64_t overhead, int64_t baseline_peak,
                       const std::function<bool()>& may_go_on, Front& front);

  // Limits of the row that the effort did not suffice for.
  int64_t left() const { return left_; }

  // No set whose peak of live bytes is at most `limit` costs less; nullopt: there is no such set.
  std::optional<int64_t> LeastCost(int64_t limit) const { return Proven().LeastCost(limit); }

  // What the limits of segments tell of one set: it takes no less of either. Of a class that is searched by the limits
  // that prove; there is a bound.
  Score LeastOf(const Choice& choice) const {
    const SegmentBound::Suffix least = bound_->FiguresOf(choice);
    return {.peak_bytes = least.peak_bytes, .cost = least.cost};
  }

 private:
  // By how much nearly the cheapest set for `aim` takes more than `limit` on `line`; nullopt: there is no set.
  absl::StatusOr<std::optional<int64_t>> AboveNear(int64_t aim, int64_t limit, BudgetLine line, Front& front);

  // Whether the cheapest set was found.
  absl::StatusOr<bool> Try(int64_t live_limit, Front& front);

  const SegmentBound& Proven() const { return proven_ ? *proven_ : *bound_; }

  const Profile& profile_;
  std::optional<SegmentBound> bound_;
  std::optional<SegmentBound> proven_;  // where it is not the same
  bool tight_ = true;                   // every set of the row that was tried had the peak of its limits
  int64_t left_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_EXACT_H_
