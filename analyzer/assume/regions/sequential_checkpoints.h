// Calls of torch.utils.checkpoint_sequential in the model's code, as a file of dynamo's shows them:
//
//   x = checkpoint_sequential(self.blocks, 3, x, use_reentrant=False)      blocks 0 and 1, 2 and 3; not 4 to 6
//
// All of its functions run on that line. How many go into a checkpoint follows from their count and the number of
// segments; the last segment is none. Source: torch/utils/checkpoint.py (checkpoint_sequential).
#ifndef ONNX_MEM_ANALYZER_ASSUME_REGIONS_SEQUENTIAL_CHECKPOINTS_H_
#define ONNX_MEM_ANALYZER_ASSUME_REGIONS_SEQUENTIAL_CHECKPOINTS_H_

#include <vector>

#include "analyzer/graph/framework_graph.h"
#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// The nodes of each checkpoint that such a call makes. None of a call whose line does not have its number of segments.
std::vector<NodeSpan> FindSequentialCheckpoints(const FrameworkGraph& graph);

// Of calls whose line does not have it (checkpoint_sequential(self.blocks, self.segments, x)), as if each function were
// a segment.
std::vector<NodeSpan> FindOpenSequences(const FrameworkGraph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_REGIONS_SEQUENTIAL_CHECKPOINTS_H_
