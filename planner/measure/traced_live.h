// The backward pass of a traced step by its nodes: what is alive while each of them runs, and what of that a second run
// may have released.
#ifndef ONNX_MEM_PLANNER_MEASURE_TRACED_LIVE_H_
#define ONNX_MEM_PLANNER_MEASURE_TRACED_LIVE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/analysis/enact.h"
#include "analyzer/graph/framework_graph.h"
#include "planner/measure/traced_nodes.h"

namespace onnx_mem {

struct TracedLive {
  // By node: alive when its backward begins, and most alive at its later steps, when it may have released what it
  // saved. Steps that name no node, or one of several, count for none.
  std::vector<int64_t> first, later;
  // A step that fits a result to what it is the gradient of. Without a segment the node still has what it saved; in a
  // second run nobody has.
  struct Fit {
    int64_t live_bytes = 0;
    bool is_first = false;                              // of all steps of the node
    std::vector<std::pair<int32_t, int64_t>> released;  // by the autograd node: who made it, and its bytes
  };
  std::vector<std::vector<Fit>> fits;  // by node
  std::vector<int64_t> formula;        // by node: most alive at all its other steps
  int64_t loss = 0;                    // most alive between the model's forward and its backward
  int32_t forward_steps = 0;
};

// `beside`: alive beside what the program has.
TracedLive LiveInBackward(const FrameworkGraph& graph, const StepTrace& trace, const TracedNodes& nodes,
                          int64_t beside);

// Of a range from node `first` on that runs again: the least that is alive when the backward of its `node` begins, and
// the most at any of its steps.
int64_t AgainAtFirst(const TracedLive& live, int32_t node);
int64_t AgainAtMost(const TracedLive& live, int32_t first, int32_t node);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_TRACED_LIVE_H_
