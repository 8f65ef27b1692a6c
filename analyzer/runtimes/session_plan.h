// Graph -> MemoryProgram of one onnxruntime session run: which tensors share a buffer, by the session's own allocation
// plan, which is made before anything runs.
//
// Nodes in order; per output, the first that applies:
//   1. a graph output has a buffer of its own;
//   2. a view (Reshape, Flatten ...) takes over its input's buffer, and so does an operator that may write in place
//      when it is the last reader of a buffer that the session owns and the shapes are equal;
//   3. a buffer that nobody reads any more, of exactly the same shape and element size, the most recently freed first;
//   4. a new buffer.
// A buffer lives from its first tensor to its last reader, idle spans between two tensors included, and one that no
// node reads to the end of the run: that is what distinguishes this plan from ideal liveness (liveness.h).
//
//   x --conv1--> a[8,16] --relu--> b[8,16] --conv2--> c[8,32] --conv3--> d[8,16] --> y
//   buffers: {a, b} [0, 3)  c [2, 4)  {d reuses a's} -> {a, b, d} [0, 5)
//
// Source: onnxruntime/core/framework/allocation_planner.cc (FindReusableInput, FindReusableTensor, ComputeReuseCount).
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_SESSION_PLAN_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_SESSION_PLAN_H_

#include <functional>
#include <optional>
#include <vector>

#include "analyzer/graph/graph.h"
#include "analyzer/memory/program.h"
#include "analyzer/memory/tensor_category.h"

namespace onnx_mem {

struct SessionRules {
  // Whether the node's first output must share the buffer of its first input.
  std::function<bool(const Node&)> is_view;
  // Inputs over which the node may write its first output, in the order in which the runtime tries them.
  std::function<std::vector<int>(const Node&)> overwritable;
  // Whether the session knows the tensor's shape when it plans, be it in symbols; of others it shares no buffer but by
  // views. Empty: all.
  std::function<bool(TensorId)> knows_shape;
  // What its kernel takes from the arena while it runs; may be empty.
  std::function<int64_t(const Graph&, const Node&)> scratch_bytes;
  // What initializers and constants are.
  WeightCategory weight_category;
};

// One step per node, in the order of the graph. Tensors with known contents that a node computes cost nothing: the
// session folds them. Outputs of the graph are transient activations that live to the end. Sizes are exact, the
// arena rounds. The result passes VerifyProgram unless the sizes overflow.
MemoryProgram PlanSession(const Graph& graph, const SessionRules& rules);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_SESSION_PLAN_H_
