// The largest batch whose bytes are within a limit, by measuring runs: both sides of the line are measured.
#ifndef ONNX_MEM_PLANNER_ADVICE_BATCH_SEARCH_H_
#define ONNX_MEM_PLANNER_ADVICE_BATCH_SEARCH_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/advice/fit.h"

namespace onnx_mem {

class BatchSearch {
 public:
  // What a run at `batch` takes. An error of code too-large is more than any limit, and so is one of code bad-shape
  // beyond a size that runs: a model has a longest sequence. Other errors end the search.
  using BytesAt = absl::FunctionRef<absl::StatusOr<int64_t>(int64_t batch)>;

  // `bytes_at` outlives it. `known` has what was measured before.
  BatchSearch(BytesAt bytes_at, int64_t limit_bytes, std::map<int64_t, int64_t> known = {});

  // `start` is the first batch that is measured where none is known.
  absl::StatusOr<FittingBatch> Run(int64_t start);

 private:
  struct Point {
    int64_t batch = 0;
    int64_t bytes = 0;
    bool refused = false;  // the model does not run there
  };

  absl::Status Try(int64_t batch);
  void Take(const Point& point);
  absl::Status Bracket();
  int64_t Beyond(const Point& a, const Point& b) const;
  std::optional<double> Crossing() const;
  int64_t Guess();

  BytesAt bytes_at_;
  int64_t limit_bytes_;
  std::map<int64_t, int64_t> known_;
  Point fits_;  // batch 0: nothing yet
  std::optional<Point> beyond_;
  int64_t guesses_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_BATCH_SEARCH_H_
