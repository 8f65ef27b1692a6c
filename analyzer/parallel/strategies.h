// The rows of data parallelism, a function each.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_STRATEGIES_H_
#define ONNX_MEM_ANALYZER_PARALLEL_STRATEGIES_H_

#include "absl/status/statusor.h"
#include "analyzer/parallel/data_parallel.h"
#include "analyzer/parallel/step_facts.h"

namespace onnx_mem {

// What a strategy reads. `enacted` has the facts.
struct SpreadInput {
  const Enacted& enacted;
  const StepFacts& facts;
  const Run& run;
  const RankLayout& layout;
};

absl::StatusOr<LocalStep> SpreadDdp(const SpreadInput& input);    // and its buckets
absl::StatusOr<LocalStep> SpreadZero1(const SpreadInput& input);  // DDP, and an optimizer that has whole parameters
absl::StatusOr<LocalStep> SpreadFsdp(const SpreadInput& input);   // fully_shard, over one mesh or two

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_STRATEGIES_H_
