#include "planner/search/exact.h"

#include <algorithm>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "planner/search/cheapest_first.h"

namespace onnx_mem {
namespace {

constexpr int64_t kRow = 32;
// Of a spread row: where the best set is not found for so many limits running, it is for none.
constexpr int64_t kMostMisses = 4;
// Limits of a row of sets that are nearly the cheapest.
constexpr int64_t kNearRow = 16;
// Limits between the floor and the step without a plan that sets for a budget are of: bytes alive are nearly those that
// the limits of segments tell; the device's have gaps of some hundredths, which differ from set to set.
constexpr int64_t kLiveAims = 4096;
constexpr int64_t kDeviceAims = 256;
// What each place keeps of these, where one has hundreds of options.
constexpr size_t kFewSuffixes = 1024;

// The numbers below kRow, so that the first few are spread over all: 0, 16, 8, 24, 4 ...
int64_t Spread(int64_t i) {
  int64_t place = 0;
  for (int64_t half = kRow / 2; half > 0; half /= 2, i /= 2) place += i % 2 * half;
  return place;
}

}  // namespace

Exact::Exact(const Prover& prover, const Profile& profile) : profile_(profile) {
  if (std::optional<SegmentLimits> limits = prover.LimitSegments(profile.candidates))
    bound_.emplace(*std::move(limits));
}

Exact::Exact(const Prover& prover, const Profile& profile, CostLine line) : profile_(profile) {
  if (std::optional<SegmentLimits> limits = prover.LimitSegments(profile.candidates, line))
    bound_.emplace(*std::move(limits));
}

Exact::Exact(const Profile& profile, SegmentLimits limits, SegmentLimits proven)
    : profile_(profile), bound_(std::move(limits)), proven_(std::move(proven)) {}

absl::StatusOr<bool> Exact::Try(int64_t live_limit, Front& front) {
  const auto set = CheapestFirst(*bound_, live_limit).Next();
  if (!set) {
    const std::optional<Choice> near = NearlyCheapest(*bound_, live_limit);
    if (near) RETURN_IF_ERROR(front.Try(*near, "chain"));
    tight_ = tight_ && !near;
    return false;
  }
  if (front.Tried(set->ranges)) return true;
  RETURN_IF_ERROR(front.Try(set->ranges, "chain"));
  tight_ = tight_ && front.ScoreOf(set->ranges).peak_bytes == bound_->PeakOf(set->ranges);
  return true;
}

absl::Status Exact::TryRow(int64_t baseline_peak, bool spread, const std::function<bool()>& may_go_on, Front& front) {
  if (!bound_) return absl::OkStatus();
  const int64_t floor = bound_->Floor();
  int64_t misses = 0;  // running
  for (left_ = kRow; left_ > 0 && may_go_on() && !(spread && misses == kMostMisses); --left_) {
    const int64_t i = kRow - left_;
    ASSIGN_OR_RETURN(const bool found, Try(floor + (baseline_peak - floor) * (spread ? Spread(i) : i) / kRow, front));
    misses = found ? 0 : misses + 1;
  }
  return absl::OkStatus();
}

absl::Status Exact::TryFor(int64_t live_limit, Front& front) {
  if (!bound_ || !tight_) return absl::OkStatus();
  return Try(live_limit, front).status();
}

absl::Status Exact::TryNearRow(int64_t baseline_peak, const std::function<bool()>& may_go_on, Front& front) {
  const int64_t floor = bound_->Floor();
  for (left_ = kNearRow; left_ > 0 && may_go_on(); --left_) {
    const int64_t i = Spread(kNearRow - left_);
    const std::optional<Choice> near =
        NearlyCheapest(*bound_, floor + (baseline_peak - floor) * i / kRow, kFewSuffixes);
    if (near) RETURN_IF_ERROR(front.Try(*near, "chain"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<int64_t>> Exact::AboveNear(int64_t aim, int64_t limit, BudgetLine line, Front& front) {
  const std::optional<Choice> near = NearlyCheapest(*bound_, aim, kFewSuffixes);
  if (!near) return std::nullopt;
  RETURN_IF_ERROR(front.Try(*near, "chain"));
  return BytesOn(line, front.ScoreOf(*near)) - limit;
}

absl::Status Exact::TryNear(int64_t limit, BudgetLine line, int64_t overhead, int64_t baseline_peak,
                            const std::function<bool()>& may_go_on, Front& front) {
  const int64_t floor = bound_->Floor();
  const int64_t aims = line == BudgetLine::kLive ? kLiveAims : kDeviceAims;
  const int64_t step = std::max<int64_t>((baseline_peak - floor) / aims, 1);
  if (limit - overhead < floor) return absl::OkStatus();
  for (int64_t aim = std::min((limit - overhead - floor) / step, aims); aim >= 0;) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> above, AboveNear(floor + aim * step, limit, line, front));
    if (!above || *above <= 0) break;
    // Of many aims those that are far too high are passed over by a quarter of what is missing at a time.
    const int64_t missing = *above / step;
    aim -= std::max<int64_t>(!may_go_on() ? missing : line == BudgetLine::kLive ? missing / 4 : 1, 1);
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
