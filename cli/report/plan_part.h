// What a report says of checkpoint plans: the request, the answer, and the course of memory with the chosen plan.
#ifndef ONNX_MEM_CLI_REPORT_PLAN_PART_H_
#define ONNX_MEM_CLI_REPORT_PLAN_PART_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/model/plan.h"

namespace onnx_mem {

// The largest batch that a plan brings within the budget.
struct LargestBatch {
  int64_t batch = 0;             // 0: not even one sample
  int64_t without_plan = 0;      // the largest that fits as it is
  std::optional<int64_t> bound;  // proven: no checkpointing fits a larger one; unset where that was not looked for
};

struct PlanPart {
  PlanRequest request;
  PlanAnswer answer;
  std::vector<int64_t> live_bytes;  // per step of the whole training step, with the chosen plan; empty without one
  std::optional<LargestBatch> largest_batch;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_REPORT_PLAN_PART_H_
