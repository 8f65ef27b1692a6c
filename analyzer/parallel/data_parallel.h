// A training step of one rank where every rank has its share of the batch: what was enacted on one card, with
// parameters, gradients and what the optimizer sees as the strategy leaves them, and with the buffers that it adds.
// Source of the rules: torch 2.15, distributed/fsdp/_fully_shard/, nn/parallel/distributed.py,
// distributed/optim/zero_redundancy_optimizer.py.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_DATA_PARALLEL_H_
#define ONNX_MEM_ANALYZER_PARALLEL_DATA_PARALLEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/eager/optimizer/optimizer.h"
#include "analyzer/memory/program.h"
#include "analyzer/run/layout.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

struct RankPeak {
  int64_t rank = 0;
  int64_t bytes = 0;  // exact
};

// A step before its optimizer, and what the optimizer sees.
struct LocalStep {
  std::shared_ptr<const MemoryProgram> program;
  std::vector<TrainedParameter> trained;
  int64_t rank = 0;                  // whose it is
  std::vector<RankPeak> peaks = {};  // of each stage that rank which needs most, where every stage was worked out
  int64_t summed_bytes = 0;          // gradients that DistributedDataParallel sums
};

// What is enacted for `layout`: its strategies read a step of one micro-batch, in the type of FSDP's unsharded
// parameters. `accumulate` of the run is theirs to replay.
Run EnactedRun(Run run, const RankLayout& layout);

// A run in the type of FSDP's unsharded parameters does not tell which of them had another one before: an error (usage)
// where one of `plain`, the model as it is, has this type already.
absl::Status CheckUnshardedType(const Lowered& plain, DType unsharded);

// An error (usage) where `layout` names a rank that there is not.
absl::Status CheckRank(const RankLayout& layout);

// `enacted`: EnactedRun's. `run`: as the question has it. Errors (bad-layout): no unit matches, a rank there is not.
absl::StatusOr<LocalStep> SpreadStep(const Enacted& enacted, const Run& run, const RankLayout& layout);

// The same on one card: a view of what was enacted, which outlives it, or all that was.
LocalStep WholeStep(const Enacted& enacted);
LocalStep WholeStep(Enacted&& enacted);
std::vector<TrainedParameter> WholeParameters(const Enacted& enacted);
int64_t TrainedBytes(const std::vector<TrainedParameter>& parameters);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_DATA_PARALLEL_H_
