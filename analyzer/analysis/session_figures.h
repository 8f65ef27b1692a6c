// Figures of one onnxruntime session, which plans its memory before it runs.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_SESSION_FIGURES_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_SESSION_FIGURES_H_

#include "absl/status/status.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/graph/graph.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// A session's first run allocates tensor by tensor, all later ones a block for the pattern that it traced. `eager`: the
// framework's run of the graph, whose convolutions tell what cuDNN may take. `free_dims`: the file leaves dimensions
// open, of which a session knows less than we do.
absl::Status FillSession(const Graph& graph, const MemoryProgram& eager, const Workload& workload, bool free_dims,
                         RunFigures& figures);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_SESSION_FIGURES_H_
