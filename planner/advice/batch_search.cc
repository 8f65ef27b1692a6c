#include "planner/advice/batch_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace {

constexpr int64_t kTooMuch = std::numeric_limits<int64_t>::max();

}  // namespace

BatchSearch::BatchSearch(BytesAt bytes_at, int64_t limit_bytes, std::map<int64_t, int64_t> known)
    : bytes_at_(bytes_at), limit_bytes_(limit_bytes), known_(std::move(known)) {
  for (const auto& [batch, bytes] : known_) Take({batch, bytes});
}

absl::StatusOr<FittingBatch> BatchSearch::Run(int64_t start) {
  if (fits_.batch == 0 && !beyond_) RETURN_IF_ERROR(Try(start));
  RETURN_IF_ERROR(Bracket());
  while (fits_.batch + 1 < beyond_->batch && fits_.batch < kLargestBatch) RETURN_IF_ERROR(Try(Guess()));
  FittingBatch largest;
  largest.batch = fits_.batch;
  largest.at_least = fits_.batch >= kLargestBatch;
  if (fits_.batch > 0) largest.device_bytes = fits_.bytes;
  if (!largest.at_least && beyond_->bytes < kTooMuch) largest.device_bytes_beyond = beyond_->bytes;
  largest.refused_beyond = beyond_->refused;
  return largest;
}

absl::Status BatchSearch::Try(int64_t batch) {
  const absl::StatusOr<int64_t> bytes = bytes_at_(batch);
  if (bytes.ok()) {
    Take({batch, *bytes});
    return absl::OkStatus();
  }
  const Code code = DiagnosticOf(bytes.status()).code;
  const bool refused = code == Code::kBadShape && fits_.batch > 0;
  if ((!refused && code != Code::kTooLarge) || !work::HasLeft()) return bytes.status();
  Take({batch, kTooMuch, refused});
  return absl::OkStatus();
}

// Of bytes that do not only grow, the sides nearest to each other count: below what fits nothing is looked at again.
void BatchSearch::Take(const Point& point) {
  if (point.bytes <= limit_bytes_) {
    if (point.batch > fits_.batch && (!beyond_ || point.batch < beyond_->batch)) fits_ = point;
  } else if (point.batch > fits_.batch && (!beyond_ || point.batch < beyond_->batch)) {
    beyond_ = point;
  }
}

// Until something does not fit, or the largest batch does.
absl::Status BatchSearch::Bracket() {
  const std::optional<double> crossing = beyond_ ? std::nullopt : Crossing();
  if (!beyond_ && fits_.batch < kLargestBatch) {
    const double next =
        std::clamp(crossing.value_or(0) + 1, static_cast<double>(fits_.batch + 1), static_cast<double>(kLargestBatch));
    RETURN_IF_ERROR(Try(static_cast<int64_t>(next)));
  }
  Point before = fits_;
  while (!beyond_ && fits_.batch < kLargestBatch) {
    const Point now = fits_;
    int64_t next = 2 * now.batch;
    if (before.batch < now.batch && now.bytes > before.bytes) next = std::max(next, Beyond(before, now));
    before = now;
    RETURN_IF_ERROR(Try(std::min(next, kLargestBatch)));
  }
  if (!beyond_) beyond_ = Point{kLargestBatch + 1, 0};  // never looked at
  return absl::OkStatus();
}

// A little past where the line through two batches meets the limit.
int64_t BatchSearch::Beyond(const Point& a, const Point& b) const {
  const double slope = static_cast<double>(b.bytes - a.bytes) / static_cast<double>(b.batch - a.batch);
  const double crossing = static_cast<double>(b.batch) + static_cast<double>(limit_bytes_ - b.bytes) / slope;
  return static_cast<int64_t>(std::min(crossing * 1.02 + 1, static_cast<double>(kLargestBatch)));
}

// Where the line through the first and the last of the batches that were known meets the limit.
std::optional<double> BatchSearch::Crossing() const {
  if (known_.size() < 2) return std::nullopt;
  const auto [first, low] = *known_.begin();
  const auto [last, high] = *known_.rbegin();
  if (high <= low || high == kTooMuch) return std::nullopt;
  const double slope = static_cast<double>(high - low) / static_cast<double>(last - first);
  const double left = static_cast<double>(limit_bytes_) - static_cast<double>(high);
  return std::floor(static_cast<double>(last) + left / slope);
}

// Where the line through both sides meets the limit; the middle every third time, since bytes come in segments.
int64_t BatchSearch::Guess() {
  const int64_t low = fits_.batch, high = beyond_->batch;
  ++guesses_;
  if (guesses_ == 1) {
    if (const std::optional<double> crossing = Crossing()) {
      const double guess = std::clamp(*crossing, static_cast<double>(low + 1), static_cast<double>(high - 1));
      return static_cast<int64_t>(guess);
    }
  }
  const bool no_line = beyond_->bytes == kTooMuch || fits_.batch == 0;
  if (guesses_ % 3 == 0 || no_line) return low + (high - low) / 2;
  const double share =
      static_cast<double>(limit_bytes_ - fits_.bytes) / static_cast<double>(beyond_->bytes - fits_.bytes);
  const auto guess = low + static_cast<int64_t>(share * static_cast<double>(high - low));
  return std::clamp(guess, low + 1, high - 1);
}

}  // namespace onnx_mem
