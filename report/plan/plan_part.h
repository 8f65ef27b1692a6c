// What a report says of checkpoint plans: the request, the answer, and the course of memory with the chosen plan.
#ifndef ONNX_MEM_REPORT_PLAN_PLAN_PART_H_
#define ONNX_MEM_REPORT_PLAN_PLAN_PART_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/devices/verdict.h"
#include "planner/answer/largest_batch.h"
#include "planner/measure/plan.h"
#include "report/analyze/limit.h"

namespace onnx_mem {

// Along a size of the inputs: the largest that the budget has room for, others as in the question. 0: not even the
// smallest.
struct LargestSize {
  std::string over;  // its name
  int64_t size = 0;  // with the chosen plan
  int64_t without_plan = 0;
};

struct PlanPart {
  PlanRequest request;
  PlanAnswer answer;
  std::vector<int64_t> live_bytes;  // per step of the whole training step, with the chosen plan; empty without one
  std::optional<LargestBatch> largest_batch;
  std::optional<LargestSize> largest_size;
  std::optional<SmallerBatch> smaller_batch;  // without a plan for the one requested
  // What the plan was held against, its budget first: what the step needs there as it is, and with the chosen plan
  // (where there is none: with the one that needs least).
  struct Held {
    Limit limit;
    Need as_it_is, planned;
    Verdict verdict = Verdict::kDoesNotFit;  // of the plan; without a chosen one its budget is none that it fits
  };
  std::vector<Held> held;
  // For formats that draw every step: the run without any plan, and with each plan of `answer`.
  struct Drawn {
    std::shared_ptr<const Analysis> analysis = nullptr;  // null for a plan without segments, which is the baseline
    std::string code = "";                               // that applies it
  };
  std::shared_ptr<const Analysis> baseline;
  std::vector<Drawn> drawn;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PLAN_PLAN_PART_H_
