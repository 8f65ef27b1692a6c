// What lowering finds in a graph whatever is run of it: the same for training and inference, and for each choice that
// the file leaves open. So it is looked for once for all of them.
#ifndef ONNX_MEM_ANALYZER_PREPARE_SOURCE_H_
#define ONNX_MEM_ANALYZER_PREPARE_SOURCE_H_

#include <optional>
#include <vector>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/graph.h"
#include "analyzer/lower/facts/lost_tensors.h"
#include "analyzer/lower/facts/scopes.h"
#include "analyzer/lower/operators/residence.h"

namespace onnx_mem {

struct Source {
  const Graph* imported = nullptr;
  std::optional<Graph> named;  // with parameters in place of their views
  LostTensors lost;
  std::optional<Graph> with_weights;  // that the file generates
  std::optional<Graph> split;         // with merged weights apart again
  Residence residence;
  bool training_form = false;
  IdVector<NodeId, CallScope> scopes;  // of nodes that run
  std::vector<Diagnostic> exporter_findings;

  // What is lowered: `imported` with all that was found.
  const Graph& graph() const {
    if (split) return *split;
    if (with_weights) return *with_weights;
    if (lost.graph) return *lost.graph;
    return named ? *named : *imported;
  }
};

// `imported` must outlive it.
Source SourceOf(const Graph& imported);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PREPARE_SOURCE_H_
