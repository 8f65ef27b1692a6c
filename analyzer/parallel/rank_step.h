// From a lowered graph to the step of one rank, in the order in which layouts combine: the graph is rewritten to local
// sizes (tensor parallel) or cut (pipeline), enacted, and what data parallelism adds is laid over it.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_RANK_STEP_H_
#define ONNX_MEM_ANALYZER_PARALLEL_RANK_STEP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/eager/optimizer/optimizer.h"
#include "analyzer/lower/adapters/split_modules.h"
#include "analyzer/parallel/data_parallel.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

// What of `layout` decides how the model is enacted.
struct EnactedLayout {
  Run run;
  TensorLayout tensor;
  friend bool operator==(const EnactedLayout&, const EnactedLayout&) = default;
};
EnactedLayout EnactedPart(const Run& run, const RankLayout& layout);

// The graph of one rank in local sizes, and its run, with the loss that the whole graph's sizes tell.
struct RankGraph {
  Lowered lowered;
  Run run;
  std::vector<std::string> split = {};  // modules, each once
};
absl::StatusOr<RankGraph> GraphOfRank(const Lowered& lowered, const EnactedLayout& part);

// The modules that are split, none without tensor parallelism.
absl::StatusOr<std::vector<SplitModule>> SplitModulesOf(const Lowered& lowered, const RankLayout& layout);
std::vector<std::string> PathsOf(const std::vector<SplitModule>& split);

// `lowered`: of the run of `part`.
absl::StatusOr<Enacted> EnactRank(const Lowered& lowered, const EnactedLayout& part);

// `enacted`: EnactRank of `lowered`, which outlives a step on one card. `run`: as the question has it.
absl::StatusOr<LocalStep> RankStep(const Lowered& lowered, const Enacted& enacted, const Run& run,
                                   const RankLayout& layout, const Optimizer& optimizer);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_RANK_STEP_H_
