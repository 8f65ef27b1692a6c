#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "planner/advice/fit.h"

namespace onnx_mem {
namespace {

struct Point {
  int64_t batch = 0;
  int64_t bytes = 0;
};

class Search {
 public:
  Search(Meter& meter, Workload workload, int64_t limit_bytes)
      : meter_(meter), workload_(std::move(workload)), limit_bytes_(limit_bytes) {}

  absl::StatusOr<FittingBatch> Run(int64_t start) {
    RETURN_IF_ERROR(Try(start));
    RETURN_IF_ERROR(Bracket());
    while (fits_.batch + 1 < beyond_->batch && fits_.batch < kLargestBatch) RETURN_IF_ERROR(Try(Guess()));
    FittingBatch largest;
    largest.batch = fits_.batch;
    largest.at_least = fits_.batch >= kLargestBatch;
    if (fits_.batch > 0) largest.device_bytes = fits_.bytes;
    if (!largest.at_least) largest.device_bytes_beyond = beyond_->bytes;
    return largest;
  }

 private:
  // Sizes beyond any memory do not fit; other errors end the search.
  absl::Status Try(int64_t batch) {
    workload_.bindings.batch = batch;
    const absl::StatusOr<Footprint> footprint = meter_.Measure(workload_);
    int64_t bytes = std::numeric_limits<int64_t>::max();
    if (footprint.ok()) {
      bytes = footprint->device_bytes;
    } else if (DiagnosticOf(footprint.status()).code != "too-large") {
      return footprint.status();
    }
    if (bytes <= limit_bytes_) {
      if (batch > fits_.batch) fits_ = {batch, bytes};
    } else if (!beyond_ || batch < beyond_->batch) {
      beyond_ = {batch, bytes};
    }
    return absl::OkStatus();
  }

  // Until something does not fit, or the largest batch does.
  absl::Status Bracket() {
    if (!beyond_ && fits_.batch < kLargestBatch) RETURN_IF_ERROR(Try(fits_.batch + 1));
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
  int64_t Beyond(const Point& a, const Point& b) const {
    const double slope = static_cast<double>(b.bytes - a.bytes) / static_cast<double>(b.batch - a.batch);
    const double crossing = static_cast<double>(b.batch) + static_cast<double>(limit_bytes_ - b.bytes) / slope;
    return static_cast<int64_t>(std::min(crossing * 1.02 + 1, static_cast<double>(kLargestBatch)));
  }

  // Where the line through both sides meets the limit; the middle every third time, since bytes come in segments.
  int64_t Guess() {
    const int64_t low = fits_.batch, high = beyond_->batch;
    const bool no_line = beyond_->bytes == std::numeric_limits<int64_t>::max() || fits_.batch == 0;
    if (++guesses_ % 3 == 0 || no_line) return low + (high - low) / 2;
    const double share = static_cast<double>(limit_bytes_ - fits_.bytes) / static_cast<double>(beyond_->bytes - fits_.bytes);
    const auto guess = low + static_cast<int64_t>(share * static_cast<double>(high - low));
    return std::clamp(guess, low + 1, high - 1);
  }

  Meter& meter_;
  Workload workload_;
  int64_t limit_bytes_;
  Point fits_;  // batch 0: nothing yet
  std::optional<Point> beyond_;
  int64_t guesses_ = 0;
};

}  // namespace

absl::StatusOr<FittingBatch> FindLargestBatch(Meter& meter, const Workload& workload, int64_t limit_bytes) {
  int64_t start = workload.bindings.batch.value_or(0);
  if (start <= 0) {
    ASSIGN_OR_RETURN(const ImportedModel* model, meter.Model(workload.bindings));
    start = std::max<int64_t>(model->info.file_batch, 1);
  }
  return Search(meter, workload, limit_bytes).Run(start);
}

}  // namespace onnx_mem
