// The modules that a plan of tensor parallelism names.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_STYLED_MODULES_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_STYLED_MODULES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "analyzer/graph/framework_graph.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

using TensorPlan = std::vector<std::pair<std::string, TensorStyle>>;  // a style for each pattern over module paths

// A module of the plan, while its nodes are written.
struct StyledModule {
  std::string path;
  TensorStyle style = TensorStyle::kColwise;
  int32_t first = 0, last = 0;                    // its nodes
  int64_t pieces = 1;                             // projections in one layer, each split by heads
  absl::flat_hash_map<TensorId, TensorId> reads;  // what its nodes read in place of what they did
};

absl::Status CannotSplit(std::string message);  // usage

// Outer modules first.
void SortModules(std::vector<StyledModule>& modules);

// Sorted. Error (usage): a pattern that matches none.
absl::StatusOr<std::vector<StyledModule>> StyledModulesOf(const FrameworkGraph& graph, const TensorPlan& plan);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_STYLED_MODULES_H_
