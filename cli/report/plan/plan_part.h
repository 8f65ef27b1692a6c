// What a report says of checkpoint plans: the request, the answer, and the course of memory with the chosen plan.
#ifndef ONNX_MEM_CLI_REPORT_PLAN_PLAN_PART_H_
#define ONNX_MEM_CLI_REPORT_PLAN_PLAN_PART_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/plans/measure/plan.h"
#include "planner/plans/search/largest_batch.h"

namespace onnx_mem {

struct PlanPart {
  PlanRequest request;
  PlanAnswer answer;
  std::vector<int64_t> live_bytes;  // per step of the whole training step, with the chosen plan; empty without one
  std::optional<LargestBatch> largest_batch;
  std::optional<SmallerBatch> smaller_batch;  // without a plan for the one asked for
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_REPORT_PLAN_PLAN_PART_H_
