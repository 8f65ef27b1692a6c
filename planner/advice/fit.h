// A model and a card -> the largest batch that fits, certified by measuring both sides of the line, and what makes a
// batch fit that does not.
//
// The law between batch and bytes says where to look, never what is there: the answer N is a measured run that fits
// beside a measured run of N + 1 that does not.
#ifndef ONNX_MEM_PLANNER_ADVICE_FIT_H_
#define ONNX_MEM_PLANNER_ADVICE_FIT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/devices/verdict.h"
#include "analyzer/study/axis.h"
#include "planner/advice/footprint.h"
#include "planner/advice/savings.h"
#include "planner/advice/way.h"

namespace onnx_mem {

// A batch, or another size along an axis.
struct FittingBatch {
  int64_t batch = 0;                           // 0: not even one sample fits
  bool at_least = false;                       // nothing larger was looked at: kLargestBatch fits
  std::optional<int64_t> device_bytes;         // at `batch`; unset for 0
  std::optional<int64_t> device_bytes_beyond;  // at `next`; unset with at_least, or beyond what can be counted
  bool refused_beyond = false;                 // the model does not run at `next`
  int64_t next = 1;                            // the next larger one: `batch` + 1, but where sizes come in steps
};

inline constexpr int64_t kLargestBatch = int64_t{1} << 30;

// The largest batch of `workload` (its own batch is where the search starts), or the largest size along another axis,
// whose device bytes are at most `limit_bytes`. Errors: static-batch and other errors of Analyze where the size cannot
// be changed.
absl::StatusOr<FittingBatch> FindLargestBatch(Study& study, const Workload& workload, int64_t limit_bytes,
                                              const Axis& axis = {});

// What a workload needs at one batch, or other size, after another; what was measured is not measured again.
class BatchNeeds {
 public:
  // `study` outlives it. Errors: those of Study::Import.
  static absl::StatusOr<BatchNeeds> Create(Study& study, const Workload& workload, const Axis& axis = {});

  int64_t start() const { return start_; }  // the workload's own batch, where searches begin
  SizeGrid grid() const;                    // the batch of a pipeline is that of all its micro-batches

  // The expected figure alone, which costs a fraction of all three. Errors: those of Analyze.
  absl::StatusOr<int64_t> ExpectedAt(int64_t batch);
  absl::StatusOr<Need> At(int64_t batch);

  // One figure of all that At has measured.
  std::map<int64_t, int64_t> Known(int64_t Need::*figure) const;

 private:
  BatchNeeds(Study& study, Workload workload, Axis axis, Shared<ImportedModel> model)
      : study_(&study),
        workload_(std::move(workload)),
        axis_(std::move(axis)),
        model_(std::move(model)),
        start_(SizeAlong(axis_, workload_.bindings, *model_)) {}
  Workload WorkloadAt(int64_t size) const;

  Study* study_;
  Workload workload_;
  Axis axis_;
  Shared<ImportedModel> model_;  // at start_
  int64_t start_ = 1;
  std::map<int64_t, Need> known_;
};

// The three batches at which the answer changes, each a measured run beside one of one sample more or less.
struct BatchEdges {
  FittingBatch safe;                       // the largest whose high is within the limit; its bytes are the high ones
  FittingBatch expected;                   // the largest whose expected figure is
  std::optional<int64_t> impossible_from;  // the smallest whose low is above it; unset: none up to kLargestBatch
  std::optional<int64_t> impossible_low_bytes;  // low there, and at one sample less
  std::optional<int64_t> possible_low_bytes;
  int64_t possible = 0;  // the size of that: the largest that is not impossible
};
absl::StatusOr<BatchEdges> FindBatchEdges(BatchNeeds& needs, int64_t limit_bytes);

struct FitWay {
  Saving saving;
  std::optional<int64_t> largest_batch;  // with the change, or the largest size along the axis; unset where the change
                                         // is of the batch itself
};

// Changes with which `workload`, which needs more than `limit_bytes`, needs no more, cheapest first; combinations of
// two or three where no single one at the price of time or less is enough. Empty where nothing helps.
absl::StatusOr<std::vector<FitWay>> WaysToFit(Study& study, const Workload& workload, int64_t limit_bytes,
                                              const AdviceRequest& request, const Axis& axis = {});

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_FIT_H_
