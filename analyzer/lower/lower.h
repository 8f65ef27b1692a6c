// Graph -> the operators that the framework ran: ONNX operators translated by one table, fused operators recovered,
// what the exporter folded put back, Python numbers told from device tensors.
#ifndef ONNX_MEM_ANALYZER_LOWER_LOWER_H_
#define ONNX_MEM_ANALYZER_LOWER_LOWER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/graph.h"
#include "analyzer/graph/tensor_kind.h"
#include "analyzer/run.h"

namespace onnx_mem {

struct Lowered {
  Graph graph;  // nodes are framework operators (eager/op_table.h) in the order in which they ran; no dead nodes
  IdVector<TensorId, TensorKind> kinds;
  // Parameters and buffers that no tensor of the graph shows but the module has (a BatchNorm's 8-byte counter): extra
  // static bytes, by category.
  int64_t hidden_buffer_bytes = 0;
  absl::flat_hash_set<TensorId> frozen;  // parameters that the model itself does not train
  bool training_form = false;  // exported in training mode: its dropouts are in the file
  std::vector<Diagnostic> diagnostics;
  std::vector<Diagnostic> plain_rewrites;  // applied, but told by a check of the file alone
  std::vector<std::string> assumptions;
};

// `graph` as imported, every shape known where it can be. Never fails for an unknown operator: it becomes "assumed".
// Errors: InvalidArgument "unknown-rewrite" for a name in run.disabled_rewrites.
absl::StatusOr<Lowered> Lower(const Graph& graph, const Run& run);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_LOWER_H_
