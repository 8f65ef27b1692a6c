// A model and a card -> the largest batch that fits, certified by measuring both sides of the line, and what makes a
// batch fit that does not.
//
// The law between batch and bytes says where to look, never what is there: the answer N is a measured run that fits
// beside a measured run of N + 1 that does not.
#ifndef ONNX_MEM_PLANNER_PLANS_ADVICE_FIT_H_
#define ONNX_MEM_PLANNER_PLANS_ADVICE_FIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/plans/advice/meter.h"
#include "planner/plans/advice/savings.h"
#include "planner/plans/advice/way.h"

namespace onnx_mem {

struct FittingBatch {
  int64_t batch = 0;          // 0: not even one sample fits
  bool at_least = false;      // nothing larger was looked at: kLargestBatch fits
  std::optional<int64_t> device_bytes;         // at `batch`; unset for 0
  std::optional<int64_t> device_bytes_beyond;  // at `batch` + 1; unset with at_least
};

inline constexpr int64_t kLargestBatch = int64_t{1} << 30;

// The largest batch of `workload` (its own batch is where the search starts) whose device bytes are at most
// `limit_bytes`. Errors: static-batch and other errors of Analyze where the batch cannot be changed.
absl::StatusOr<FittingBatch> FindLargestBatch(Meter& meter, const Workload& workload, int64_t limit_bytes);

struct FitWay {
  Saving saving;
  std::optional<int64_t> largest_batch;  // with the change; unset where the change is of the batch itself
};

// Changes with which `workload`, which needs more than `limit_bytes`, needs no more, cheapest first; combinations of
// two or three where no single one at the price of time or less is enough. Empty where nothing helps.
absl::StatusOr<std::vector<FitWay>> WaysToFit(Meter& meter, const Workload& workload, int64_t limit_bytes,
                                              const AdviceRequest& request);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_PLANS_ADVICE_FIT_H_
