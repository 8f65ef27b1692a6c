// One form of a model that runs, wherever it comes from: framework operators in order, what is stored, module calls
// (Node::calls), and when Python lets go of each value. What makes it settles everything; what runs it guesses nothing.
#ifndef ONNX_MEM_ANALYZER_GRAPH_LOWERED_H_
#define ONNX_MEM_ANALYZER_GRAPH_LOWERED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/graph.h"
#include "analyzer/graph/tensor_kind.h"

namespace onnx_mem {

struct Lowered {
  Graph graph;  // nodes are framework operators (engine/op_table.h) in the order in which they ran; no dead nodes
  IdVector<TensorId, TensorKind> kinds;
  // Parameters and buffers that no tensor of the graph shows but the module has (a BatchNorm's 8-byte counter): extra
  // static bytes, by category.
  int64_t hidden_buffer_bytes = 0;
  absl::flat_hash_set<TensorId> frozen;  // parameters that the model itself does not train
  // For each tensor the index of the node after which the last Python reference to it goes: -1 where no node reads or
  // makes it, the number of nodes where the caller holds it (an output of the model).
  IdVector<TensorId, int32_t> releases;
  bool training_form = false;  // exported in training mode: its dropouts are in the file
  bool folds_values = false;   // the exporter computed what it could: in evaluation, and dynamo's in either mode
  std::vector<Diagnostic> diagnostics;
  std::vector<Diagnostic> plain_rewrites;  // applied, but told by a check of the file alone
  std::vector<std::string> assumptions;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_LOWERED_H_
