// Checkpoint segments named by modules or nodes -> ranges of lowered nodes, and what running such a range twice does.
//
//   {"modules": ["layer1.0", "layer1.1"]}   one range, from the first node of layer1.0 to the last of layer1.1
//   {"modules": ["shared"]}, called twice   two ranges: wrapping a module checkpoints each of its calls
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_SEGMENTS_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_SEGMENTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/module_nodes.h"
#include "analyzer/eager/engine/executor.h"
#include "analyzer/graph/framework_graph.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// The call of `module` that `node` runs in, as it stands in node.calls; nullopt if `node` runs outside of it, or if
// `module` is never called itself (an nn.ModuleList).
std::optional<std::string> CallOf(const FrameworkNode& node, std::string_view module);

// The ranges of one segment, sorted: one, or one for each call of its only module. `modules` are the graph's.
// Errors: unknown-module, unknown-node.
absl::StatusOr<std::vector<eager::NodeRange>> RangesOf(const FrameworkGraph& graph, const ModuleNodes& modules,
                                                       const Segment& segment);

// What a second run of nodes does beside computing the same.
struct RerunEffects {
  bool random = false;              // draws random numbers: the generator's state must be kept
  bool running_statistics = false;  // would update a BatchNorm's running statistics twice
  bool overwrites_inputs = false;   // an in-place operator destroys what the second run starts from: autograd refuses
};
RerunEffects EffectsOfRerun(const FrameworkGraph& graph, const eager::NodeRange& range);

// The autograd.Function of the user's code that `span` cuts: its forward runs as one, and no segment begins or ends
// within it. nullptr where there is none.
const UserFunction* FunctionCutBy(const Lowered& lowered, const NodeSpan& span);

// `graph` is lowered: nodes know their module. Ranges come sorted and do not overlap. Errors: unknown-module with a
// suggestion, bad-plan when two segments overlap.
// `known`: the graph's modules; nullptr: they are looked up where there are segments.
absl::StatusOr<std::vector<eager::NodeRange>> SegmentRanges(const FrameworkGraph& graph, const Run& run,
                                                            const ModuleNodes* known = nullptr);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_SEGMENTS_H_
