// Checkpoint segments named by modules or nodes -> ranges of lowered nodes.
#ifndef ONNX_MEM_ANALYZER_SEGMENTS_H_
#define ONNX_MEM_ANALYZER_SEGMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/eager/executor.h"
#include "analyzer/graph/graph.h"
#include "analyzer/run.h"

namespace onnx_mem {

// `graph` is lowered: nodes know their module. Ranges come sorted and do not overlap. Errors: unknown-module with a
// suggestion, bad-plan when two segments overlap.
absl::StatusOr<std::vector<eager::NodeRange>> SegmentRanges(const Graph& graph, const Run& run);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_SEGMENTS_H_
