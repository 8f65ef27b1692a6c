// A model cut into the stages of a pipeline: graphs that are enacted by themselves.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_STAGE_CUT_H_
#define ONNX_MEM_ANALYZER_PARALLEL_STAGE_CUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/run/layout.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

struct StageGraph {
  Lowered lowered;                      // its inputs: those received, then the model's own that it reads
  NodeSpan nodes;                       // of the whole model
  size_t received = 0;                  // of its inputs
  std::vector<std::string> wants_grad;  // names of the received inputs that need a gradient
  bool is_last = false;
};

// The modules at which stages begin so that each has about as many FLOPs: of the blocks that repeat. `whole`: the
// model enacted. Error (usage): it has too few of them.
absl::StatusOr<std::vector<std::string>> BalancedSplit(const Enacted& whole, const PipelineLayout& layout);

// A new stage begins with the first node of each of `split`. Errors (usage): no node is of such a module, they do not
// follow each other, a function or checkpoint of the model's code is cut.
absl::StatusOr<std::vector<StageGraph>> CutIntoStages(const Lowered& whole, const Run& run,
                                                      const std::vector<std::string>& split);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_STAGE_CUT_H_
