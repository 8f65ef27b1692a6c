#include "analyzer/analysis/peak_bounds.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/assume/table/assumptions.h"
#include "analyzer/assume/table/margins.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

using Alternatives = std::vector<const Alternative*>;

struct MeasuredAlternative {
  const Alternative* alternative;
  int64_t peak_bytes;
};

bool MovesMuch(int64_t other_bytes, int64_t peak_bytes) {
  constexpr int64_t kOnePartIn = 100;
  return std::abs(other_bytes - peak_bytes) > peak_bytes / kOnePartIn;
}

std::string RangeText(const std::vector<MeasuredAlternative>& others, int64_t peak_bytes) {
  const std::string each = absl::StrJoin(others, ", ", [](std::string* out, const MeasuredAlternative& m) {
    absl::StrAppend(out, FormatBytes(m.peak_bytes), " ", std::string(m.alternative->words));
  });
  return absl::StrCat("range: the training peak is ", each, " instead of ", FormatBytes(peak_bytes));
}

class Bounds {
 public:
  Bounds(const Lowered& lowered, const Run& run, Peak peak, LowerFor lower_for, PeakOfLowered peak_of)
      : lowered_(lowered), run_(run), peak_(peak), peak_bytes_(peak.bytes), lower_for_(lower_for), peak_of_(peak_of) {}

  absl::Status Take(const Assumption& row, std::vector<Diagnostic>& diagnostics) {
    if (!(run_.training ? row.training : row.inference)) return absl::OkStatus();
    if (row.open != nullptr && !row.open(run_, lowered_)) return absl::OkStatus();
    if (!row.code) return TakeAll(row, nullptr);
    const auto reported =
        std::find_if(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) { return d.code == row.code; });
    return reported == diagnostics.end() ? absl::OkStatus() : TakeAll(row, &*reported);
  }

  absl::StatusOr<PeakBounds> Join() const {
    PeakBounds bounds{std::min(lowest_, peak_bytes_), std::max(highest_, peak_bytes_)};
    RETURN_IF_ERROR(TakeTogether(less_, /*all_conventions=*/false, bounds));
    for (const Alternative* one : only_less_) {
      Alternatives some = less_;
      some.push_back(one);
      RETURN_IF_ERROR(TakeTogether(some, /*all_conventions=*/false, bounds));
    }
    RETURN_IF_ERROR(TakeTogether(more_, /*all_conventions=*/!run_.training, bounds));
    bounds.low_bytes = std::max<int64_t>(bounds.low_bytes, 0);  // what is taken off in bytes may be more than there is
    return bounds;
  }

 private:
  // Nothing to take, or one alternative that has been taken alone.
  static bool IsMeasured(const Alternatives& taken) {
    return taken.empty() || (taken.size() == 1 && taken[0]->towards == Towards::kEither);
  }

  // All that the graph may be, by itself and with one convention of whoever wrote the code at a time: a convention may
  // move the peak the other way. `all_conventions`: then with all of them. An inference has little but values with
  // names and activations: at most, code has a name for each and writes over none.
  absl::Status TakeTogether(const Alternatives& taken, bool all_conventions, PeakBounds& bounds) const {
    Alternatives facts, conventions;
    for (const Alternative* one : taken) (one->convention ? conventions : facts).push_back(one);
    const auto widen = [&](const Alternatives& some) -> absl::Status {
      ASSIGN_OR_RETURN(const int64_t peak, PeakWith(some));
      bounds.low_bytes = std::min(bounds.low_bytes, peak);
      bounds.high_bytes = std::max(bounds.high_bytes, peak);
      return absl::OkStatus();
    };
    if (!IsMeasured(facts)) RETURN_IF_ERROR(widen(facts));
    for (const Alternative* convention : conventions) {
      Alternatives some = facts;
      some.push_back(convention);
      RETURN_IF_ERROR(widen(some));
    }
    if (!all_conventions || conventions.size() < 2) return absl::OkStatus();
    facts.insert(facts.end(), conventions.begin(), conventions.end());
    return widen(facts);
  }

  absl::Status TakeIfLess(const Alternative& alternative) {
    ASSIGN_OR_RETURN(const int64_t peak, PeakWith({&alternative}));
    if (peak < peak_bytes_) only_less_.push_back(&alternative);
    lowest_ = std::min(lowest_, peak);
    return absl::OkStatus();
  }

  absl::Status TakeAll(const Assumption& row, Diagnostic* reported) {
    std::vector<MeasuredAlternative> others;
    for (const Alternative& alternative : row.alternatives) {
      const bool may_lower = peak_.in_forward || !row.forward_only;
      if (alternative.towards == Towards::kLess && may_lower) less_.push_back(&alternative);
      if (alternative.towards == Towards::kMore) more_.push_back(&alternative);
      if (alternative.towards == Towards::kOnlyLess && may_lower) RETURN_IF_ERROR(TakeIfLess(alternative));
      if (alternative.towards != Towards::kEither) continue;
      ASSIGN_OR_RETURN(const int64_t peak, PeakWith({&alternative}));
      if (peak == peak_bytes_) continue;
      others.push_back({&alternative, peak});
      lowest_ = std::min(lowest_, peak);
      highest_ = std::max(highest_, peak);
      (peak < peak_bytes_ ? less_ : more_).push_back(&alternative);
      const bool likely = alternative.common && MovesMuch(peak, peak_bytes_);
      if (reported != nullptr && run_.training && likely) reported->severity = Severity::kWarning;
    }
    if (reported == nullptr || !run_.training || row.alternatives.front().towards != Towards::kEither) {
      return absl::OkStatus();
    }
    // What is at stake is what was measured, not what the diagnostic was made with.
    const bool moves = !others.empty() && others.front().alternative == &row.alternatives.front();
    if (reported->bytes) reported->bytes = moves ? std::abs(others.front().peak_bytes - peak_bytes_) : 0;
    if (!others.empty()) reported->details.push_back(RangeText(others, peak_bytes_));
    return absl::OkStatus();
  }

  // The peak with all of `taken` the other way.
  absl::StatusOr<int64_t> PeakWith(const Alternatives& taken) const {
    Run run = run_;
    bool anew = false, edits = false;
    for (const Alternative* one : taken) {
      if (one->run != nullptr) one->run(run);
      anew |= one->run != nullptr;
      edits |= one->lowered != nullptr;
    }
    std::optional<Lowered> other;
    if (anew) {
      ASSIGN_OR_RETURN(other, lower_for_(run));
    } else if (edits) {
      other = lowered_;
    }
    bool changed = anew;
    for (const Alternative* one : taken) {
      if (one->lowered != nullptr) changed |= one->lowered(*other);
    }
    int64_t peak = peak_bytes_;
    if (changed) {
      ASSIGN_OR_RETURN(peak, peak_of_(*other, run));
    }
    for (const Alternative* one : taken) {
      if (one->bytes != nullptr) peak -= one->bytes(lowered_);
      if (one->percent != nullptr) peak -= peak_bytes_ / 100 * one->percent(lowered_);
    }
    return peak;
  }

  const Lowered& lowered_;
  const Run& run_;
  const Peak peak_;
  const int64_t peak_bytes_;
  LowerFor lower_for_;
  PeakOfLowered peak_of_;
  int64_t lowest_ = peak_bytes_;
  int64_t highest_ = peak_bytes_;
  Alternatives less_, more_, only_less_;
};

}  // namespace

absl::StatusOr<PeakBounds> BoundPeak(const Lowered& lowered, const Run& run, Peak peak, LowerFor lower_for,
                                     PeakOfLowered peak_of, std::vector<Diagnostic>& diagnostics) {
  if (lowered.recorded) return PeakBounds{peak.bytes, peak.bytes};  // nothing is open
  Bounds bounds(lowered, run, peak, lower_for, peak_of);
  for (const Assumption& row : Assumptions()) RETURN_IF_ERROR(bounds.Take(row, diagnostics));
  return bounds.Join();
}

PeakBounds WithMargin(const PeakBounds& open, int64_t peak_bytes, const Lowered& lowered, bool training) {
  if (lowered.recorded) return open;
  const Margin beside = MarginBeside(ListingOf(lowered.assumptions), training);
  const Margin least = LeastReach(training);
  const int64_t percent = peak_bytes / 100;
  const int64_t low =
      std::min(open.low_bytes - percent * beside.less_percent, peak_bytes - percent * least.less_percent);
  const int64_t high =
      std::max(open.high_bytes + percent * beside.more_percent, peak_bytes + percent * least.more_percent);
  return {std::max<int64_t>(low, 0), high};
}

}  // namespace onnx_mem
