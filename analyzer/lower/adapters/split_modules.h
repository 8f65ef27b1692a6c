// The modules that tensor parallelism splits, as the question's plan or the graph has them.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SPLIT_MODULES_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SPLIT_MODULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/lower/adapters/styled_modules.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

// As parallelize_module names it.
struct SplitModule {
  std::string path;
  TensorStyle style = TensorStyle::kColwise;
  // ColwiseParallel or RowwiseParallel splits it the same way: it is one nn.Linear or nn.Embedding, with a weight of
  // its own and one projection in it.
  bool in_torch = true;
};

// Each path once. `lowered` is the whole model. Error (usage): as SplitTensors.
absl::StatusOr<std::vector<SplitModule>> SplitModulesOf(const Lowered& lowered, const TensorLayout& layout);

// As the graph is split. Sorted; a module for each of its calls.
absl::StatusOr<std::vector<StyledModule>> StyledPlanOf(const Lowered& lowered, const TensorLayout& layout);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SPLIT_MODULES_H_
