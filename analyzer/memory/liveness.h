// Graph -> MemoryProgram for a runtime that plans ahead: a tensor exists from the step that makes it to its last
// reader, no longer and no shorter. No framework does this exactly; it is the ideal that eager runs are compared with,
// and what onnxruntime and static planners come near.
//
//   x --conv--> y --relu--> z --reshape--> v --gemm--> out        steps 0 conv, 1 relu, 2 reshape, 3 gemm
//
//   w, x   [0, 4)   weights and inputs live throughout
//   y      [0, 2)   made by conv, last read by relu
//   z      [1, 4)   v is a view of it and is read by gemm
//   out    [3, 4)   outputs live to the end
//
// This file knows no operator by name: the caller's rules tell which nodes make views.
#ifndef ONNX_MEM_ANALYZER_MEMORY_LIVENESS_H_
#define ONNX_MEM_ANALYZER_MEMORY_LIVENESS_H_

#include <functional>
#include <optional>

#include "analyzer/graph/graph.h"
#include "analyzer/memory/program.h"
#include "analyzer/memory/tensor_category.h"

namespace onnx_mem {

// What the caller knows about operators and weights. An empty function means the default in its comment.
struct LivenessRules {
  // Whether all outputs of the node share the storage of its first input. Default: no node's do.
  std::function<bool(const Node&)> is_view;
  // Whether the node may write its first output over its first input, where nobody reads that any more and the sizes
  // are equal. Default: no node may.
  std::function<bool(const Node&)> may_overwrite;
  // What initializers and constants are.
  WeightCategory weight_category;
};

// One step per node, in the order of the graph. Tensors with known contents that a node computes cost nothing: they
// are folded. Buffers of unknown size have 0 bytes and, like upper bounds, are marked `assumed`. The result passes
// VerifyProgram unless the sizes overflow.
MemoryProgram ComputeLiveness(const Graph& graph, const LivenessRules& rules);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_MEMORY_LIVENESS_H_
