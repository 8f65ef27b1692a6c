#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/run/work.h"
#include "planner/plans/advice/fit.h"

namespace onnx_mem {
namespace {

struct Point {
  int64_t batch = 0;
  int64_t bytes = 0;
};

class Search {
 public:
  Search(Meter& meter, Workload workload, std::vector<std::string> inputs, int64_t limit_bytes)
      : meter_(meter), workload_(std::move(workload)), inputs_(std::move(inputs)), limit_bytes_(limit_bytes) {}

  absl::StatusOr<FittingBatch> Run(int64_t start) {
    bound_to_ = start;
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
    SetBatch(batch);
    const absl::StatusOr<Footprint> footprint = meter_.Measure(workload_);
    int64_t bytes = std::numeric_limits<int64_t>::max();
    if (footprint.ok()) {
      bytes = footprint->device_bytes;
    } else if (DiagnosticOf(footprint.status()).code != Code::kTooLarge || !work::HasLeft()) {
      return footprint.status();
    }
    if (bytes <= limit_bytes_) {
      if (batch > fits_.batch) fits_ = {batch, bytes};
    } else if (!beyond_ || batch < beyond_->batch) {
      beyond_ = {batch, bytes};
    }
    return absl::OkStatus();
  }

  // Inputs that were given whole carry the batch in dim 0.
  void SetBatch(int64_t batch) {
    Bindings& bindings = workload_.bindings;
    bindings.batch = batch;
    for (const std::string& name : inputs_) {
      const auto given = bindings.inputs.find(name);  // weights may be given, too
      if (given == bindings.inputs.end() || given->second.empty()) continue;
      if (given->second.front() == bound_to_) given->second.front() = batch;
    }
    bound_to_ = batch;
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
    const double share =
        static_cast<double>(limit_bytes_ - fits_.bytes) / static_cast<double>(beyond_->bytes - fits_.bytes);
    const auto guess = low + static_cast<int64_t>(share * static_cast<double>(high - low));
    return std::clamp(guess, low + 1, high - 1);
  }

  Meter& meter_;
  Workload workload_;
  std::vector<std::string> inputs_;  // of the model
  int64_t limit_bytes_;
  int64_t bound_to_ = 0;  // the batch that inputs have now
  Point fits_;  // batch 0: nothing yet
  std::optional<Point> beyond_;
  int64_t guesses_ = 0;
};

}  // namespace

absl::StatusOr<FittingBatch> FindLargestBatch(Meter& meter, const Workload& workload, int64_t limit_bytes) {
  ASSIGN_OR_RETURN(const ImportedModel* model, meter.Model(workload.bindings));
  std::vector<std::string> inputs;
  for (TensorId id : model->graph.inputs) inputs.push_back(model->graph.tensors[id].name);
  const int64_t start = std::max<int64_t>(workload.bindings.batch.value_or(model->info.file_batch), 1);
  return Search(meter, workload, std::move(inputs), limit_bytes).Run(start);
}

}  // namespace onnx_mem
