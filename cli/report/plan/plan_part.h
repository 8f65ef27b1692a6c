// What a report says of checkpoint plans: the request, the answer, and the course of memory with the chosen plan.
#ifndef ONNX_MEM_CLI_REPORT_PLAN_PLAN_PART_H_
#define ONNX_MEM_CLI_REPORT_PLAN_PLAN_PART_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "planner/plans/measure/plan.h"
#include "planner/plans/search/largest_batch.h"

namespace onnx_mem {

struct PlanPart {
  PlanRequest request;
  PlanAnswer answer;
  std::vector<int64_t> live_bytes;  // per step of the whole training step, with the chosen plan; empty without one
  std::optional<LargestBatch> largest_batch;
  std::optional<SmallerBatch> smaller_batch;  // without a plan for the one asked for
  // For formats that draw every step: the run without any plan, and with each plan of `answer`.
  struct Drawn {
    std::shared_ptr<const Analysis> analysis = nullptr;  // null for a plan without segments, which is the baseline
    std::string code = "";  // that applies it
  };
  std::shared_ptr<const Analysis> baseline;
  std::vector<Drawn> drawn;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_REPORT_PLAN_PLAN_PART_H_
