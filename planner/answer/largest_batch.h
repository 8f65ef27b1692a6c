// The largest batch that a checkpoint plan brings within a budget, the largest without one, and the largest that is not
// proven impossible.
#ifndef ONNX_MEM_PLANNER_ANSWER_LARGEST_BATCH_H_
#define ONNX_MEM_PLANNER_ANSWER_LARGEST_BATCH_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analyzer/study/study.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

struct LargestBatch {
  int64_t batch = 0;         // 0: not even one sample
  int64_t without_plan = 0;  // the largest that fits as it is
  // Proven: no set of the segments that the request allows fits a larger one; unset where that was not looked for.
  std::optional<int64_t> class_bound;
  std::optional<int64_t> bound;  // proven: no checkpointing fits a larger one; unset where that was not looked for
};

// No batch beyond this is tried.
inline constexpr int64_t kMostBatch = 1 << 16;

// `request` has a budget; `workload.bindings.batch` is what is looked for. Errors: those of PlanModel.
absl::StatusOr<LargestBatch> FindLargestBatch(Study& study, const Workload& workload, const PlanRequest& request);

// A smaller batch than `batch` for which a plan was found, and what it takes: a large one of them, not proven the
// largest.
struct SmallerBatch {
  int64_t batch = 0;
  ModulePlan plan;
};
// nullopt: none was found, or the file's batch is fixed. At most `tries` batches are looked at.
std::optional<SmallerBatch> FindSmallerBatch(Study& study, const Workload& workload, const PlanRequest& request,
                                             int64_t batch, int tries = 5);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_LARGEST_BATCH_H_
