// Graph -> the operators that the framework ran: ONNX operators translated by one table, fused operators recovered,
// what the exporter folded put back, Python numbers known from device tensors.
#ifndef ONNX_MEM_ANALYZER_PREPARE_LOWER_H_
#define ONNX_MEM_ANALYZER_PREPARE_LOWER_H_

#include <span>

#include "absl/status/statusor.h"
#include "analyzer/graph/graph.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/prepare/rewrites.h"
#include "analyzer/prepare/source.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// `graph` as imported, every shape known where it can be. Never fails for an unknown operator: it becomes "assumed".
// Releases are left to the caller (assume/names/releases.h).
// `rewrites`: in this order, for tests of it.
// Errors: InvalidArgument "unknown-rewrite" for a name in run.disabled_rewrites.
absl::StatusOr<Lowered> Lower(const Graph& graph, const Run& run, std::span<const Rewrite> rewrites = AllRewrites());
absl::StatusOr<Lowered> Lower(const Source& source, const Run& run, std::span<const Rewrite> rewrites = AllRewrites());

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PREPARE_LOWER_H_
