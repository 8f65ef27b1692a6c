// Graph + Run -> Lowered: what the framework runs, wherever the file says it from, with every size settled.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_PREPARE_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_PREPARE_H_

#include "absl/status/statusor.h"
#include "analyzer/graph/graph.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/prepare/source.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// Errors: Unimplemented for constructs that are refused.
absl::StatusOr<Lowered> Prepare(const Graph& graph, const Run& run);
// The same of a graph that has no record, for who lowers it more than once.
absl::StatusOr<Lowered> Prepare(const Source& source, const Run& run);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_PREPARE_H_
