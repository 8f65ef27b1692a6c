// What a runtime that plans ahead (onnxruntime, a static planner) does with ONNX operators, for static liveness, which
// knows no operator by name.
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_PLANNED_RUNTIME_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_PLANNED_RUNTIME_H_

#include <vector>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// All outputs of the ONNX operator share the buffer of its first input.
bool SharesItsInput(const Node& node);
// The operator may write its output over its first input.
bool MayOverwriteItsInput(const Node& node);

// Inputs over which onnxruntime's kernel may write its first output, in the order in which it tries them: fewer than a
// planner that is free to choose would overwrite.
std::vector<int> SessionOverwrites(const Node& node);

// Of each tensor, whether onnxruntime's own shape inference tells its shape at load when the file leaves dimensions
// free: in symbols up to the first operator that takes a shape which is computed while the model runs.
IdVector<TensorId, bool> ShapesKnownToSession(const Graph& graph);

// What onnxruntime's kernel on the CPU takes from the arena while it runs, in bytes: columns of one image that a
// transposed convolution gathers from, gates of all steps of a recurrent layer, the operands of a selection, the biased
// input of a GELU. 0 for all others.
int64_t SessionScratchBytes(const Graph& graph, const Node& node);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_PLANNED_RUNTIME_H_
