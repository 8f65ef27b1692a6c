// The forward pass of a traced step by its nodes: their steps, what they read, which save something.
#ifndef ONNX_MEM_PLANNER_MEASURE_TRACED_NODES_H_
#define ONNX_MEM_PLANNER_MEASURE_TRACED_NODES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/analysis/enact.h"

namespace onnx_mem {

struct TracedNodes {
  std::vector<int32_t> of_step;                                 // by step: the node; -1 outside of the forward
  std::vector<std::vector<std::pair<int32_t, int32_t>>> steps;  // by node: begins and ends
  std::vector<std::vector<BufferId>> reads;                     // by node
  std::vector<BufferId> overwritten;  // by node: what its only step reads and writes, if it does no more
  std::vector<bool> is_saver;         // by node
};

TracedNodes TraceNodes(const StepTrace& trace, size_t count);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_TRACED_NODES_H_
