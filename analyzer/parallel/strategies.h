// The rows of data parallelism, a function each.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_STRATEGIES_H_
#define ONNX_MEM_ANALYZER_PARALLEL_STRATEGIES_H_

#include "absl/status/statusor.h"
#include "analyzer/parallel/data_parallel.h"
#include "analyzer/parallel/fsdp_units.h"
#include "analyzer/parallel/step_editor.h"
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

// What the stages of a pipeline have of them as well.

// DDP's buckets: flat, without padding, and there from construction to the end, whatever their number.
Buffer BucketsOf(const StepFacts& facts);
// ZeroRedundancyOptimizer deals whole parameters: of `step`, which is that of the first of those that share the batch,
// the rank's own are left. Without a rank in `layout` it becomes that of the one that gets most.
void DealParameters(const RankLayout& layout, LocalStep& step);
// Floating buffers and inputs keep their type under MixedPrecisionPolicy; of inputs a copy is converted, one of
// `casts`.
Buffer InOwnType(Buffer buffer, const RankLayout& layout, std::vector<Buffer>& casts);
std::vector<BufferId> OpenCasts(const std::vector<Buffer>& casts, StepEditor& editor);
// What the optimizer of a rank sees of `units`.
std::vector<TrainedParameter> TrainedShards(const StepFacts& facts, const std::vector<FsdpUnit>& units,
                                            const RankLayout& layout);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_STRATEGIES_H_
